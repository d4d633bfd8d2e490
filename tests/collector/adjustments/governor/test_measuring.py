"""Tests of which changes are measured."""

from flyball_collector.adjustments.adjustment import Adjustment
from flyball_collector.adjustments.effect.effect_watch import EffectJudgement, EffectWatch
from flyball_collector.adjustments.governor.measuring import Measuring
from flyball_collector.fleet.fleet import Fleet
from tests.collector.adjustments.core_case import CoreCase


class CountingWatch(EffectWatch):
    """Counts how often an effect is computed. It is never clear."""

    judged = 0

    def judge(
        self,
        adjustment: Adjustment,  # noqa: ARG002
        since_ns: int,  # noqa: ARG002
        now_ns: int,  # noqa: ARG002
        memory_faults: int,  # noqa: ARG002
    ) -> EffectJudgement | None:
        self.judged += 1
        return None


def test_no_effect_is_computed_of_a_change_that_is_taken_back_anyway() -> None:
    """An undo may wait for an epoch for days. If the ranks refuse it, the measurement goes on."""
    case = CoreCase()
    measuring = Measuring(case.core, Fleet().ranks, 30)
    watch = measuring.effects = CountingWatch(30)
    applied = case.applied()
    measuring.judge(list(case.core.books.values()), case.now)
    assert watch.judged == 1
    inverse = case.core.undo(applied, "alice", "", case.now)
    measuring.judge(list(case.core.books.values()), case.now)
    assert watch.judged == 1
    case.answer(inverse, 0, "veto", reason="busy")
    measuring.judge(list(case.core.books.values()), case.now)
    assert watch.judged == 2
