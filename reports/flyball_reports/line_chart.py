"""Charts of lines over logarithmic axes, with a band around a line whose interval is known."""

from collections.abc import Callable, Sequence

from msgspec import Struct

from flyball_reports.figures import count
from flyball_reports.labels import LINE, Box, box_beside, unoccupied
from flyball_reports.section import Chart
from flyball_reports.svg import (
    BOTTOM,
    HEIGHT,
    LEFT,
    RIGHT,
    TOP,
    WIDTH,
    AxisScale,
    Formatter,
    axes,
    drawing,
    element,
    label,
    path,
    scale,
    tooltip,
)

MOST_PLACES = 10
Point = tuple[float, float]


class ChartLine(Struct, frozen=True):
    """One line with its measured values as dots and its interval as a band."""

    name: str
    points: tuple[Point, ...]
    band: tuple[tuple[float, float, float], ...] = ()  # x, low, high
    dots: tuple[Point, ...] = ()


def lines_chart(
    name: str,
    caption: str,
    names: tuple[str, str],
    lines: Sequence[ChartLine],
    words: tuple[Formatter, Formatter] | None = None,
    ticks: Callable[[float, float], Sequence[float]] | None = None,
) -> Chart:
    """Draw all lines in one chart. Zeros cannot be drawn on logarithmic axes and are left out.

    `words` formats the values of both axes. `ticks` chooses the ticks between the two ends of the first axis.
    """
    every = [point for line in lines for point in (*line.points, *line.dots)]
    heights = [y for _, y in every] + [value for line in lines for _, *ends in line.band for value in ends]
    x = scale([value for value, _ in every if value > 0], LEFT, RIGHT, logarithmic=True)
    y = scale([value for value in heights if value > 0], BOTTOM, TOP, logarithmic=True)
    places = ticks(x.low, x.high) if ticks else _measured_places(lines)
    grid = axes(x, y, names, words or (count, _amount), ticks=places)
    drawn = [_drawn(number, line, x, y) for number, line in enumerate(lines, 1)]
    svg = drawing(WIDTH, HEIGHT, caption, grid, *drawn, *_names(lines, names[0], x, y))
    return Chart(name, caption, svg)


def _measured_places(lines: Sequence[ChartLine]) -> Sequence[float] | None:
    """Return the measured values as ticks if the chart shows only a few of them, else nothing for round ticks."""
    (first, *others) = lines
    tried = sorted({a for a, _ in first.dots})
    return tried if not others and first.points == first.dots and 1 < len(tried) <= MOST_PLACES else None


def _drawn(number: int, line: ChartLine, x: AxisScale, y: AxisScale) -> str:
    points = _points(line, x, y)
    shown = [_band(number, line, x, y)] if line.band else []
    if points:
        shown.append(path(points, f"line l{number}"))
    for a, b in line.dots:
        words = tooltip(f"{line.name}: {a:,.3g}, {b:,.4g}")
        shown.append(element("circle", words, cx=x.at(a), cy=y.at(b), r=4.5, class_=f"c{number} dot"))
    return "".join(shown)


def _points(line: ChartLine, x: AxisScale, y: AxisScale) -> list[tuple[float, float]]:
    return [(x.at(a), y.at(b)) for a, b in line.points if a > 0 and b > 0]


def _names(lines: Sequence[ChartLine], axis: str, x: AxisScale, y: AxisScale) -> list[str]:
    """Place each line's name beside its middle, on the free side. A name that equals the axis title is left out."""
    taken: list[Box] = []
    words: list[str] = []
    for line in lines:
        points = _points(line, x, y)
        if not points or line.name == axis:
            continue
        middle, last = points[len(points) // 2], points[-1]
        aside = 0.0 if len(points) == 1 else LINE / 2 if last[1] < middle[1] else -LINE / 2
        box = unoccupied(box_beside(middle, 8, line.name, lower=aside), taken)
        taken.append(box)
        place = (box[2], "end") if box[2] < middle[0] else (box[0], "start")
        words.append(label(line.name, place[0], box[3] - 7, anchor=place[1]))
    return words


def _band(number: int, line: ChartLine, x: AxisScale, y: AxisScale) -> str:
    upper = [(x.at(at), y.at(high)) for at, _, high in line.band]
    lower = [(x.at(at), y.at(low)) for at, low, _ in reversed(line.band)]
    way = " ".join(f"{a:.1f},{b:.1f}" for a, b in (*upper, *lower))
    return element("polygon", points=way, class_=f"c{number} band")


def _amount(value: float) -> str:
    return count(value) if value >= 1 else f"{value:.2g}"
