"""The best number of steps between checkpoints, from the measured cost and the failures seen so far."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from flyball_collector.advice.checkpoints import overhead

PRIOR_DEVICE_HOURS = 50_000.0
"""Mean device hours between interruptions before any is seen: 419 in 54 days on 16,384 GPUs (Llama 3, arXiv
2407.21783)."""

PRIOR_FAILURES = 0.001
"""The prior counts as much as this many interruptions that were seen. It is so weak because machines differ by orders
of magnitude: two interruptions in a day are better evidence about a run than a published mean."""

MOST_SECONDS = 3600.0
"""No longer interval is proposed. Machines outside of a data centre fail more often than the published ones."""

LEAST_COSTS = 10.0
"""No interval shorter than this many times its cost is proposed: checkpoints take at most about a tenth of the time."""

MOST_OF_RUN = 0.1
"""No interval longer than this share of the run's steps is proposed, nor one beyond its end: a run writes some
checkpoints even if failures are unlikely."""

LEAST_SAVING = 0.01
"""Share of the time that a change must save. Near its optimum the interval hardly matters, and a saving below
this does not outweigh the work that is lost after a failure that the rates above do not foresee."""


@dataclass(frozen=True, slots=True)
class CheckpointChoice:
    """A number of steps, its interval, and the shares of time that are lost with it and with the present one."""

    steps: float
    seconds: float
    lost_share: float
    lost_share_before: float


def seconds_between_failures(
    devices: int, failures: int | None, hours: float | None, prior_hours: float = PRIOR_DEVICE_HOURS
) -> float:
    """Return the expected time between failures of the whole job.

    The rate is the mean of a gamma distribution: the failures and the time of the prior, plus those that were seen.
    """
    seen_hours = max(hours or 0.0, 0.0) * max(devices, 1)
    rate = (PRIOR_FAILURES + max(failures or 0, 0)) / (
        PRIOR_FAILURES * prior_hours + seen_hours
    )  # of a device, an hour
    return 3600.0 / (rate * max(devices, 1))


def most_steps(total_steps: float | None, steps_left: float | None) -> float:
    """Return the longest interval for a run of this length; infinite if its length is unknown."""
    if total_steps is None:
        return math.inf
    left = total_steps if steps_left is None else steps_left
    return min(MOST_OF_RUN * total_steps, left)


def best_steps(
    choices: Iterable[float],
    now: float,
    *,
    step_seconds: float,
    cost_seconds: float,
    between_failures: float,
    most: float = math.inf,
) -> CheckpointChoice | None:
    """Return the choice that loses the least time, within limits; None if the present one is about as good.

    `most`: no choice of more steps is returned.
    """
    if not (step_seconds > 0 and cost_seconds > 0 and between_failures > 0 and now > 0):
        return None
    longest = max(MOST_SECONDS, LEAST_COSTS * cost_seconds)
    shortest = LEAST_COSTS * cost_seconds
    allowed = [each for each in choices if each <= most and shortest <= each * step_seconds <= longest]

    def lost(steps: float) -> float:
        return overhead(steps * step_seconds, cost_seconds, between_failures)

    best = min(allowed, key=lambda steps: (lost(steps), steps), default=None)
    if best is None or best == now:
        return None
    too_rare = now * step_seconds > 2.0 * longest
    if not too_rare and lost(now) - lost(best) < LEAST_SAVING:
        return None
    return CheckpointChoice(best, best * step_seconds, lost(best), lost(now))
