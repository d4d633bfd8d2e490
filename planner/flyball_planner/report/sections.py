"""The sections of a plan's report, beginning with the verdict."""

from flyball_planner.plan.plan import Plan
from flyball_planner.report.comparison_sections import cost, scaling
from flyball_planner.report.computation_section import computation
from flyball_planner.report.input_sections import calibration, loading
from flyball_planner.report.part_names import limit_name
from flyball_planner.report.part_rows import ends, part_rows, supposed
from flyball_planner.report.use_sections import host, inference
from flyball_reports.figures import count, duration, energy, figure, money, plural, rate, size, spread
from flyball_reports.section import ReportTable, Section

_TONES = {"fits": "good", "uncertain": "warning", "does not fit": "bad"}
_WITHOUT_DRIVER = frozenset({"cpu", "unified"})  # kinds of devices whose memory is the host's
_SHOWN_ALTERNATIVES = 5
_NEARLY_FULL = 50.0  # per cent of the memory from which on a change that frees memory is worth a sentence
SHORT_FORMS = (
    "In the tables, DP8 means 8-way data parallel (TP tensor, PP pipeline, CP context, EP expert), V2 two chunks per "
    "pipeline stage, and mb4 a micro-batch of 4 samples."
)
VARIANTS = (
    "(+2) counts further layouts within 1 % of this one that differ from it only in chunks, experts or micro-batch."
)


def sections(plan: Plan, *, verbose: bool = False, recommended: bool = True) -> tuple[Section, ...]:
    """Return all sections with content; `verbose` shows everything, and `recommended` includes recommendations."""
    found = (
        summary(plan),
        Section("Warnings", points=plan.warnings, tone="warning"),
        model(plan, verbose=verbose),
        hardware(plan, verbose=verbose),
        layout(plan, verbose=verbose),
        memory(plan, verbose=verbose),
        host(plan),
        computation(plan, verbose=verbose),
        inference(plan),
        loading(plan),
        calibration(plan),
        scaling(plan),
        cost(plan, verbose=verbose),
        recommendations(plan) if recommended else Section("Recommendations"),
        Section("Assumptions", points=plan.assumptions),
    )
    return tuple(each for each in found if each.text or each.tables or each.points)


def summary(plan: Plan) -> Section:
    """Return the summary: time, cost, memory, bottleneck and energy."""
    computed, held = plan.computation, plan.memory
    rows = [
        ("Time", supposed(plan, _time(plan))),
        (
            "Memory",
            f"{held.verdict}: {_percent_of(held.utilization_percent)} of {size(held.capacity_bytes)} per device",
        ),
        ("Limited by", limit_name(computed.bottleneck)),
    ]
    if plan.cost.cost_usd is not None:
        rows.insert(1, ("Cost", supposed(plan, f"{spread(plan.cost.cost_usd, money)}, {plan.cost.price_basis}")))
    if computed.energy_kilowatt_hours is not None:
        rows.append(("Energy", supposed(plan, spread(computed.energy_kilowatt_hours, energy))))
    return Section("", tables=(ReportTable(tuple(rows)),), tone=_TONES.get(held.verdict, "plain"))


def _percent_of(used: float) -> str:
    return "less than 1 %" if 0 < used < 1 else f"{used:.0f} %"


def _time(plan: Plan) -> str:
    """Return the time as complete runs go, and that of the steps alone where it differs."""
    computed = plan.computation
    alone = computed.steps_alone_seconds
    words = f"{computed.estimated_train_time_human} ({ends(computed.estimated_train_seconds)}) on {_devices(plan)}"
    return f"{words}; the steps alone {duration(alone.middle)}" if alone is not None else words


def _devices(plan: Plan) -> str:
    many = f"{plan.hardware.devices:,} × " if plan.hardware.devices > 1 else ""
    return many + plan.hardware.device


