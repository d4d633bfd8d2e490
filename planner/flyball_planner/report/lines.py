"""A drawing of lines over logarithmic axes, with a band around a line where its interval is known."""

from collections.abc import Sequence

from msgspec import Struct

from flyball_planner.report.section import Chart
from flyball_planner.report.svg import Scale, axes, drawing, element, label, path, scale, told
from flyball_planner.report.words import count

WIDTH, HEIGHT = 760.0, 360.0
LEFT, RIGHT, TOP, BOTTOM = 84.0, 740.0, 36.0, 300.0
Point = tuple[float, float]


class Line(Struct, frozen=True):
    """One line; dots are measured, a band is what it may be."""

    name: str
    points: tuple[Point, ...]
    band: tuple[tuple[float, float, float], ...] = ()  # where, low, high
    dots: tuple[Point, ...] = ()


def lines_chart(name: str, caption: str, names: tuple[str, str], lines: Sequence[Line]) -> Chart:
    """All lines together; values of zero cannot be drawn and are left out."""
    every = [point for line in lines for point in (*line.points, *line.dots)]
    heights = [y for _, y in every] + [value for line in lines for _, *ends in line.band for value in ends]
    x = scale([value for value, _ in every if value > 0], LEFT, RIGHT, logarithmic=True)
    y = scale([value for value in heights if value > 0], BOTTOM, TOP, logarithmic=True)
    drawn = [_drawn(number, line, x, y) for number, line in enumerate(lines, 1)]
    svg = drawing(WIDTH, HEIGHT, caption, axes(x, y, names, (count, _amount)), *drawn)
    return Chart(name, caption, svg)


def _drawn(number: int, line: Line, x: Scale, y: Scale) -> str:
    points = [(x.at(a), y.at(b)) for a, b in line.points if a > 0 and b > 0]
    shown = [_band(number, line, x, y)] if line.band else []
    if points:
        shown.append(path(points, f"line l{number}"))
        middle = points[len(points) // 2]
        shown.append(label(line.name, middle[0] + 6, middle[1] - 6))
    for a, b in line.dots:
        words = told(f"{line.name}: {a:,.0f}, {b:,.4g}")
        shown.append(element("circle", words, cx=x.at(a), cy=y.at(b), r=4.5, class_=f"c{number} dot"))
    return "".join(shown)


def _band(number: int, line: Line, x: Scale, y: Scale) -> str:
    upper = [(x.at(at), y.at(high)) for at, _, high in line.band]
    lower = [(x.at(at), y.at(low)) for at, low, _ in reversed(line.band)]
    way = " ".join(f"{a:.1f},{b:.1f}" for a, b in (*upper, *lower))
    return element("polygon", points=way, class_=f"c{number} band")


def _amount(value: float) -> str:
    return count(value) if value >= 1 else f"{value:.2g}"
