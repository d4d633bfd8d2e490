"""Tests of estimated against actual."""

from collections.abc import Callable

import pytest

from flyball_planner.calibration.compare import MEMORY, STEP, calibrate, compare
from flyball_planner.calibration.measured import MeasuredRun, MeasuredRuns
from tests.planner.calibration.runs import BATCHES, gpt, larger, slower


def test_a_run_is_not_judged_by_what_it_taught() -> None:
    """Of runs that take 1.4 times as long, the others teach at least two thirds of the difference, and surely."""
    found = calibrate(MeasuredRuns("runs.csv", tuple(slower(gpt(batch), 1.4) for batch in BATCHES))).comparisons
    assert all(abs(each.error_before + 1 - 1 / 1.4) < 0.01 for each in found)
    assert all(abs(each.error_after) < abs(each.error_before) / 3 for each in found)
    assert all(each.after.width < each.before.width for each in found)


@pytest.mark.parametrize("measure", [slower, larger])
def test_a_run_does_not_move_its_own_estimate(measure: Callable[[MeasuredRun, float], MeasuredRun]) -> None:
    """However its own figure changes, it is estimated alike: only the others taught."""
    others = [measure(gpt(batch), 1.2) for batch in BATCHES[:3]]
    first, second = (list(compare([*others, measure(gpt(), times)]))[-1] for times in (1.1, 1.5))
    assert first.measured != second.measured
    assert first.after == second.after


def test_a_single_run_has_nobody_to_learn_from() -> None:
    """Its two estimates are the same, for steps and for memory."""
    found = calibrate(MeasuredRuns("runs.csv", (larger(slower(gpt(), 1.4), 1.1),)))
    assert [each.quantity for each in found.comparisons] == [STEP, MEMORY]
    assert all(each.before == each.after for each in found.comparisons)
    assert len(found.learned) == 1


def test_many_runs_are_divided_into_parts() -> None:
    """More runs than parts: each is still compared once, in its order."""
    runs = tuple(slower(gpt(512, micro_batch), 1.2) for micro_batch in (1, 2, 4, 8, 16, 32, 64) for _ in (1, 2))
    found = calibrate(MeasuredRuns("runs.csv", runs)).comparisons
    assert [each.measured for each in found] == [run.step_seconds for run in runs]
    assert all(abs(each.error_after) < 0.1 for each in found)
