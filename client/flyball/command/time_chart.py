"""A chart of values over time, on linear axes."""

from collections.abc import Sequence

from msgspec import Struct

from flyball_reports.figures import duration
from flyball_reports.section import Chart
from flyball_reports.svg import BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH, axes, drawing, element, label, path, scale

_KEY_WIDTH = 110  # of a name above the chart


class TimeLine(Struct, frozen=True):
    """One value over time, in seconds since the start."""

    name: str
    points: tuple[tuple[float, float], ...]


def time_chart(caption: str, unit: str, lines: Sequence[TimeLine]) -> Chart | None:
    """Draw the lines that have at least two points; None if there is none."""
    drawn = [line for line in lines if len(line.points) > 1]
    if not drawn:
        return None
    points = [point for line in drawn for point in line.points]
    x = scale([at for at, _ in points], LEFT, RIGHT)
    y = scale([value for _, value in points], BOTTOM, TOP)
    grid = axes(x, y, ("time", unit), (duration, lambda value: f"{value:g}"), _ticks(x.ticks()))
    shown = [
        path([(x.at(at), y.at(value)) for at, value in line.points], f"line l{number}")
        for number, line in enumerate(drawn, 1)
    ]
    names = [_key(number, line.name) for number, line in enumerate(drawn, 1)] if len(drawn) > 1 else []
    return Chart("time", caption, drawing(WIDTH, HEIGHT, caption, grid, *shown, *names))


def _ticks(values: Sequence[float]) -> list[float]:
    """Leave out zero: `duration` would write it as 0 µs."""
    return [value for value in values if value > 0]


def _key(number: int, name: str) -> str:
    """Return the name of a line with its colour, above the chart."""
    left = RIGHT - _KEY_WIDTH * (3 - number)
    return element("circle", cx=left, cy=TOP - 18, r=4.5, class_=f"c{number}") + label(name, left + 10, TOP - 14)
