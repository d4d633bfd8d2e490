"""Charts of a reviewed host: its score among known machines, the parts, the power, and the configurations."""

from collections.abc import Callable, Mapping, Sequence

from flyball.command.analyze_sections import amount
from flyball.host_review.host_review import HostReview
from flyball.host_review.host_score import ScorePart
from flyball.host_review.peer_hosts import PEERS
from flyball.host_review.power_budget import PowerBudget
from flyball.host_review.score_scales import HIGHEST
from flyball_planner.configurations.configuration import Configuration
from flyball_reports.figures import duration, size
from flyball_reports.section import Chart
from flyball_reports.svg import WIDTH, AxisScale, drawing, element, label, tooltip

ROW, BAR = 54.0, 16.0  # heights of a row, and of its bar below its name
START, END = 4.0, WIDTH - 60
NAMES = 140.0  # width of the names of configurations
KEY = 24.0  # height of a line of the key
THIS_HOST = "this host"


def review_charts(review: HostReview) -> Mapping[str, Chart]:
    """Return the charts by the titles of their sections."""
    found = {
        "Score": _score_chart(review),
        "Configurations": _configurations_chart(review.proposal.configurations),
        "System": _power_chart(review.power),
    }
    return {title: chart for title, chart in found.items() if chart is not None}


def _score_chart(review: HostReview) -> Chart | None:
    """Draw the host among known machines, and below it its parts."""
    score = review.score.score
    if score is None:
        return None
    hosts = sorted([*((each.name, each.score) for each in PEERS), (THIS_HOST, score)], key=lambda each: each[1])
    rows = [(name, value, 1 if name == THIS_HOST else 8, "") for name, value in hosts]
    parts = [(each.name, each.score, 3, _part_words(each)) for each in review.score.parts if each.score is not None]
    scale = AxisScale(0.0, HIGHEST, START, END)
    drawn = [_bar_row(number, row, scale) for number, row in enumerate(rows)]
    drawn += [_bar_row(len(rows) + 0.6 + number, row, scale) for number, row in enumerate(parts)]
    height = (len(rows) + len(parts) + 0.6) * ROW + 26
    caption = "The score out of 10 among known machines, and the scores of this host's parts."
    return Chart("score", caption, drawing(WIDTH, height, caption, _grid(scale, height), *drawn))


def _part_words(part: ScorePart) -> str:
    return "; ".join(f"{each.name}: {amount(each)}" for each in part.figures)


def _grid(scale: AxisScale, height: float) -> str:
    lines = [
        element("line", x1=scale.at(tick), x2=scale.at(tick), y1=0.0, y2=height - 22, class_="grid")
        for tick in range(0, 11, 2)
    ]
    lines += [label(f"{tick}", scale.at(tick), height - 6, anchor="middle") for tick in range(0, 11, 2)]
    return "".join(lines)


def _bar_row(number: float, row: tuple[str, float, int, str], scale: AxisScale) -> str:
    name, value, colour, words = row
    top = number * ROW + 30
    shown = tooltip(words) if words else ""
    bar = element(
        "rect", shown, x=scale.start, y=top, width=max(1.0, scale.at(value) - scale.start), height=BAR, rx=3,
        class_=f"c{colour}",
    )  # fmt: skip
    return label(name, scale.start, top - 8, "name") + bar + label(f"{value:.1f}", scale.at(value) + 8, top + 13)


def _power_chart(power: PowerBudget) -> Chart | None:
    """Draw the power of the parts beside each other, and the supply as a line."""
    if power.watts is None:
        return None
    limit = power.supply_watts or power.supply_needed_watts or power.watts
    scale = AxisScale(0.0, 1.05 * max(power.watts, limit), 10.0, WIDTH - 10)
    drawn, start = [], 0.0
    for number, part in enumerate(power.parts, 1):
        words = tooltip(f"{part.name}: {part.watts:.0f} W ({part.source})")
        width = scale.at(start + part.watts) - scale.at(start)
        drawn.append(element("rect", words, x=scale.at(start), y=30.0, width=width, height=30.0, class_=f"c{number}"))
        start += part.watts
    drawn.append(element("line", x1=scale.at(limit), x2=scale.at(limit), y1=22.0, y2=68.0, class_="limit"))
    what = "supply" if power.supply_watts is not None else "needed with a reserve"
    drawn.append(label(f"{limit:,.0f} W {what}", scale.at(limit) - 6, 16, "name", "end"))
    for number, part in enumerate(power.parts, 1):
        place = 66.0 + number * KEY
        key = element("circle", cx=16.0, cy=place, r=5.0, class_=f"c{number}")
        drawn.append(key + label(f"{part.name}: {part.watts:,.0f} W", 28.0, place + 5))
    caption = "Power at full load, and the supply."
    return Chart("power", caption, drawing(WIDTH, 80 + KEY * len(power.parts), caption, *drawn))


def _configurations_chart(found: Sequence[Configuration]) -> Chart | None:
    """Draw memory, time and power of the configurations, each on a scale of its own."""
    if not found:
        return None
    panels: list[tuple[str, list[float], Callable[[float], str]]] = [
        ("memory", [each.expected.memory_bytes.middle for each in found], size),
        ("time", [each.expected.seconds.middle for each in found], duration),
    ]
    watts = [each.expected.power_watts for each in found]
    known = [each for each in watts if each is not None]
    if len(known) == len(found):
        panels.append(("power", known, lambda value: f"{value:.0f} W"))
    width = (WIDTH - NAMES) / len(panels)
    drawn = [_panel(NAMES + number * width, width, panel) for number, panel in enumerate(panels)]
    drawn += [label(each.name, 0, _panel_top(number) + 14, "name") for number, each in enumerate(found)]
    caption = "Memory and power of one device, and the time, of the configurations."
    return Chart("configurations", caption, drawing(WIDTH, _panel_top(len(found)) - 20, caption, *drawn))


def _panel_top(number: int) -> float:
    """Return where the bar of a configuration begins."""
    return 58.0 + number * ROW


def _panel(left: float, width: float, panel: tuple[str, Sequence[float], Callable[[float], str]]) -> str:
    title, values, formatted = panel
    scale = AxisScale(0.0, max(values), left, left + width - 24)
    drawn = [label(title, left, 16, "name")]
    for number, value in enumerate(values):
        top = _panel_top(number)
        bar = max(2.0, scale.at(value) - left)
        drawn.append(element("rect", x=left, y=top, width=bar, height=BAR, rx=3, class_=f"c{number + 1}"))
        drawn.append(label(formatted(value), left, top - 8))
    return "".join(drawn)
