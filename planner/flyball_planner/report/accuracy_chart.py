"""A chart of estimated over measured values; exact estimates are on the diagonal."""

from collections.abc import Callable, Sequence

from flyball_planner.calibration.comparison import Comparison
from flyball_reports.section import Chart
from flyball_reports.svg import AxisScale, axes, drawing, element, label, path, scale, tooltip

WIDTH, HEIGHT = 760.0, 420.0
LEFT, RIGHT, TOP, BOTTOM = 94.0, 740.0, 36.0, 360.0
BEFORE, AFTER = "c2", "c1"
CAPTION = (
    "Each run twice: as estimated before calibration, and after learning from the other runs, with its 90 % interval. "
    "The dashed line marks exact estimates."
)


def accuracy_chart(name: str, found: Sequence[Comparison], words: Callable[[float], str]) -> Chart:
    """Draw the comparisons on logarithmic axes, so that equal errors have equal distances from the diagonal."""
    every = [value for each in found for value in (each.measured, each.before.middle, each.after.low, each.after.high)]
    x = scale([each.measured for each in found], LEFT, RIGHT, logarithmic=True)
    y = scale(every, BOTTOM, TOP, logarithmic=True)
    drawn = [
        axes(x, y, ("measured", "estimated"), (words, words)),
        _diagonal(x, y),
        *(_before(each, x, y, words) for each in found),
        *(_after(each, x, y, words) for each in found),
        _legend(BEFORE, "before", LEFT + 12),
        _legend(AFTER, "calibrated", LEFT + 92),
    ]
    return Chart(name, CAPTION, drawing(WIDTH, HEIGHT, "Estimated over measured", *drawn))


def _diagonal(x: AxisScale, y: AxisScale) -> str:
    ends = max(x.low, y.low), min(x.high, y.high)
    return path([(x.at(end), y.at(end)) for end in ends], "ideal") if ends[0] < ends[1] else ""


def _before(each: Comparison, x: AxisScale, y: AxisScale, words: Callable[[float], str]) -> str:
    hint = tooltip(f"{each.name}: {words(each.before.middle)} estimated before, {words(each.measured)} measured")
    at = {"cx": x.at(each.measured), "cy": y.at(each.before.middle)}
    return element("circle", hint, **at, r=7.0, class_=f"{BEFORE} disc")


def _after(each: Comparison, x: AxisScale, y: AxisScale, words: Callable[[float], str]) -> str:
    at, low, high = x.at(each.measured), y.at(each.after.low), y.at(each.after.high)
    hint = tooltip(f"{each.name}: {words(each.after.middle)} calibrated, {words(each.measured)} measured")
    whisker = element("line", x1=at, x2=at, y1=low, y2=high, class_="whisker")
    return whisker + element("circle", hint, cx=at, cy=y.at(each.after.middle), r=4.5, class_=f"{AFTER} dot")


def _legend(kind: str, words: str, at: float) -> str:
    return element("circle", cx=at, cy=TOP + 10, r=4.5, class_=f"{kind} dot") + label(words, at + 10, TOP + 14)
