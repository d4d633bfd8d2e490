"""The report's sections that compare: other numbers of devices, other batches, and the offers of providers."""

from flyball_planner.interval import Interval
from flyball_planner.plan.plan import Plan, ScalingRow
from flyball_reports.figures import duration, figure, money, percent, spread
from flyball_reports.section import ReportTable, Section

_SHOWN_OFFERS = 8
TWO_TABLES = "The first table varies the number of devices, the second the batch."
WITHOUT_MEMORY = "The training does not fit: these are the costs that it would have with enough memory."
EFFICIENCY = "Efficiency is the speed per device, relative to the first row of a table."


def scaling(plan: Plan) -> Section:
    """Return the section on other numbers of devices and other batches."""
    tables = [
        ReportTable(
            tuple(map(_scaling_row, rows)),
            ("Devices", "Batch", "Layout", "Step", "Samples/s", "Efficiency", "Complete run", "Memory", "Cost"),
            (0, 1, 3, 4, 5, 6, 7, 8),
        )
        for rows in (plan.scaling_devices, plan.scaling_batches)
        if rows
    ]
    text = [TWO_TABLES] if len(tables) > 1 else []
    return Section("Scalability", (" ".join([*text, EFFICIENCY]),) if tables else (), tuple(tables))


def _scaling_row(row: ScalingRow) -> tuple[str, ...]:
    fits = f"{row.memory_percent:.0f} %" + ("" if row.verdict == "fits" else f" ({row.verdict})")
    return (
        f"{row.devices:,}",
        f"{row.global_batch:,}",
        row.layout,
        duration(row.step_seconds.middle),
        figure(row.samples_per_second),
        percent(row.efficiency),
        row.estimated_train_time_human,
        fits,
        _money(row.cost_usd),
    )


def cost(plan: Plan, *, verbose: bool = False) -> Section:
    """Return the section on cost, with the offers of providers."""
    shown = plan.cost.offers if verbose else plan.cost.offers[:_SHOWN_OFFERS]
    rows = tuple(
        (
            f"{each.instances:,} × {each.provider} {each.instance}",
            f"{each.region}, {each.as_of}",
            _money(each.usd_per_hour),
            _cost(each.cost_usd),
            _cost(each.spot_cost_usd),
        )
        for each in shown
    )
    text = [WITHOUT_MEMORY] if plan.memory.verdict == "does not fit" else []
    text.append(_device_time(plan.cost.device_hours))
    if plan.cost.cost_usd is not None:
        text.append(f"{spread(plan.cost.cost_usd, money)}, {plan.cost.price_basis}.")
    else:
        text.append(f"{plan.cost.price_basis[:1].upper()}{plan.cost.price_basis[1:]}.")
    if any(each.caveat for each in shown):
        text.append("Offers with a caveat (prices from third parties, devices in several instances) come last.")
    heads = ("Offer", "Region and date", "Instance per hour", "On demand", "Spot")
    return Section("Cost", tuple(text), (ReportTable(rows, heads, (2, 3, 4)),) if rows else ())


def _device_time(hours: Interval) -> str:
    if hours.middle >= 1:
        return f"{spread(hours, figure)} device-hours."
    return f"{spread(hours.times(3600), duration)} of one device."


def _money(dollars: float | None) -> str:
    return "–" if dollars is None else money(dollars)


def _cost(dollars: Interval | None) -> str:
    return "–" if dollars is None else spread(dollars, money)
