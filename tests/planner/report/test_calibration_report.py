"""Tests of the report of a calibration."""

import re

import msgspec

from flyball_planner.calibration.comparison import MEMORY, STEP, CalibrationResult, Comparison
from flyball_planner.calibration.corrections import Correction, Learned
from flyball_planner.calibration.measured_runs import Refused, RunKind
from flyball_planner.interval import Interval
from flyball_planner.memory.constants import CONSTANTS
from flyball_planner.report.calibration_report import TITLES, charts, document, mean_error, of, sections

KIND = RunKind("A100 SXM4 80GB", "transformer")
STEP_CORRECTION = Correction(3, Interval(1.2, 1.3, 1.4), 0.5, 0.2)


def compared(measured: float, quantity: str = STEP, name: str = "one") -> Comparison:
    """Return a comparison with an estimate of half the measurement before, and 10 % too much after."""
    middle = 1.1 * measured
    after = Interval(0.9 * middle, middle, 1.2 * middle)
    return Comparison(name, KIND, quantity, measured, Interval.exactly(measured / 2), after)


FOUND = CalibrationResult(
    source="runs.csv",
    learned=(Learned(KIND, None, CONSTANTS, STEP_CORRECTION, None, "runs.csv"),),
    comparisons=(compared(2.0), compared(30.0, name="<b>two</b>"), compared(4e10, MEMORY)),
    refused=(Refused("three", "a unit is wrong"),),
)


def test_every_figure_is_in_its_table() -> None:
    """The report has the corrections, the runs with their errors and the refused runs."""
    found = {section.title: section for section in sections(FOUND)}
    assert set(found) == {"", "Corrections", *TITLES.values(), "Refused"}
    assert found["Corrections"].tables[0].rows[0][2:] == ("step", "3", "1.3 (1.2 … 1.4)", "± 25 %", "± 10 %")
    row = found[TITLES[STEP]].tables[0].rows[0]
    assert (row[1], row[3], row[5], row[6]) == ("2 s", "−50.0 %", "+10.0 %", "yes")
    assert "the mean error of steps falls from 50 % to 10 %" in found[""].text[0]
    assert found["Refused"].points == ("three: a unit is wrong",)


def test_an_error_that_looks_the_same_stays() -> None:
    """An estimate that was right before and is right after calls for no word of a change."""
    right = Comparison("one", KIND, STEP, 2.0, Interval.exactly(2.02), Interval.exactly(2.021))
    found = {section.title: section for section in sections(msgspec.structs.replace(FOUND, comparisons=(right,)))}
    assert "the mean error of steps stays at 1 %" in found[""].text[0]


def test_mean_errors_are_of_absolute_ratios() -> None:
    """The mean error is 50 % before and 10 % after."""
    before, after = mean_error(of(FOUND, STEP))
    assert (round(before, 9), round(after, 9)) == (0.5, 0.1)


def test_each_run_is_drawn_with_its_interval() -> None:
    """The chart has the estimates before and after, and names of runs are escaped."""
    drawn = charts(FOUND)
    assert set(drawn) == set(TITLES.values())
    svg = drawn[TITLES[STEP]].svg
    assert svg.count('class="whisker"') == 2
    assert len(re.findall(r'class="c2 disc"', svg)) == 2
    assert "<b>" not in svg
    assert "&lt;b&gt;two" in svg


def test_the_document_has_plain_values() -> None:
    """The JSON document has ratios, seconds and bytes without formatting."""
    values = document(FOUND)
    assert values["runs"][0]["within"] is True
    assert values["learned"][0] == {
        "kind": {"device": "A100 SXM4 80GB", "family": "transformer"},
        "step": {
            "runs": 3,
            "factor": {"low": 1.2, "middle": 1.3, "high": 1.4},
            "width_before": 0.5,
            "width_after": 0.2,
        },
        "memory": None,
    }
    assert values["refused"] == ({"name": "three", "reason": "a unit is wrong"},)


def test_a_quantity_without_comparisons_has_no_chart() -> None:
    """A calibration with only memory has no chart of steps."""
    only = CalibrationResult("runs.csv", FOUND.learned, (compared(4e10, MEMORY),), ())
    assert set(charts(only)) == {TITLES[MEMORY]}
