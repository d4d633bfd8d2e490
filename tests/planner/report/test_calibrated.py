"""Tests of what is told of a calibration."""

import re

from flyball_planner.calibration.compare import MEMORY, STEP, Calibration, Comparison
from flyball_planner.calibration.learned import Learned, Lesson
from flyball_planner.calibration.measured import Kind, Refused
from flyball_planner.interval import Interval
from flyball_planner.memory.constants import CONSTANTS
from flyball_planner.report.calibrated import TITLES, charts, document, mean_error, of, sections

KIND = Kind("A100 SXM4 80GB", "transformer")
LESSON = Lesson(3, Interval(1.2, 1.3, 1.4), 0.5, 0.2)


def compared(measured: float, quantity: str = STEP, name: str = "one") -> Comparison:
    """Estimated at half before, and a tenth too much after."""
    middle = 1.1 * measured
    after = Interval(0.9 * middle, middle, 1.2 * middle)
    return Comparison(name, KIND, quantity, measured, Interval.exactly(measured / 2), after)


FOUND = Calibration(
    source="runs.csv",
    learned=(Learned(KIND, None, CONSTANTS, LESSON, None, "runs.csv"),),
    comparisons=(compared(2.0), compared(30.0, name="<b>two</b>"), compared(4e10, MEMORY)),
    refused=(Refused("three", "a unit is wrong"),),
)


def test_every_figure_stands_in_its_table() -> None:
    """What was learned, runs with their errors, and what was refused."""
    found = {section.title: section for section in sections(FOUND)}
    assert set(found) == {"", "Learned", *TITLES.values(), "Refused"}
    assert found["Learned"].tables[0].rows[0][2:] == ("step", "3", "1.3 (1.2 … 1.4)", "± 25 %", "± 10 %")
    row = found[TITLES[STEP]].tables[0].rows[0]
    assert (row[1], row[3], row[5], row[6]) == ("2 s", "−50.0 %", "+10.0 %", "yes")
    assert "the mean error of steps falls, from 50 % to 10 %" in found[""].text[0]
    assert found["Refused"].points == ("three: a unit is wrong",)


def test_mean_errors_are_of_absolute_ratios() -> None:
    """Half before, a tenth after."""
    before, after = mean_error(of(FOUND, STEP))
    assert (round(before, 9), round(after, 9)) == (0.5, 0.1)


def test_each_run_is_drawn_twice_with_its_interval() -> None:
    """Before and after; foreign names stay text."""
    drawn = charts(FOUND)
    assert set(drawn) == set(TITLES.values())
    svg = drawn[TITLES[STEP]].svg
    assert svg.count('class="whisker"') == 2
    assert len(re.findall(r'class="c2 disc"', svg)) == 2
    assert "<b>" not in svg
    assert "&lt;b&gt;two" in svg


def test_the_document_holds_plain_values() -> None:
    """Ratios, seconds and bytes."""
    told = document(FOUND)
    assert told["runs"][0]["within"] is True
    assert told["learned"][0] == {
        "kind": {"device": "A100 SXM4 80GB", "family": "transformer"},
        "step": {
            "runs": 3,
            "factor": {"low": 1.2, "middle": 1.3, "high": 1.4},
            "width_before": 0.5,
            "width_after": 0.2,
        },
        "memory": None,
    }
    assert told["refused"] == ({"name": "three", "reason": "a unit is wrong"},)


def test_nothing_compared_is_nothing_drawn() -> None:
    """A calibration by memory alone has no drawing of steps."""
    only = Calibration("runs.csv", FOUND.learned, (compared(4e10, MEMORY),), ())
    assert set(charts(only)) == {TITLES[MEMORY]}
