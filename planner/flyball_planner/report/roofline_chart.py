"""The roofline of a device (Williams et al., 2009) with the operators of a model."""

from collections.abc import Sequence

from flyball_planner.plan.plan import Plan, RooflinePoint
from flyball_reports.figures import figure, percent, rate
from flyball_reports.labels import LETTER, Box, box_below, box_beside, unoccupied
from flyball_reports.section import Chart
from flyball_reports.svg import (
    BOTTOM,
    COLOURS,
    HEIGHT,
    LEFT,
    RIGHT,
    TOP,
    WIDTH,
    AxisScale,
    axes,
    drawing,
    element,
    label,
    path,
    scale,
    tooltip,
)

_NAMED_DISCS = 4  # the largest have labels; all have tooltips


def roofline_chart(plan: Plan) -> Chart | None:
    """Draw speed over arithmetic intensity. Each disc is an operator; its area is its share of the time."""
    points = [each for each in plan.computation.roofline if each.flops_per_byte > 0 and each.flops_per_second > 0]
    if not points:
        return None
    peak, ridge = plan.hardware.flops_per_second, plan.computation.ridge_flops_per_byte
    x = scale([*(each.flops_per_byte for each in points), ridge / 20, ridge * 20], LEFT, RIGHT, logarithmic=True)
    y = scale(
        [*(each.flops_per_second for each in points), peak * 1.4, peak * min(1.0, x.low / ridge)],
        BOTTOM,
        TOP,
        logarithmic=True,
    )
    roof = [(x.at(x.low), y.at(peak * x.low / ridge)), (x.at(ridge), y.at(peak)), (x.at(x.high), y.at(peak))]
    plain = (lambda value: rate(value, "").strip(),) * 2
    grid = axes(x, y, ("arithmetic intensity, FLOP per byte", "attainable speed, FLOP/s"), plain)
    crown = label(f"{rate(peak, 'FLOP/s')} {plan.hardware.format}", x.at(ridge), y.at(peak) - 10, "name", "end")
    kinds = sorted({each.kind for each in points})
    svg = drawing(
        WIDTH, HEIGHT, "Roofline", grid, path(roof, "roof"), crown, *_legend(kinds), *_discs(points, kinds, ridge, x, y)
    )
    return Chart("roofline", _caption(plan), svg)


def _caption(plan: Plan) -> str:
    moving = sum(each.time_share for each in plan.computation.roofline if each.flops_per_second <= 0)
    caption = (
        "Each disc is an operator at the best speed that the device allows; its area is its share of the time. "
        "Operators under the slope are limited by memory bandwidth, those under the flat part by arithmetic."
    )
    hidden = f" Not drawn: operators that only move bytes ({percent(moving)} of the time)."
    return caption + hidden if moving > 0.005 else caption


def _legend(kinds: Sequence[str]) -> list[str]:
    """Draw the colours' legend from the right, unless there is only one colour."""
    drawn, right = [], RIGHT
    for index in reversed(range(len(kinds) if len(kinds) > 1 else 0)):
        left = right - LETTER * len(kinds[index])
        drawn.append(label(kinds[index], left, 22.0))
        drawn.append(element("rect", x=left - 16, y=12.0, width=11.0, height=11.0, class_=_colour(index), rx=2))
        right = left - 32
    return drawn


def _colour(index: int) -> str:
    return f"c{1 + index % COLOURS}"


def _discs(
    points: Sequence[RooflinePoint], kinds: Sequence[str], ridge: float, x: AxisScale, y: AxisScale
) -> list[str]:
    drawn: list[str] = []
    words: list[str] = []
    taken: list[Box] = []
    for place, each in enumerate(sorted(points, key=lambda each: -each.time_share)):
        at, radius = (x.at(each.flops_per_byte), y.at(each.flops_per_second)), 3.5 + 22.0 * each.time_share**0.5
        class_ = f"{_colour(kinds.index(each.kind))} disc"
        drawn.append(element("circle", tooltip(_disc_words(each)), cx=at[0], cy=at[1], r=radius, class_=class_))
        if place < _NAMED_DISCS:
            name = f"{each.name} {percent(each.time_share)}"
            # Labels are to the right of discs on the slope and below the others, where nothing else is drawn.
            near = box_beside(at, radius + 2, name) if each.flops_per_byte < ridge else box_below(at, radius + 5, name)
            box = unoccupied(near, taken)
            taken.append(box)
            words.append(label(name, (box[0] + box[2]) / 2, box[3] - 5, anchor="middle"))
    return [*drawn, *words]


def _disc_words(each: RooflinePoint) -> str:
    speed = f"{figure(each.flops_per_byte)} FLOP per byte, at most {rate(each.flops_per_second, 'FLOP/s')}"
    return f"{each.name} ({each.kind}): {speed}, {percent(each.time_share)} of the time"
