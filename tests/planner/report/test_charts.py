"""The drawings of a plan: where labels stand, and what axes count in."""

import re
from itertools import pairwise

import pytest
from msgspec.structs import replace

from flyball_planner.plan.plan import RooflinePoint
from flyball_planner.report.charts import charts, round_hours
from flyball_planner.report.testing import sample_plan


def drawn(*points: RooflinePoint) -> str:
    """The roofline of these operators."""
    plan = sample_plan()
    return charts(replace(plan, computation=replace(plan.computation, roofline=points)))["Computation"].svg


def test_names_of_operators_do_not_overlap() -> None:
    """Four operators of one intensity have their names below each other."""
    svg = drawn(*(RooflinePoint(f"operator {n}", "matmul", 900.0, 3e14, 0.25) for n in range(4)))
    heights = sorted(float(y) for y in re.findall(r'y="([\d.]+)" class="label" text-anchor="middle">operator', svg))
    assert len(heights) == 4
    assert all(after - before >= 20 for before, after in pairwise(heights))


def test_colours_are_told_where_there_are_several() -> None:
    """Kinds of operators are named beside their colours; a single kind needs no telling."""
    several = drawn(RooflinePoint("a", "matmul", 900.0, 3e14, 0.5), RooflinePoint("b", "attention", 500.0, 3e14, 0.5))
    assert ">matmul</text>" in several
    assert ">attention</text>" in several
    assert ">matmul</text>" not in drawn(RooflinePoint("a", "matmul", 900.0, 3e14, 1.0))


def test_large_intensities_are_told_without_powers_of_ten() -> None:
    """Axes count in thousands and millions, as the rest of the report does."""
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
def test_time_is_counted_as_people_do(low: float, high: float, expected: list[float]) -> None:
    """Hours, days and months rather than decades of hours; the ends where no such lies between."""
    assert round_hours(low, high) == pytest.approx(expected)


def test_the_label_of_a_point_is_not_crossed_by_a_rising_line() -> None:
    """Where the cost rises after a point, its number stands below the line."""
    plan = sample_plan()
    cheap, dear = (
        replace(row, cost_usd=cost) for row, cost in zip(plan.scaling_devices[:2], (4000.0, 1000.0), strict=True)
    )
    svg = charts(replace(plan, scaling_devices=(cheap, dear)))["Cost"].svg
    (dot,) = re.findall(rf'cy="([\d.]+)"[^>]*><title>{dear.devices} devices', svg)
    (name,) = re.findall(rf'y="([\d.]+)" class="label" text-anchor="start">{dear.devices}</text>', svg)
    assert float(name) > float(dot)
