"""Computes the step of an offer, and the time for its answers: pure functions."""

import math
from dataclasses import dataclass

AHEAD_SECONDS = 6.0
"""A rank reads its socket with its report, each second, and answers with the same or the next one. The agent and the
collector pass it on at once. That makes 3 s there and 2 s back in the worst case; one second is a reserve."""

AHEAD_STEPS = 3
SPARE_STEPS = 2
PREPARE_SECONDS = 30.0
LONGEST_PREPARE_SECONDS = 300.0

_LONGEST_GUESS_SECONDS = 120.0
_SECOND = 10**9


@dataclass(frozen=True, slots=True)
class StepProgress:
    """The progress of a run: the highest step of its ranks, at a time, and the duration of a step."""

    step: int
    step_seconds: float | None
    at_ns: int
    settled: bool = False  # the duration was measured after the last change of a value: no other figure counts

    def step_at(self, now_ns: int) -> int:
        """Return the highest step that a rank may have reached by now."""
        if self.step_seconds is None:
            return self.step
        since = min(_LONGEST_GUESS_SECONDS, max(0.0, (now_ns - self.at_ns) / _SECOND))
        return self.step + math.ceil(since / self.step_seconds)


def first_step(progress: StepProgress, now_ns: int) -> int | None:
    """Return the step after which a change offered now can be made; None while the duration of a step is unknown."""
    seconds = progress.step_seconds
    if seconds is None:
        return None
    ahead = max(math.ceil(AHEAD_SECONDS / seconds), AHEAD_STEPS)
    return progress.step_at(now_ns) + ahead + SPARE_STEPS


def prepare_seconds(step_seconds: float) -> float:
    """Return how long the ranks may take to answer an offer."""
    return min(LONGEST_PREPARE_SECONDS, max(PREPARE_SECONDS, AHEAD_STEPS * step_seconds))
