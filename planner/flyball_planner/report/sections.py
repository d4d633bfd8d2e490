"""The sections of a plan's report, beginning with the verdict."""

from collections.abc import Callable, Iterable

from flyball_planner.interval import Interval
from flyball_planner.plan.plan import NamedAmount, Plan, ScalingRow
from flyball_planner.report.input_sections import calibration, loading
from flyball_planner.report.part_names import limit_name, part_name
from flyball_reports.figures import count, duration, energy, figure, money, percent, plural, rate, size, spread
from flyball_reports.section import ReportTable, Section

_TONES = {"fits": "good", "uncertain": "warning", "does not fit": "bad"}
NEGLIGIBLE = 0.0005  # parts below this share are only shown in verbose reports
_SHOWN_OFFERS = 8
_WITHOUT_DRIVER = frozenset({"cpu", "unified"})  # kinds of devices whose memory is the host's
_SHOWN_ALTERNATIVES = 5
TWO_TABLES = "The first table varies the number of devices, the second the batch."
EFFICIENCY = "Efficiency is the speed per device, relative to the first row of a table."
SHORT_FORMS = (
    "In the tables, DP8 means 8-way data parallel (TP tensor, PP pipeline, CP context, EP expert), and mb4 a "
    "micro-batch of 4 samples."
)


def sections(plan: Plan, *, verbose: bool = False) -> tuple[Section, ...]:
    """Return all sections with content; `verbose` shows everything."""
    found = (
        summary(plan),
        Section("Warnings", points=plan.warnings, tone="warning"),
        model(plan, verbose=verbose),
        hardware(plan, verbose=verbose),
        layout(plan, verbose=verbose),
        memory(plan, verbose=verbose),
        computation(plan, verbose=verbose),
        loading(plan),
        calibration(plan),
        scaling(plan),
        cost(plan, verbose=verbose),
        recommendations(plan),
        Section("Assumptions", points=plan.assumptions),
    )
    return tuple(each for each in found if each.text or each.tables or each.points)


def summary(plan: Plan) -> Section:
    """Return the summary: time, cost, memory, bottleneck and energy."""
    computed, held = plan.computation, plan.memory
    rows = [
        ("Time", f"{computed.estimated_train_time_human} on {_devices(plan)}"),
        ("Memory", f"{held.verdict}: {held.utilization_percent:.0f} % of {size(held.capacity_bytes)} per device"),
        ("Limited by", limit_name(computed.bottleneck)),
    ]
    if plan.cost.cost_usd is not None:
        rows.insert(1, ("Cost", f"{spread(plan.cost.cost_usd, money)}, {plan.cost.price_basis}"))
    if computed.energy_kilowatt_hours is not None:
        rows.append(("Energy", spread(computed.energy_kilowatt_hours, energy)))
    return Section("", tables=(ReportTable(tuple(rows)),), tone=_TONES.get(held.verdict, "plain"))


def _devices(plan: Plan) -> str:
    many = f"{plan.hardware.devices:,} × " if plan.hardware.devices > 1 else ""
    return many + plan.hardware.device


def model(plan: Plan, *, verbose: bool = False) -> Section:
    """Return the section on the model and its training."""
    what, how = plan.model, plan.training
    unit = "token" if what.tokens_per_sample > 1 else "sample"
    rows = [
        ("Model", f"{what.name} ({what.family})"),
        ("Implementation", what.implementation),
        ("Parameters", _parameters(plan)),
        ("FLOPs", f"{rate(what.training_flops_per_sample / what.tokens_per_sample, 'FLOP')} per {unit}{_passes(plan)}"),
        ("Data", _data(plan)),
        ("Batch", f"{plural(how.global_batch, 'sample')} per optimizer step" if how.optimizer else ""),
        (
            "Training",
            ", ".join(filter(None, (how.optimizer, how.precision, _method(plan), how.attention, how.framework))),
        ),
    ]
    tables = [ReportTable(tuple(row for row in rows if row[1]))]
    if verbose and what.parameter_parts:
        parts = tuple((each.name.replace("_", " "), f"{each.parameters:,}") for each in what.parameter_parts)
        tables.append(ReportTable(parts, ("Parameters", "Number"), (1,)))
    return Section("Model", tables=tuple(tables))


