"""Checkpoints: how often, and one before foreseen trouble."""

from collections.abc import Sequence

from flyball_collector.adjustments.declared.declared_values import SharedValue
from flyball_collector.adjustments.rules.rule import AdjustmentRule, RuleChange
from flyball_collector.adjustments.rules.run_case import RunCase
from flyball_collector.adjustments.rules.young_daly import best_steps, most_steps, seconds_between_failures
from flyball_collector.diagnosis.event import Event
from flyball_collector.diagnosis.number_format import duration

TROUBLE = ("memory_exhaustion", "thermal_slowdown", "power_brake", "gpu_ecc", "gpu_xid", "gpu_lost", "oom_kill")
"""Conditions after which a run may end or lose results soon."""

AGAIN_SECONDS, AGAIN_COSTS = 600.0, 50.0
"""No second checkpoint before trouble is asked for in this time, and in this many times its cost: one trouble raises
several conditions, and conditions that come and go must not cost more than 2 % of the time."""


def find_interval(case: RunCase, value: SharedValue) -> RuleChange | None:
    """Propose the number of steps between checkpoints that loses the least time to writing and to repeated work."""
    s = case.situation
    cost = _cost(case, value)
    if not cost or not case.step_seconds or value.number <= 0:
        return None
    mean = seconds_between_failures(s.gpus_total, s.failures, s.hours)
    found = best_steps(
        value.numbers,
        value.number,
        step_seconds=case.step_seconds,
        cost_seconds=cost,
        between_failures=mean,
        most=most_steps(s.total_steps, s.steps_left),
    )
    to = value.choice(found.steps) if found is not None else None
    if found is None or to is None:
        return None
    return RuleChange(
        to=to,
        because=(
            f"a checkpoint stops the training for {cost:.2g} s; a failure is expected every {duration(mean)}; now "
            f"{_share(found.lost_share_before)} of the time is lost, with one every {duration(found.seconds)} "
            f"{_share(found.lost_share)}"
        ),
        gain=_speed(cost, value.number * case.step_seconds, found.seconds),
        predicted={"lost_share": found.lost_share, "interval_seconds": found.seconds},
    )


def _share(share: float) -> str:
    """Format a share of the time: most are far below 1 %."""
    return f"{100 * share:.2g} %" if share < 0.1 else f"{100 * share:.0f} %"


def _cost(case: RunCase, value: SharedValue | None) -> float | None:
    """Return the seconds that a checkpoint stops the training. All ranks wait for the slowest."""
    measured = value.measured("cost_seconds") if value is not None else []
    return max(measured, default=case.situation.checkpoint_seconds)


def _speed(cost: float, before_seconds: float, after_seconds: float) -> tuple[float, float]:
    """Return the expected speed between failures, within 10 %: only the time for writing changes."""
    factor = (1.0 + cost / before_seconds) / (1.0 + cost / after_seconds)
    return 0.95 * factor, 1.05 * factor


def find_checkpoint_now(case: RunCase, value: SharedValue) -> RuleChange | None:
    """Propose a checkpoint at the next step before something ends or damages the run."""
    events = _new(case, value, case.situation.events(*TROUBLE))
    if value.now is not False or not events:
        return None
    first = min(events, key=lambda event: event.seconds_left if event.seconds_left is not None else 0.0)
    because = f"{first.words()}: {first.because or first.kind.meaning}"
    return RuleChange(to=True, because=because, events=events)


def _new(case: RunCase, value: SharedValue, events: Sequence[Event]) -> tuple[Event, ...]:
    """Return the conditions since the last checkpoint before trouble, if they are as severe as usual for their kind."""
    last = case.last(value.name)
    cost = _cost(case, case.of("checkpoint_steps")) or 0.0
    if last is not None and case.seconds_since(value.name) < max(AGAIN_SECONDS, AGAIN_COSTS * cost):
        return ()
    since = 0 if last is None else last.changed_ns
    return tuple(
        event
        for event in events
        if event.severity >= event.kind.severity and (event.raised_ns or event.time_ns) > since
    )


RULES = (
    AdjustmentRule(
        name="checkpoint_interval",
        lever="checkpoint_steps",
        evidence="the measured cost of a checkpoint, the time of a step, the failures of the run (first, of others)",
        change=(
            "the number of steps with the least time lost; at most an hour, a tenth of the run's steps and what is "
            "left of them (where the total is known); at most a tenth of the time for writing"
        ),
        inverse="the same rule, when the figures have changed",
        safety=1,
        source="Young 1974, Daly 2006; the Llama 3 report, arXiv 2407.21783 (419 interruptions in 54 days)",
        find=find_interval,
        hold_seconds=60.0,
        protects=True,  # from lost work: more frequent checkpoints cost speed
    ),
    AdjustmentRule(
        name="checkpoint_before_trouble",
        lever="checkpoint_now",
        evidence="one of " + ", ".join(f"`{kind}`" for kind in TROUBLE) + ", as severe as usual for its kind",
        change="one checkpoint at the next step",
        inverse="none is needed: nothing else changes",
        safety=1,
        source="NVIDIA/nvidia-resiliency-ext; leptonai/gpud",
        find=find_checkpoint_now,
        hold_seconds=0.0,
        protects=True,
        reversal_seconds=0.0,
    ),
)
