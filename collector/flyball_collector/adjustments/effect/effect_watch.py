"""Measures the effect of applied adjustments from the runs' reports, and judges it."""

from dataclasses import dataclass, field

from flyball_collector.adjustments.adjustment import Adjustment, MeasuredEffect
from flyball_collector.adjustments.effect.effect import (
    LEAST_SAMPLES,
    EffectLimits,
    EffectVerdict,
    loss_faults,
    measure,
    verdict,
)
from flyball_collector.adjustments.effect.rank_columns import RankColumns
from flyball_collector.adjustments.effect.series import RunSeries, StepSample

MIN_REPORTS = 20
EVERY_REPORTS = 20
LAST_REPORTS = 120
"""The effect is judged for the first time after so many reports and `watch_steps`, then after each so many, and for the
last time, with what is known then, after the last number. More looks would find harm by chance."""

SHORTEST_SECONDS = 600.0
LONGEST_SECONDS = 4 * 3600.0
USUAL_FACTOR = 8.0
"""A watch also ends after this multiple of the time that `watch_steps` took before, within the two limits: the steps
may have become very slow, or have stopped."""

TRADES_SPEED = frozenset({"micro_batch", "activation_checkpointing", "explicit_reduction", "checkpoint_steps"})
"""Levers by which people trade speed for memory or safety. Without a prediction neither is judged."""

_SECOND = 10**9
_WORDS = {
    "slower": "the run became slower",
    "memory": "it needs more memory than predicted",
    "loss_not_finite": "the loss is no longer finite",
    "unstable": "the steps vary much more",
}


@dataclass(frozen=True, slots=True)
class EffectJudgement:
    """The result of a measurement. `harm`: take it back, for this reason."""

    effect: MeasuredEffect | None
    harm: str = ""
    note: str = ""


@dataclass(slots=True)
class _Sampled:
    series: RunSeries = field(default_factory=RunSeries)
    judged_for: str = ""
    judged_reports: int = 0  # after the change
    stored: tuple[StepSample, ...] = ()  # before the change, from before a restart of the collector
    stored_for: str = ""


