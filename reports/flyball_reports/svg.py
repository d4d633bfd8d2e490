"""Building blocks for SVG drawings: axis scales and escaped elements. Colours are classes of the page's style."""

import math
from collections.abc import Callable, Sequence
from html import escape

from msgspec import Struct

WIDTH, HEIGHT = 760.0, 360.0
LEFT, RIGHT, TOP, BOTTOM = 84.0, 740.0, 36.0, 300.0
"""The size of a drawing, and the frame of its axes."""

COLOURS = 8  # classes `c1` to `c8` of the page

_MINUTE, _HOUR, _DAY, _YEAR = 1 / 60, 1.0, 24.0, 24 * 365.25
_ROUND_HOURS = (
    *(each * 1e-3 / 3600 for each in (1, 10, 100)), *(each / 3600 for each in (1, 2, 5, 10, 30)),
    *(each * _MINUTE for each in (1, 2, 5, 10, 30)), *(each * _HOUR for each in (1, 2, 4, 8, 12)),
    *(each * _DAY for each in (1, 2, 4, 8, 15, 30, 60, 120, 240)), *(each * _YEAR for each in (1, 2, 5, 10, 100, 1000)),
)  # fmt: skip
_MOST_TICKS = 8
FEWEST_TICKS = 3  # two ticks do not show that a scale is logarithmic


class AxisScale(Struct, frozen=True):
    """Maps values to positions on the drawing, on a linear or logarithmic scale."""

    low: float
    high: float
    start: float  # where `low` is drawn
    end: float
    logarithmic: bool = False

    def at(self, value: float) -> float:
        """Return the position of a value; values beyond an end are drawn at that end."""
        inside = min(max(value, self.low), self.high)
        if self.logarithmic:
            share = math.log(inside / self.low) / math.log(self.high / self.low)
        else:
            share = (inside - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)

    def ticks(self, about: int = 6) -> list[float]:
        """Return round values between the ends."""
        return _decades(self.low, self.high, about) if self.logarithmic else _steps(self.low, self.high, about)


def scale(values: Sequence[float], start: float, end: float, *, logarithmic: bool = False) -> AxisScale:
    """Return a scale with room for all values; a linear one begins at zero."""
    low, high = min(values), max(values)
    if logarithmic:
        room = max(1.25, (high / low) ** 0.08)
        return AxisScale(low / room, high * room, start, end, logarithmic=True)
    return AxisScale(0.0, high * 1.08 if high > 0 else 1.0, start, end)


def _steps(low: float, high: float, about: int) -> list[float]:
    rough = (high - low) / about
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough)
    found = (step * n for n in range(math.ceil(low / step), math.floor(high / step) + 1))
    return [value for value in found if low <= value <= high]


def _decades(low: float, high: float, about: int) -> list[float]:
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    factors: tuple[int, ...] = (1,) if last - first > 3 else (1, 2, 5)
    found = [10.0**power * factor for power in range(first, last + 1) for factor in factors]
    inside = [value for value in found if low <= value <= high]
    if len(inside) < FEWEST_TICKS:
        inside = _steps(low, high, about)  # within one decade, linear steps
    return inside[:: -(-len(inside) // (about + 3))] if inside else [low, high]


def round_hours(low: float, high: float) -> list[float]:
    """Return at most eight round durations between the ends, or the two ends if there is none."""
    inside = [each for each in _ROUND_HOURS if low <= each <= high]
    return inside[:: -(-len(inside) // _MOST_TICKS)] if inside else [low, high]


def element(name: str, content: str = "", /, **attributes: object) -> str:
    """Return an element. `class_` becomes its class, and numbers are rounded to a tenth of a pixel."""
    written = "".join(f' {key.rstrip("_").replace("_", "-")}="{_value(value)}"' for key, value in attributes.items())
    return f"<{name}{written}>{content}</{name}>" if content else f"<{name}{written}/>"


def label(words: str, x: float, y: float, class_: str = "", anchor: str = "start") -> str:
    """Return a text element."""
    return element("text", escape(words), x=x, y=y, class_=class_ or "label", text_anchor=anchor)


def tooltip(words: str) -> str:
    """Return the text that a browser shows when the pointer rests on the parent element."""
    return element("title", escape(words))


def drawing(width: float, height: float, description: str, *content: str) -> str:
    """Return the complete drawing; it shrinks with the page."""
    inside = tooltip(description) + "".join(content)
    return element("svg", inside, viewBox=f"0 0 {width:g} {height:g}", role="img", xmlns="http://www.w3.org/2000/svg")


def path(points: Sequence[tuple[float, float]], class_: str) -> str:
    """Return a line through points."""
    way = " ".join(f"{'L' if index else 'M'}{x:.1f} {y:.1f}" for index, (x, y) in enumerate(points))
    return element("path", d=way, class_=class_)


Formatter = Callable[[float], str]


def axes(
    x: AxisScale,
    y: AxisScale,
    names: tuple[str, str],
    words: tuple[Formatter, Formatter],
    ticks: Sequence[float] | None = None,
) -> str:
    """Return the grid, ticks and titles of both axes. `ticks` replaces the round values along x."""
    lines = [element("line", x1=x.start, x2=x.end, y1=y.at(tick), y2=y.at(tick), class_="grid") for tick in y.ticks(5)]
    lines += [label(words[1](tick), x.start - 8, y.at(tick) + 4, anchor="end") for tick in y.ticks(5)]
    lines += [label(words[0](tick), x.at(tick), y.start + 18, anchor="middle") for tick in (ticks or x.ticks())]
    lines.append(element("line", x1=x.start, x2=x.end, y1=y.start, y2=y.start, class_="axis"))
    lines.append(label(names[0], (x.start + x.end) / 2, y.start + 38, "name", "middle"))
    lines.append(label(names[1], x.start - 60, y.end - 14, "name"))
    return "".join(lines)


def _value(value: object) -> str:
    return f"{value:.1f}" if isinstance(value, float) else escape(str(value))
