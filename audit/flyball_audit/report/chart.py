"""A step before and after the changes, as two bars of its kinds of time."""

from flyball_audit.amdahl import Estimate
from flyball_audit.report.words import TIMES
from flyball_reports.figures import percent
from flyball_reports.section import Chart
from flyball_reports.svg import AxisScale, drawing, element, label, tooltip

_WIDTH, _LEFT, _RIGHT = 760.0, 60.0, 744.0
_TOP, _BAR, _STEP = 14.0, 34.0, 50.0
_LEGEND_COLUMNS, _LEGEND_WIDTH = 4, 180.0
_REST = 8  # the colour that calls for no attention


def estimate_chart(estimate: Estimate) -> Chart:
    """Above as it is, below as it may become."""
    x = AxisScale(0.0, 1.0, _LEFT, _RIGHT)
    now = _bar(estimate, x, _TOP, after=False)
    then = _bar(estimate, x, _TOP + _STEP, after=True)
    names = [TIMES[part.time] for part in estimate.parts]
    legend = [_legend(number, name, _colour(estimate, number)) for number, name in enumerate(names)]
    height = _TOP + 2 * _STEP + 22.0 * -(-len(names) // _LEGEND_COLUMNS) + 8.0
    svg = drawing(_WIDTH, height, "A step before and after", *now, *then, *legend)
    some = any(part.measured for part in estimate.parts)
    shares = "measured" if estimate.measured else "partly assumed" if some else "assumed"
    return Chart(
        "estimate", f"The time of one step now and after all changes. Shares are {shares}; gains are upper bounds.", svg
    )


def _bar(estimate: Estimate, x: AxisScale, top: float, *, after: bool) -> list[str]:
    drawn = [label("after" if after else "now", _LEFT - 12, top + _BAR / 2 + 4, "name", "end")]
    at = 0.0
    for number, part in enumerate(estimate.parts):
        share = part.share_after if after else part.share
        start, at = x.at(at), at + share
        width = max(0.5, x.at(at) - start - 1.5)
        words = tooltip(f"{TIMES[part.time]}: {percent(share)} of the current step")
        drawn.append(element("rect", words, x=start, y=top, width=width, height=_BAR, class_=_colour(estimate, number)))
    return [*drawn, label(f"{1 / at:.2g}× faster", x.at(at) + 10, top + _BAR / 2 + 4, "name")] if after else drawn


def _colour(estimate: Estimate, number: int) -> str:
    return f"c{_REST if estimate.parts[number].time is None else number % (_REST - 1) + 1}"


def _legend(number: int, name: str, colour: str) -> str:
    x, y = _LEFT + _LEGEND_WIDTH * (number % _LEGEND_COLUMNS), _TOP + 2 * _STEP + 22.0 * (number // _LEGEND_COLUMNS)
    return element("rect", x=x, y=y, width=11.0, height=11.0, class_=colour, rx=2) + label(name, x + 18, y + 10)