def _passes(plan: Plan) -> str:
    return " (forward and backward pass)" if plan.training.optimizer else ""


def _method(plan: Plan) -> str:
    return "" if plan.training.method == "full" else plan.training.method


def _parameters(plan: Plan) -> str:
    what = plan.model
    words = f"{count(what.parameters)} ({what.parameters:,})" if what.parameters >= 1000 else f"{what.parameters}"
    if what.active_parameters != what.parameters:
        words += f", {count(what.active_parameters)} active"
    if what.trainable_parameters != what.parameters:
        words += f", {count(what.trainable_parameters)} trained"
    return words


def _data(plan: Plan) -> str:
    what, how = plan.model, plan.training
    words = [plural(how.samples, "sample"), plural(how.steps, "step") if how.optimizer else "complete fit"]
    if what.tokens_per_sample > 1:
        words.insert(0, f"{count(how.tokens)} tokens in sequences of {how.sequence:,}")
    if what.tokens_per_parameter is not None:
        words.append(f"{what.tokens_per_parameter:.3g} tokens per parameter")
    return ", ".join(words)


def hardware(plan: Plan, *, verbose: bool = False) -> Section:
    """Return the section on the hardware."""
    what = plan.hardware
    rows = [
        ("Device", f"{_devices(plan)}, {what.vendor} {what.architecture}".rstrip()),
        ("Nodes", f"{what.nodes} with up to {plural(what.devices_per_node, 'device')}" if what.nodes > 1 else ""),
        ("Memory", f"{size(what.memory_bytes_per_device)} per device at {rate(what.memory_bytes_per_second, 'B/s')}"),
        ("Peak rate", f"{rate(what.flops_per_second, 'FLOP/s')} in {what.format}, without sparsity"),
        ("Within a node", what.within_node),
        ("Between nodes", what.between_nodes),
        ("Power", f"{what.power_watts:.0f} W per device" if what.power_watts else ""),
        ("Source", what.source),
        ("Note", what.note if verbose else ""),
    ]
    return Section("Hardware", tables=(ReportTable(tuple(row for row in rows if row[1])),))


def layout(plan: Plan, *, verbose: bool = False) -> Section:
    """Return the section on the layout and its alternatives."""
    chosen = {
        "search": "the fastest that fits, or the simplest within 1 % of it",
        "specification": "as specified",
    }
    if plan.layout.chosen_by not in chosen:
        return Section("Layout", ("One device: classical models are not distributed.",))
    text = (f"{plan.layout.words}; {chosen[plan.layout.chosen_by]}.",)
    shown = plan.alternatives if verbose else plan.alternatives[:_SHOWN_ALTERNATIVES]
    rows = tuple(
        (each.words, spread(each.step_seconds, duration), f"{each.memory_percent:.0f} %", each.verdict)
        for each in shown
    )
    heads = ("Alternative", "Step", "Memory", "Verdict")
    return Section(
        "Layout", (*text, *([SHORT_FORMS] if rows else [])), (ReportTable(rows, heads, (1, 2)),) if rows else ()
    )


def memory(plan: Plan, *, verbose: bool = False) -> Section:
    """Return the section on the memory of the fullest device."""
    held = plan.memory
    capacity = f"{size(held.capacity_bytes)} ({held.utilization_percent:.1f} %)"
    if plan.hardware.kind in _WITHOUT_DRIVER:
        text = [f"The training uses {spread(held.driver_bytes, size)} of {capacity}: {held.verdict}."]
    else:
        reserved = f"the allocator reserves {spread(held.reserved_bytes, size)}"
        used = f"{spread(held.driver_bytes, size)} of {capacity}, as its driver counts it"
        text = [
            f"The fullest device will use {used}: {held.verdict}.",
            f"Tensors use {spread(held.allocated_bytes, size)}, {reserved}.",
        ]
    if held.host_bytes:
        text.append(f"{size(held.host_bytes)} are in the host's memory.")
    if held.best_single_change:
        text.append(f"The most effective single change: {held.best_single_change}.")
    parts = _parts(held.parts, held.driver_bytes.middle, size, verbose=verbose)
    return Section(
        "Memory",
        tuple(text),
        (ReportTable(parts, ("Part", "Size", "Share"), (1, 2)),),
        tone=_TONES.get(held.verdict, "plain"),
    )


