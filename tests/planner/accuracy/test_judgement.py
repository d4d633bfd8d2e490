"""Tests of predicting rows, leaving out ineligible ones and summarising the errors."""

import json

import pytest

from flyball_planner.accuracy.judgement import calibration_folds, predict_rows, sum_up
from flyball_planner.accuracy.report import as_json, as_text
from flyball_planner.accuracy.result import COLD, EXACT, Unsuited
from flyball_planner.accuracy.tables import RowConfiguration, TableRow
from flyball_planner.interval import Interval
from flyball_reports.errors import InputError


def row(name: str, size: str, measured: str = "10") -> TableRow:
    """Return a row with a measured memory."""
    return TableRow("memory.csv", name, "ladder", RowConfiguration({"size": size}), {"mem_value": measured})


def predict(configuration: RowConfiguration) -> Interval:
    """Predict ten times the size. A missing size is unsuited and a negative one is an error."""
    size = configuration.number("size")
    if size is None:
        raise Unsuited("no size")
    if size < 0:
        raise InputError("sizes are not negative")
    return Interval.around(10 * size, 0.1, 0.1)


def measure(row: TableRow) -> float:
    """Return the measured memory, or 0."""
    return row.shown("mem_value") or 0.0


ROWS = [row("a", "1"), row("b", "2", "25"), row("c", ""), row("d", "-1")]


def test_ineligible_rows_are_not_counted_as_failures() -> None:
    """Ineligible rows are listed with a reason and are not counted. Failures of the planner are counted."""
    outcomes = predict_rows(ROWS, "memory", predict, measure, scale=lambda _: 40.0)
    (result,) = sum_up(outcomes, "memory", COLD).results
    assert (result.eligible, result.predicted) == (3, 2)
    assert [each.reason for each in outcomes.ineligible] == ["no size"]
    assert [each.id for each in outcomes.unpredicted] == ["d"]
    assert result.median_ape == pytest.approx(0.1)
    assert result.coverage90 == 0.5


def test_exact_figures_have_no_interval() -> None:
    """A published formula has no interval, so coverage and width are empty."""
    (result,) = sum_up(predict_rows(ROWS[:2], "memory", predict, measure), "memory", EXACT).results
    assert (result.coverage90, result.width90) == (None, None)
    assert result.median_ape == pytest.approx(0.1)


def test_the_report_has_the_documented_keys() -> None:
    """Every result has the same keys; a figure that does not apply is null."""
    findings = sum_up(predict_rows(ROWS, "memory", predict, measure), "memory", COLD)
    (result,) = json.loads(as_json(findings))["results"]
    assert set(result) == {
        "file", "suite", "metric", "mode", "eligible", "predicted", "median_ape", "mean_ape", "bias", "coverage90",
        "width90", "rank_correlation", "baseline_ape", "details",
    }  # fmt: skip
    assert result["baseline_ape"] is None
    assert "no size" in as_text(findings)


def test_the_worst_row_is_first() -> None:
    """The row with the largest error comes first, and the list has the requested length."""
    findings = sum_up(predict_rows(ROWS, "memory", predict, measure), "memory", COLD)
    (worst,) = json.loads(as_json(findings, worst=1))["worst"]
    assert worst["id"] == "b"
    assert worst["error"] == pytest.approx(-0.2)


def test_calibration_rows_are_not_judged() -> None:
    """Each row of a suite is judged once, after calibration with five other rows."""
    rows = [row(str(each), "1") for each in range(11)]
    splits = list(calibration_folds(rows))
    for given, judged in splits:
        assert len(given) == 5
        assert not {each.id for each in given} & {each.id for each in judged}
    assert sorted(each.id for _, judged in splits for each in judged) == sorted(each.id for each in rows)


def test_small_suites_are_not_calibrated() -> None:
    """A suite with too few rows beyond the five for calibration is not calibrated."""
    assert not list(calibration_folds([row(str(each), "1") for each in range(7)]))