class EffectWatch:
    """Keeps the latest reports of each run with adjustable values."""

    def __init__(self, watch_steps: int) -> None:
        self._watch_steps = watch_steps
        self._runs: dict[str, _Sampled] = {}

    def take(self, run: str, columns: RankColumns) -> None:
        """Take the newest reports of a run. Call it once a second."""
        self._runs.setdefault(run, _Sampled()).series.add(columns)

    def forget(self, run: str) -> None:
        """Forget a run that has no adjustable values any more."""
        self._runs.pop(run, None)

    def last_step_seconds(self, run: str) -> float | None:
        """Return the duration of a step in the newest report."""
        sampled = self._runs.get(run)
        return sampled.series.samples[-1].step_seconds if sampled is not None and sampled.series.samples else None

    def recent_step_seconds(self, run: str) -> float | None:
        """Return the duration of a step with the present values; None while it is unknown."""
        sampled = self._runs.get(run)
        return None if sampled is None else sampled.series.recent_step_seconds()

    def before(self, adjustment: Adjustment) -> tuple[StepSample, ...]:
        """Return the samples before a change."""
        sampled = self._runs.setdefault(adjustment.run, _Sampled())
        if sampled.stored_for == adjustment.id:
            return sampled.stored
        return sampled.series.before(adjustment.at_step)

    def changed(self, adjustment: Adjustment) -> None:
        """Note that a value has changed, so that the reports before and after are never mixed."""
        self.changed_at(adjustment.run, _applied_step(adjustment))

    def changed_at(self, run: str, step: int) -> None:
        """Note that a value of a run has changed at a step: also one that a rank has changed itself."""
        if (sampled := self._runs.get(run)) is not None:
            sampled.series.changed(step)

    def restore(self, adjustment: Adjustment, before: tuple[StepSample, ...]) -> None:
        """Take the samples from before a change, as they were stored."""
        sampled = self._runs.setdefault(adjustment.run, _Sampled())
        sampled.stored, sampled.stored_for = before, adjustment.id

    def judge(self, adjustment: Adjustment, since_ns: int, now_ns: int, memory_faults: int) -> EffectJudgement | None:
        """Return what is to be done with an applied adjustment; None while that is not clear.

        `since_ns` is when it was applied, and `memory_faults` the number of times that a rank ran out of memory since.
        """
        if memory_faults and not adjustment.protects:
            return EffectJudgement(None, harm="a rank ran out of memory")
        sampled = self._runs.setdefault(adjustment.run, _Sampled())
        before, after = self.before(adjustment), sampled.series.after(_applied_step(adjustment))
        if loss_faults(before, after):
            return EffectJudgement(
                measure(before, after, limits_of(adjustment), final=True), harm=_WORDS["loss_not_finite"]
            )
        steps = after[-1].step - _applied_step(adjustment) if after else 0
        final = len(after) >= LAST_REPORTS and steps >= self._watch_steps
        final = final or self._is_late(before, since_ns, now_ns)
        if not final and not self._is_due(sampled, adjustment, len(after), steps):
            return None
        sampled.judged_for, sampled.judged_reports = adjustment.id, len(after)
        nothing_to_compare = len(before) < LEAST_SAMPLES  # and waiting would not bring it
        return _judged(adjustment, before, after, final=final or nothing_to_compare)

    def _is_due(self, sampled: _Sampled, adjustment: Adjustment, reports: int, steps: int) -> bool:
        if steps < self._watch_steps or reports < MIN_REPORTS:
            return False
        return sampled.judged_for != adjustment.id or reports - sampled.judged_reports >= EVERY_REPORTS

    def _is_late(self, before: tuple[StepSample, ...], since_ns: int, now_ns: int) -> bool:
        usual = before[-1].step_seconds * self._watch_steps if before else 0.0
        seconds = min(LONGEST_SECONDS, max(SHORTEST_SECONDS, USUAL_FACTOR * usual))
        return now_ns - since_ns >= seconds * _SECOND


def limits_of(adjustment: Adjustment) -> EffectLimits:
    """Return what an adjustment may cost: what its dry run predicted."""
    if adjustment.protects:
        return EffectLimits(speed=0.0, memory=None)
    by_person = not adjustment.rule
    if by_person and adjustment.lever in TRADES_SPEED:
        return EffectLimits(speed=0.0, memory=None, by_person=True)
    low = adjustment.expected_low
    ratio = adjustment.predicted.get("memory_ratio")
    memory = ratio if ratio is not None else (None if by_person or adjustment.lever in TRADES_SPEED else 1.0)
    return EffectLimits(speed=1.0 if low is None else min(1.0, low), memory=memory, by_person=by_person)


def harm_text(effect: MeasuredEffect) -> str:
    """Return the faults of an effect in words."""
    words = [_WORDS.get(fault, fault) for fault in effect.faults]
    if "slower" in effect.faults:
        words[effect.faults.index("slower")] += f" ({100 * (effect.gain - 1.0):+.0f} %)"
    return "; ".join(words)


def _judged(
    adjustment: Adjustment, before: tuple[StepSample, ...], after: tuple[StepSample, ...], *, final: bool
) -> EffectJudgement | None:
    limits = limits_of(adjustment)
    effect = measure(before, after, limits, final=final)
    if effect is None:
        return EffectJudgement(None, note="too few reports to measure its effect") if final else None
    match verdict(effect, limits, final=final):
        case EffectVerdict.ROLL_BACK:
            return EffectJudgement(effect, harm=harm_text(effect))
        case EffectVerdict.KEEP:
            return EffectJudgement(effect)
        case EffectVerdict.WAIT:
            return None


def _applied_step(adjustment: Adjustment) -> int:
    """Return the step at which the last rank applied it: later than offered for values that change with an epoch."""
    return max([adjustment.at_step, *(answer.step for answer in adjustment.answers.values())])
