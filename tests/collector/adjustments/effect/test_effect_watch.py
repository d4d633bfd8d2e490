"""The measurement of applied changes: when it is looked at, what is allowed, and what is harm."""

from itertools import count

import msgspec
import pytest

from flyball_collector.adjustments.adjustment import Adjustment, AdjustmentState
from flyball_collector.adjustments.effect.effect import EffectLimits
from flyball_collector.adjustments.effect.effect_watch import EffectJudgement, EffectWatch, harm_text, limits_of
from flyball_collector.adjustments.effect.rank_columns import columns_of
from flyball_collector.adjustments.effect.series import StepSample
from flyball_collector.fleet.run_steps import RankSteps, StepFigures, run_steps
from tests.collector.adjustments.core_case import SECOND, effect

APPLIED = Adjustment(
    id="1",
    run="r",
    attempt=0,
    name="workers",
    lever="workers",
    value_from=1,
    value_to=2,
    safety=1,
    state=AdjustmentState.APPLIED,
    rule="grow",
    ranks=1,
    at_step=100,
)


class WatchCase:
    """A run of one rank whose reports come each second, with two steps."""

    def __init__(self, watch_steps: int = 100) -> None:
        self.watch = EffectWatch(watch_steps)
        self.now = 0
        self.step = 0
        self.seconds = 0.0

    def report(self, seconds: int, step_seconds: float = 0.5) -> None:
        for _ in range(seconds):
            self.now += SECOND
            self.step += 2
            self.seconds += 2 * step_seconds * (1.0 + 0.004 * (self.step % 3))
            self.take(1)

    def take(self, ranks: int) -> None:
        figures = StepFigures(steps=self.step, step_seconds=self.seconds / max(1, self.step))
        steps = [
            RankSteps(
                rank=rank,
                host="a",
                pid=1,
                world_size=ranks,
                attempt=0,
                step=self.step,
                at_ns=self.now,
                received_ns=self.now,
                loss=None,
                bad_losses=0,
                allocated_peak_bytes=None,
                reserved_peak_bytes=None,
                dropped=0,
                recent=figures,
                overall=figures,
            )
            for rank in range(ranks)
        ]
        run = run_steps("r", steps)
        assert run is not None
        self.watch.take("r", columns_of(run))

    def judge(self, adjustment: Adjustment = APPLIED, faults: int = 0) -> EffectJudgement | None:
        return self.watch.judge(adjustment, 50 * SECOND, self.now, faults)


def test_nothing_is_judged_before_enough_steps_and_reports() -> None:
    """The first look comes after `watch_steps` steps and 20 reports."""
    case = WatchCase()
    case.report(50)
    looks = []
    for second in range(100):
        case.report(1)
        if case.judge() is not None:
            looks.append(second)
    assert looks
    assert 49 <= looks[0] <= 51


def test_a_late_look_is_the_last_one() -> None:
    """A run that has stopped making steps is kept when time is up, with the reason."""
    case = WatchCase()
    case.report(52)
    case.now += 500 * SECOND
    assert case.judge() is None
    case.now += 200 * SECOND
    judged = case.judge()
    assert judged is not None
    assert (judged.harm, judged.note) == ("", "too few reports to measure its effect")


def test_without_reports_before_it_the_first_look_is_the_last() -> None:
    """A change right after the start has nothing to be compared with, and nothing will come."""
    case = WatchCase()
    case.report(50)
    early = msgspec.structs.replace(APPLIED, at_step=4)
    assert next((found for _ in range(60) if (found := reported(case, early)) is not None), None) == EffectJudgement(
        None, note="too few reports to measure its effect"
    )


def reported(case: WatchCase, adjustment: Adjustment) -> EffectJudgement | None:
    case.report(1)
    return case.judge(adjustment)


def test_an_out_of_memory_is_harm_unless_the_change_protects() -> None:
    """A rank that runs out of memory after a change condemns it, but not a change against just that."""
    case = WatchCase()
    case.report(55)
    assert case.judge(faults=1) == EffectJudgement(None, harm="a rank ran out of memory")
    assert case.judge(msgspec.structs.replace(APPLIED, protects=True), faults=1) is None


def test_stored_reports_replace_those_of_before_a_restart() -> None:
    """After a restart of the collector the reports before the change come from the store."""
    case = WatchCase()
    number = count(1)
    stored = tuple(
        StepSample(seconds=float(at), step=2 * at, steps=2.0, step_seconds=0.4 + 0.001 * (at % 3))
        for at in (next(number) for _ in range(50))
    )
    case.watch.restore(APPLIED, stored)
    case.step, case.now, case.seconds = 100, 50 * SECOND, 50.0
    judged = next((found for _ in range(140) if (found := reported(case, APPLIED)) is not None), None)
    assert judged is not None
    assert judged.effect is not None
    assert judged.effect.gain == pytest.approx(0.8, abs=0.03)
    assert judged.harm.startswith("the run became slower (-2")


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, EffectLimits(speed=1.0, memory=1.0)),
        ({"expected_low": 0.9, "predicted": {"memory_ratio": 1.5}}, EffectLimits(speed=0.9, memory=1.5)),
        ({"expected_low": 1.4}, EffectLimits(speed=1.0, memory=1.0)),
        ({"protects": True, "expected_low": 0.7}, EffectLimits(speed=0.0, memory=None)),
        ({"rule": ""}, EffectLimits(speed=1.0, memory=None, by_person=True)),
        ({"rule": "", "lever": "micro_batch"}, EffectLimits(speed=0.0, memory=None, by_person=True)),
        ({"lever": "micro_batch"}, EffectLimits(speed=1.0, memory=None)),
    ],
)
def test_a_change_may_cost_what_was_predicted(fields: dict[str, object], expected: EffectLimits) -> None:
    """Speed and memory are judged by the prediction; what protects, and what people trade, is not judged by speed."""
    assert limits_of(msgspec.structs.replace(APPLIED, **fields)) == expected


def test_harm_is_described_in_words() -> None:
    """All faults are named, and a slower run with its measure."""
    assert (
        harm_text(effect(0.8, faults=("slower", "unstable")))
        == "the run became slower (-20 %); the steps vary much more"
    )