def computation(plan: Plan, *, verbose: bool = False) -> Section:
    """Return the section on the time and its reasons."""
    computed = plan.computation
    unit, speed = (
        ("token", computed.tokens_per_second)
        if plan.model.tokens_per_sample > 1
        else ("sample", computed.samples_per_second)
    )
    rows = [
        ("Complete run", f"{computed.estimated_train_time_human} ({_ends(computed.estimated_train_seconds)})"),
        ("Training FLOPs", rate(computed.training_flops, "FLOP")),
        ("Step", spread(computed.step_seconds, duration) if plan.training.optimizer else ""),
        ("Speed", f"{figure(speed)} {unit}s per second"),
        ("Utilisation", _utilisation(plan)),
        (
            "Goodput",
            f"{computed.goodput_percent:.0f} % of the time is spent on steps" if plan.training.optimizer else "",
        ),
        ("Limited by", f"{limit_name(computed.bottleneck)}: {_intensity(plan)}"),
        (
            "Power",
            f"{computed.average_power_watts:.0f} W per device on average" if computed.average_power_watts else "",
        ),
    ]
    tables = [ReportTable(tuple(row for row in rows if row[1]))]
    if len(computed.step_parts) > 1:
        steps = _parts(computed.step_parts, computed.step_seconds.middle, duration, verbose=verbose)
        tables.append(ReportTable(steps, ("Part of a step", "Time", "Share"), (1, 2)))
    if verbose and computed.roofline:
        points = tuple(
            (
                each.name,
                each.kind,
                figure(each.flops_per_byte) if each.flops_per_byte else "–",
                rate(each.flops_per_second, "FLOP/s") if each.flops_per_second else "only moves bytes",
                percent(each.time_share),
            )
            for each in computed.roofline
        )
        tables.append(
            ReportTable(points, ("Operator", "Kind", "FLOP per byte", "Best speed", "Share of time"), (2, 3, 4))
        )
    return Section("Computation", tables=tuple(tables))


def _intensity(plan: Plan) -> str:
    reached, ridge = plan.computation.arithmetic_intensity_flops_per_byte, plan.computation.ridge_flops_per_byte
    return (
        f"{figure(reached)} FLOP per byte; below {figure(ridge)} the device's memory is the limit, above its arithmetic"
    )


def _utilisation(plan: Plan) -> str:
    computed = plan.computation
    named = (("of the peak rate (MFU)", computed.mfu_percent), ("with recomputation (HFU)", computed.hfu_percent))
    return ", ".join(f"{value:.1f} % {name}" for name, value in named if value is not None)


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
    text = [_device_time(plan.cost.device_hours)]
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


def recommendations(plan: Plan) -> Section:
    """Return the section with recommendations."""
    points = tuple(
        f"{each.change}: {each.because}" + (f" ({each.effect})" if each.effect else "") for each in plan.recommendations
    )
    return Section("Recommendations", points=points)


def _parts(
    parts: Iterable[NamedAmount], total: float, formatted: Callable[[float], str], *, verbose: bool
) -> tuple[tuple[str, ...], ...]:
    """Return rows with the largest part first; negligible parts are only shown in verbose reports."""
    shown = [each for each in parts if verbose or each.amount.middle > NEGLIGIBLE * total]
    return tuple(
        (
            part_name(each.name),
            spread(each.amount, formatted),
            percent(each.amount.middle / total) if total else "–",
        )
        for each in sorted(shown, key=lambda each: -each.amount.middle)
    )


def _ends(interval: Interval) -> str:
    return f"{duration(interval.low)} … {duration(interval.high)}"