def model(plan: Plan, *, verbose: bool = False) -> Section:
    """Return the section on the model and its training."""
    what, how = plan.model, plan.training
    rows = [
        ("Model", f"{what.name} ({what.family})"),
        ("Implementation", what.implementation),
        ("Parameters", _parameters(plan)),
        _work(plan),
        ("Complexity", _complexity(plan)),
        ("Data", _data(plan)),
        ("Batch", f"{plural(how.global_batch, 'sample')} per optimizer step" if how.optimizer else ""),
        (
            "Training",
            ", ".join(filter(None, (how.optimizer, how.precision, _method(plan), how.attention, how.framework))),
        ),
        ("Learning rate", _learning_rate(plan)),
    ]
    tables = [ReportTable(tuple(row for row in rows if row[1]))]
    if verbose and what.parameter_parts:
        parts = tuple((each.name.replace("_", " "), f"{each.parameters:,}") for each in what.parameter_parts)
        tables.append(ReportTable(parts, ("Parameters", "Number"), (1,)))
    return Section("Model", tables=tuple(tables))


def _work(plan: Plan) -> tuple[str, str]:
    """Return the work of a token or sample; that of a classical model also consists of comparisons and other steps."""
    what = plan.model
    if not plan.training.optimizer:
        return "Operations", f"{count(what.training_flops_per_sample)} per sample and pass"
    unit = "token" if what.tokens_per_sample > 1 else "sample"
    flops = rate(what.training_flops_per_sample / what.tokens_per_sample, "FLOP")
    return "FLOPs", f"{flops} per {unit} (forward and backward pass)"


def _complexity(plan: Plan) -> str:
    """Return how the work grows, in the model's own variables."""
    growth = plan.model.complexity
    if growth is None:
        return ""
    prediction = f", {growth.inference} for a prediction" if growth.inference else ""
    return f"{growth.training} for the training{prediction}. {growth.because}".rstrip()


def _learning_rate(plan: Plan) -> str:
    how = plan.training
    return "" if how.learning_rate is None else f"{how.learning_rate:.3g}, {how.learning_rate_basis}"


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
        words.append(f"{figure(what.tokens_per_parameter)} tokens per parameter")
    return ", ".join(words)


def hardware(plan: Plan, *, verbose: bool = False) -> Section:
    """Return the section on the hardware."""
    what = plan.hardware
    rows = [
        ("Device", ", ".join(filter(None, (_devices(plan), f"{what.vendor} {what.architecture}".strip())))),
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
        "completion": "what the specification leaves out is the fastest that fits, the rest as specified",
    }
    if plan.memory.verdict != "fits":
        chosen["search"] = "none surely fits, and this one needs least memory"
        chosen["completion"] = f"as specified; of what it leaves out {chosen['search']}"
    if plan.layout.chosen_by not in chosen:
        return Section("Layout", ("One device: classical models are not distributed.",))
    text = (f"{plan.layout.words}; {chosen[plan.layout.chosen_by]}.",)
    shown = plan.alternatives if verbose else plan.alternatives[:_SHOWN_ALTERNATIVES]
    rows = tuple(
        (each.words, spread(each.step_seconds, duration), f"{each.memory_percent:.0f} %", each.verdict)
        for each in shown
    )
    if not rows:
        return Section("Layout", text)
    forms = f"{SHORT_FORMS} {VARIANTS}" if any(" (+" in words for words, *_ in rows) else SHORT_FORMS
    return Section("Layout", (*text, forms), (ReportTable(rows, ("Alternative", "Step", "Memory", "Verdict"), (1, 2)),))


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
    if held.best_single_change and (held.verdict != "fits" or held.utilization_percent >= _NEARLY_FULL):
        text.append(f"The most effective single change: {held.best_single_change}.")
    parts = part_rows(held.parts, held.driver_bytes.middle, size, verbose=verbose)
    return Section(
        "Memory",
        tuple(text),
        (ReportTable(parts, ("Part", "Size", "Share"), (1, 2)),),
        tone=_TONES.get(held.verdict, "plain"),
    )


def recommendations(plan: Plan) -> Section:
    """Return the section with recommendations."""
    points = tuple(
        f"{each.change}: {each.because}" + (f" ({each.effect})" if each.effect else "") for each in plan.recommendations
    )
    return Section("Recommendations", points=points)
