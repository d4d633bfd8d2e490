"""Tests of comparing estimates with measurements."""

from collections.abc import Callable

import pytest

from flyball_planner.calibration.comparison import MEMORY, STEP, calibrate, compare
from flyball_planner.calibration.measured_runs import MeasuredRun, MeasuredRuns
from tests.planner.calibration.runs import BATCHES, gpt, larger, slower


def test_a_run_is_compared_after_calibration_with_the_others() -> None:
    """If all runs take 1.4 times as long, calibration removes two thirds of the error and narrows the interval."""
    found = calibrate(MeasuredRuns("runs.csv", tuple(slower(gpt(batch), 1.4) for batch in BATCHES))).comparisons
    assert all(abs(each.error_before + 1 - 1 / 1.4) < 0.01 for each in found)
    assert all(abs(each.error_after) < abs(each.error_before) / 3 for each in found)
    assert all(each.after.width < each.before.width for each in found)


@pytest.mark.parametrize("measure", [slower, larger])
def test_a_run_does_not_move_its_own_estimate(measure: Callable[[MeasuredRun, float], MeasuredRun]) -> None:
    """The estimate of a run depends on the other runs and not on its own measurement."""
    others = [measure(gpt(batch), 1.2) for batch in BATCHES[:3]]
    first, second = (list(compare([*others, measure(gpt(), times)]))[-1] for times in (1.1, 1.5))
    assert first.measured != second.measured
    assert first.after == second.after


def test_a_single_run_is_not_calibrated() -> None:
    """With one run the estimates before and after are equal, for steps and for memory."""
    found = calibrate(MeasuredRuns("runs.csv", (larger(slower(gpt(), 1.4), 1.1),)))
    assert [each.quantity for each in found.comparisons] == [STEP, MEMORY]
    assert all(each.before == each.after for each in found.comparisons)
    assert len(found.learned) == 1


def test_many_runs_are_divided_into_folds() -> None:
    """With more runs than folds, each run is still compared once, in order."""
    runs = tuple(slower(gpt(512, micro_batch), 1.2) for micro_batch in (1, 2, 4, 8, 16, 32, 64) for _ in (1, 2))
    found = calibrate(MeasuredRuns("runs.csv", runs)).comparisons
    assert [each.measured for each in found] == [run.step_seconds for run in runs]
    assert all(abs(each.error_after) < 0.1 for each in found)
