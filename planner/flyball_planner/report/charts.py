"""The charts of a plan: memory by part, the roofline, scaling, and cost over time."""

from collections.abc import Sequence

from flyball_planner.interval import Interval
from flyball_planner.plan.plan import NamedAmount, Plan, ScalingRow
from flyball_planner.report.part_names import part_name
from flyball_planner.report.roofline_chart import roofline_chart
from flyball_reports.figures import duration, money, percent, plural, size
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
    round_hours,
    scale,
    tooltip,
)

_LEGEND_COLUMNS = 2
_LEGEND_LINE = 25.0  # room for the larger letters of a narrow page


def memory_chart(plan: Plan) -> Chart:
    """Draw the memory of the fullest device as one bar, with the interval of its total and the device's capacity."""
    held = plan.memory
    x = AxisScale(0.0, max(held.capacity_bytes, held.driver_bytes.high) * 1.02, 16.0, WIDTH - 16)
    parts = _largest(held.parts)
    bars, at = [], 0.0
    for index, part in enumerate(parts):
        start, at = x.at(at), at + part.amount.middle
        share = percent(part.amount.middle / held.capacity_bytes)
        words = tooltip(f"{part.name}: {size(part.amount.middle)}, {share} of the device")
        width = max(0.5, x.at(at) - start - 1.5)
        bars.append(element("rect", words, x=start, y=34.0, width=width, height=44.0, class_=f"c{index + 1}"))
    legend = [_legend(index, f"{part.name} {size(part.amount.middle)}", 118.0) for index, part in enumerate(parts)]
    height = 128.0 + _LEGEND_LINE * -(-len(parts) // _LEGEND_COLUMNS)
    svg = drawing(
        WIDTH,
        height,
        "Memory of the fullest device, part by part",
        *bars,
        *_limit(x, held.capacity_bytes),
        *_whisker(x, held.driver_bytes),
        *legend,
    )
    ends = f"{size(held.driver_bytes.low)} … {size(held.driver_bytes.high)}"
    caption = f"The fullest device, part by part. The line below the bar is the 90 % interval of the total: {ends}."
    return Chart("memory", caption, svg)


def _largest(parts: Sequence[NamedAmount]) -> list[NamedAmount]:
    """Return one part per colour, the last of which holds the rest."""
    ordered = sorted((each for each in parts if each.amount.middle > 0), key=lambda each: -each.amount.middle)
    named = [NamedAmount(part_name(each.name), each.amount) for each in ordered]
    if len(named) <= COLOURS:
        return named
    rest = named[COLOURS - 1 :]
    return [*named[: COLOURS - 1], NamedAmount("other", Interval.exactly(sum(each.amount.middle for each in rest)))]


def _legend(index: int, words: str, top: float) -> str:
    x, y = 16.0 + 372.0 * (index % _LEGEND_COLUMNS), top + _LEGEND_LINE * (index // _LEGEND_COLUMNS)
    return element("rect", x=x, y=y, width=11.0, height=11.0, class_=f"c{index + 1}", rx=2) + label(
        words, x + 18, y + 10
    )


def _limit(x: AxisScale, capacity: float) -> list[str]:
    at = x.at(capacity)
    return [
        element("line", x1=at, x2=at, y1=24.0, y2=92.0, class_="limit"),
        label(f"capacity {size(capacity)}", at, 17.0, "name", "end"),
    ]


def _whisker(x: AxisScale, interval: Interval) -> list[str]:
    low, high, y = x.at(interval.low), x.at(interval.high), 90.0
    return [
        element("line", x1=low, x2=high, y1=y, y2=y, class_="whisker"),
        *(element("line", x1=end, x2=end, y1=y - 5, y2=y + 5, class_="whisker") for end in (low, high)),
    ]


def scaling_chart(plan: Plan) -> Chart | None:
    """Draw throughput over devices, with the line of ideal scaling."""
    rows = [each for each in plan.scaling_devices if each.samples_per_second > 0]
    if len(rows) < 2:
        return None
    first = rows[0]
    ideal = [first.samples_per_second * each.devices / first.devices for each in rows]
    x = scale([each.devices for each in rows], LEFT, RIGHT, logarithmic=True)
    y = scale([*ideal, *(each.samples_per_second for each in rows)], BOTTOM, TOP, logarithmic=True)
    line = [(x.at(each.devices), y.at(each.samples_per_second)) for each in rows]
    dots = [_dot(point, each) for point, each in zip(line, rows, strict=True)]
    lossless = [(x.at(each.devices), y.at(value)) for each, value in zip(rows, ideal, strict=True)]
    grid = axes(
        x,
        y,
        ("devices", "samples per second"),
        (lambda v: f"{v:,.0f}", lambda v: f"{v:,.6g}"),
        ticks=[float(each.devices) for each in rows],
    )
    svg = drawing(
        WIDTH,
        HEIGHT,
        "Scaling",
        grid,
        path(lossless, "ideal"),
        path(line, "line"),
        *dots,
        label("ideal", lossless[-1][0], lossless[-1][1] - 10, "label", "end"),
    )
    return Chart(
        "scaling",
        "Throughput over the number of devices. The labels show the efficiency: the speed per device, relative to the "
        "smallest number of devices. Dashed: ideal scaling.",
        svg,
    )


def _dot(point: tuple[float, float], row: ScalingRow) -> str:
    speed = f"{row.samples_per_second:,.4g} samples per second"
    words = f"{plural(row.devices, 'device')}: {speed}, {row.estimated_train_time_human}, {row.verdict}"
    kind = "c1" if row.verdict == "fits" else "unfit"
    disc = element("circle", tooltip(words), cx=point[0], cy=point[1], r=5.5, class_=f"{kind} dot")
    return disc + label(percent(row.efficiency), point[0] + 8, point[1] + 16)


def cost_chart(plan: Plan) -> Chart | None:
    """Draw cost over time, with one point per number of devices."""
    rows = [each for each in plan.scaling_devices if each.cost_usd and each.train_seconds.middle > 0]
    if len(rows) < 2:
        return None
    points = sorted((each.train_seconds.middle / 3600, each.cost_usd or 0.0, each.devices, each) for each in rows)
    x = scale([hours for hours, *_ in points], LEFT, RIGHT, logarithmic=True)
    y = scale([dollars for _, dollars, *_ in points], BOTTOM, TOP)
    line = [(x.at(hours), y.at(dollars)) for hours, dollars, *_ in points]
    dots = []
    for at, after, (hours, dollars, devices, row) in zip(line, [*line[1:], line[-1]], points, strict=True):
        words = f"{plural(devices, 'device')}: {duration(hours * 3600)}, {money(dollars)}, {row.verdict}"
        kind = "c1" if row.verdict == "fits" else "unfit"
        below = at[1] + 18 if after[1] < at[1] - 12 else at[1] - 10  # so that the label does not cross the rising line
        dots.append(element("circle", tooltip(words), cx=at[0], cy=at[1], r=5.5, class_=f"{kind} dot"))
        dots.append(label(f"{devices:,}", at[0] + 8, below))
    grid = axes(
        x,
        y,
        ("time of the complete run", "cost"),
        (lambda v: duration(v * 3600), money),
        ticks=round_hours(x.low, x.high),
    )
    svg = drawing(WIDTH, HEIGHT, "Cost against time", grid, path(line, "line"), *dots)
    return Chart("cost", "Cost over the time of the run. The labels show the number of devices.", svg)


def charts(plan: Plan) -> dict[str, Chart]:
    """Return the charts by the titles of their sections."""
    drawn = {
        "Memory": memory_chart(plan),
        "Computation": roofline_chart(plan),
        "Scalability": scaling_chart(plan),
        "Cost": cost_chart(plan),
    }
    return {title: chart for title, chart in drawn.items() if chart is not None}
