"""Tests of the charts of a plan: places of labels and units of axes."""

import re
from itertools import pairwise

import pytest
from msgspec.structs import replace

from flyball_planner.plan.plan import RooflinePoint
from flyball_planner.report.charts import charts
from flyball_planner.report.testing import sample_plan
from flyball_reports.line_chart import ChartLine, lines_chart
from flyball_reports.svg import round_hours


def drawn(*points: RooflinePoint) -> str:
    """Return the SVG of a roofline with these operators."""
    plan = sample_plan()
    return charts(replace(plan, computation=replace(plan.computation, roofline=points)))["Computation"].svg


def test_names_of_operators_do_not_overlap() -> None:
    """The names of four operators with the same intensity are below each other."""
    svg = drawn(*(RooflinePoint(f"operator {n}", "matmul", 900.0, 3e14, 0.25) for n in range(4)))
    heights = sorted(float(y) for y in re.findall(r'y="([\d.]+)" class="label" text-anchor="middle">operator', svg))
    assert len(heights) == 4
    assert all(after - before >= 20 for before, after in pairwise(heights))


def test_a_legend_is_shown_for_several_kinds() -> None:
    """Several kinds of operators have a legend; a single kind has none."""
    several = drawn(RooflinePoint("a", "matmul", 900.0, 3e14, 0.5), RooflinePoint("b", "attention", 500.0, 3e14, 0.5))
    assert ">matmul</text>" in several
    assert ">attention</text>" in several
    assert ">matmul</text>" not in drawn(RooflinePoint("a", "matmul", 900.0, 3e14, 1.0))


def test_large_intensities_have_no_powers_of_ten() -> None:
    """Axes use K and M, like the rest of the report."""
    svg = drawn(RooflinePoint("a", "matmul", 5e6, 3e14, 1.0))
    assert ">1 M</text>" in svg
    assert "e+0" not in svg


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (4, 400, [4, 8, 12, 24, 48, 96, 192, 360]),
        (0.0002, 0.01, [1 / 3600, 2 / 3600, 5 / 3600, 10 / 3600, 30 / 3600]),
        (25, 26, [25, 26]),
    ],
)
def test_time_axes_have_round_ticks(low: float, high: float, expected: list[float]) -> None:
    """Ticks are round seconds, hours, days and months, or the ends if none is between them."""
    assert round_hours(low, high) == pytest.approx(expected)


def test_a_rising_line_does_not_cross_the_label_of_a_point() -> None:
    """If the cost rises after a point, the label is below the line."""
    plan = sample_plan()
    cheap, expensive = (
        replace(row, cost_usd=cost) for row, cost in zip(plan.scaling_devices[:2], (4000.0, 1000.0), strict=True)
    )
    svg = charts(replace(plan, scaling_devices=(cheap, expensive)))["Cost"].svg
    (dot,) = re.findall(rf'cy="([\d.]+)"[^>]*><title>{expensive.devices} devices', svg)
    (name,) = re.findall(rf'y="([\d.]+)" class="label" text-anchor="start">{expensive.devices}</text>', svg)
    assert float(name) > float(dot)


def test_names_of_neighbours_do_not_overlap() -> None:
    """Two devices with nearly the same cost and time have their names on separate lines within the chart."""
    lines = [
        ChartLine(name, (at,), dots=(at,))
        for name, at in (("16 × A100", (20.0, 970.0)), ("32 × Trainium1", (20.1, 975.0)))
    ]
    lines.append(ChartLine("8 × B200", ((5.0, 400.0),), dots=((5.0, 400.0),)))
    svg = lines_chart("cost", "", ("time", "cost"), lines).svg
    places = {
        name: float(y) for y, name in re.findall(r'y="([\d.]+)" class="label" text-anchor="end">(\d+ × \w+)', svg)
    }
    assert set(places) == {"16 × A100", "32 × Trainium1"}
    assert abs(places["16 × A100"] - places["32 × Trainium1"]) >= 20


def test_tried_values_have_ticks() -> None:
    """Each of a few tried values has a tick, and a vertical range below a decade has ticks too."""
    tried = ((3.0, 300.0), (4.0, 350.0), (5.0, 310.0))
    svg = lines_chart("depth", "", ("depth", "patterns a second"), [ChartLine("depth", tried, dots=tried)]).svg
    ticks = re.findall(r'text-anchor="middle">([\d.]+)</text>', svg)
    heights = re.findall(r'text-anchor="end">([\d.]+)</text>', svg)
    assert ticks == ["3", "4", "5"]
    assert len(heights) >= 3
    assert all(int(each) % 10 == 0 for each in heights)
    assert svg.count(">depth</text>") == 1  # as the title of the axis
