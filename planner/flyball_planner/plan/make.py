"""Makes the plan of a specification."""

from collections.abc import Iterator

from msgspec.structs import replace

from flyball_planner.interval import Interval
from flyball_planner.memory.single_change import possible_changes
from flyball_planner.memory.verdict import Fit
from flyball_planner.models.classical_time import classical_limit, classical_rate
from flyball_planner.models.cost import ModelCost
from flyball_planner.plan.cost import cost_section
from flyball_planner.plan.fitting import on_faster, on_fitting
from flyball_planner.plan.host_memory import host_memory
from flyball_planner.plan.inference import beyond_positions, inference
from flyball_planner.plan.judged_layout import FITS, TOO_LARGE, UNCERTAIN, JudgedLayout, alternative, memory_section
from flyball_planner.plan.layout_choice import Choice
from flyball_planner.plan.learning_rate import learning_rate
from flyball_planner.plan.overhead import on_overhead
from flyball_planner.plan.plan import (
    ComputationSection,
    CostSection,
    HardwareSection,
    HostMemorySection,
    LayoutSection,
    NamedAmount,
    Plan,
)
from flyball_planner.plan.recommendations import (
    THEN_FITS,
    on_adaptation,
    on_price,
    on_scale,
    on_size,
    recommendations,
)
from flyball_planner.plan.roofline import WAITING, Roof, bottleneck, roofline
from flyball_planner.plan.scaling import choose_and_scale, on, slower_with_more
from flyball_planner.plan.sections import calibration_section, loading_section, on_loading
from flyball_planner.plan.subject import Subject, model_section, trained_by_gradient, training_section
from flyball_planner.plan.whole_run import WholeRun, whole_run_of
from flyball_planner.plan.words import layout_in_words, link_in_words
from flyball_planner.precision import WIDTHS_BYTES
from flyball_planner.specification.specification import Specification
from flyball_planner.timing.best_rates import product_share
from flyball_planner.timing.expert_messages import expert_assumption
from flyball_reports.figures import duration, percent, plural, size, spread


def make_plan(specification: Specification) -> Plan:
    """Return the plan of a specification."""
    subject = specification.subject
    scaled = choose_and_scale(specification)
    choice = scaled.choice
    judged = choice.best
    whole = whole_run_of(subject, judged)
    model = model_section(specification)
    cost = cost_section(judged.machine, whole.seconds, specification.price)
    change = best_change(subject, judged)
    rate = learning_rate(subject, judged.training, specification.learning_rate)
    host = host_memory(subject, judged)
    return Plan(
        title=specification.title,
        model=model,
        training=training_section(subject, judged.training, whole.steps, rate.value, rate.basis),
        hardware=hardware_section(judged, arithmetic(subject, judged)),
        layout=layout_section(judged, choice),
        memory=replace(memory_section(judged, change), host_bytes=_offloaded(host)),
        computation=computation_section(specification, judged, whole),
        cost=cost,
        scaling_devices=scaled.devices,
        scaling_batches=scaled.batches,
        alternatives=tuple(map(alternative, choice.others)),
        recommendations=(
            *on_fitting(specification, judged),
            *on_faster(choice),
            *recommendations(subject, judged, change),
            *on_adaptation(subject, judged),
            *on_overhead(subject, judged),
            *on_loading(judged),
            *on_scale(scaled.devices, judged.machine.devices),
            *on_size(subject, judged.training, model.tokens_per_parameter),
            *on_price(cost, specification.price.spot),
        ),
        assumptions=tuple(
            dict.fromkeys(
                (
                    *specification.assumptions,
                    *_assumptions(specification, whole),
                    *filter(None, [expert_assumption(subject, judged.training, judged.layout)]),
                    *_of_wider_machines(specification),
                )
            )
        ),
        warnings=(
            *_warnings(specification, judged, whole.seconds, host),
            *slower_with_more(scaled.devices, judged.training.global_batch),
            *_unpriced(specification, cost),
        ),
        loading=loading_section(judged),
        calibration=calibration_section(judged),
        inference=inference(subject, judged, specification.inference),
        host=host,
    )


def _offloaded(host: HostMemorySection) -> float | None:
    return next((each.amount.middle for each in host.parts if each.name == "offloaded_states"), None)


def best_change(subject: Subject, judged: JudgedLayout) -> str | None:
    """Return the possible single change that frees most memory, and whether the training then fits."""
    if not trained_by_gradient(subject):
        return None
    found = possible_changes(
        subject, judged.training, judged.layout, judged.machine.device, judged.context.learned.constants
    )
    change = next(iter(found), None)
    if change is None:
        return None
    enough = THEN_FITS if judged.verdict != FITS and change.fit is Fit.YES else ""
    return f"{change.what}, which frees {size(change.saved_bytes)}{enough}"


def arithmetic(subject: Subject, judged: JudgedLayout) -> tuple[str, float]:
    """Return the format of the arithmetic and the device's best rate in it."""
    device, compute = judged.machine.device, judged.training.precision.compute
    if isinstance(subject, ModelCost) and not subject.trained_by_gradient:
        return subject.precision, classical_rate(device, subject.precision)
    return compute.value, device.rate(compute)


def hardware_section(judged: JudgedLayout, compute: tuple[str, float]) -> HardwareSection:
    """Return the hardware section."""
    machine, device = judged.machine, judged.machine.device
    return HardwareSection(
        device=device.name,
        kind=device.kind.value,
        vendor=device.vendor,
        architecture=device.architecture,
        devices=machine.devices,
        nodes=machine.nodes,
        devices_per_node=machine.devices_a_node,
        memory_bytes_per_device=device.memory_bytes,
        memory_bytes_per_second=device.memory_bytes_per_second,
        flops_per_second=compute[1],
        format=compute[0],
        power_watts=device.power_watts,
        within_node=link_in_words(device.within_node) if machine.devices > 1 else "",
        between_nodes=link_in_words(machine.between_nodes),
        confidence=device.confidence,
        source=device.source,
        note=device.note,
    )


def layout_section(judged: JudgedLayout, choice: Choice) -> LayoutSection:
    """Return the layout section."""
    layout = judged.layout
    return LayoutSection(
        data=layout.data,
        tensor=layout.tensor,
        pipeline=layout.pipeline,
        interleave=layout.interleave,
        context=layout.context,
        expert=layout.expert,
        micro_batch=layout.micro_batch,
        accumulation=judged.accumulation,
        sharding=layout.sharding.value,
        sequence_parallel=layout.sequence_parallel,
        checkpointing=layout.checkpointing.value,
        offload=layout.offload.value,
        chosen_by=choice.chosen_by,
        words=layout_in_words(layout, judged.accumulation),
    )


def computation_section(specification: Specification, judged: JudgedLayout, whole: WholeRun) -> ComputationSection:
    """Return the computation section."""
    subject, training, device = specification.subject, judged.training, judged.machine.device
    roof = Roof(arithmetic(subject, judged)[1], device.memory_bytes_per_second)
    samples = judged.layout.micro_batch if trained_by_gradient(subject) else training.global_batch
    efficiency, basis = _efficiency(specification, judged, whole)
    lines = roofline(subject, training.sequence, samples, WIDTHS_BYTES[training.precision.activations], roof)
    return ComputationSection(
        training_flops=whole.flops,
        estimated_train_seconds=whole.seconds,
        estimated_train_time_human=duration(whole.seconds.middle),
        step_seconds=judged.step,
        step_parts=tuple(NamedAmount(name, _as_share(judged, name, seconds)) for name, seconds in judged.parts.items()),
        samples_per_second=judged.samples_per_second,
        tokens_per_second=judged.samples_per_second * training.sequence,
        mfu_percent=None if judged.mfu is None else 100 * judged.mfu,
        hfu_percent=None if judged.hfu is None else 100 * judged.hfu,
        goodput_percent=100 * whole.goodput,
        bottleneck=_bottleneck(subject, judged, lines.memory_bound_share),
        arithmetic_intensity_flops_per_byte=lines.intensity,
        ridge_flops_per_byte=roof.ridge,
        roofline=lines.points,
        energy_kilowatt_hours=whole.energy_kilowatt_hours,
        average_power_watts=whole.power_watts,
        steps_alone_seconds=whole.steps_alone,
        overrun=whole.overrun,
        efficiency=efficiency,
        efficiency_basis=basis,
        wide_mfu_percent=_wide_mfu_percent(judged),
    )


def _bottleneck(subject: Subject, judged: JudgedLayout, memory_bound_share: float) -> str:
    if isinstance(subject, ModelCost) and not subject.trained_by_gradient:
        return f"{classical_limit(subject, judged.machine.device)}-bound"
    return bottleneck(judged.parts, memory_bound_share)


def _wide_mfu_percent(judged: JudgedLayout) -> float | None:
    """Return the utilisation of the 16-bit peak where 8-bit or 4-bit products make it differ."""
    if judged.mfu is None or judged.wide_mfu is None or judged.wide_mfu < ANOTHER_PEAK * judged.mfu:
        return None
    return 100 * judged.wide_mfu


def _efficiency(specification: Specification, judged: JudgedLayout, whole: WholeRun) -> tuple[float, str]:
    """Return the share of the peak rate that products are given by the user or expected to reach; of a classical
    model, the share that the model reaches.
    """
    device = judged.machine.device
    if device.efficiency is not None:
        return device.efficiency, "as specified"
    if judged.hfu is not None:
        return product_share(device, judged.training.precision.compute), "estimated"
    peak = arithmetic(specification.subject, judged)[1] * judged.machine.devices
    return whole.flops / (whole.seconds.middle * peak), "estimated"


def _as_share(judged: JudgedLayout, name: str, seconds: float) -> Interval:
    """Return the interval of a part: as uncertain as the computation.

    A longer computation shortens the wait for data.
    """
    step = judged.computed
    if name == WAITING and judged.loaded:
        return Interval(*(judged.loaded.wait(each) for each in (step.high, step.middle, step.low)))
    return step.times(seconds / step.middle)


def _assumptions(specification: Specification, whole: WholeRun) -> Iterator[str]:
    if isinstance(specification.subject, ModelCost):
        yield from specification.subject.assumptions
    if whole.checkpoint_bytes:
        between, saved = whole.checkpoint_seconds_between, size(whole.checkpoint_bytes)
        rest = "the interval that costs least with the expected failures"
        if whole.steps_alone is None or between < whole.steps_alone.middle:
            yield f"a checkpoint of {saved} every {duration(between)}: {rest}"
        else:
            yield f"a checkpoint of {saved} at the end: no earlier one costs less than the expected failures"
    if whole.unplanned_loading:
        yield "images are loaded as slowly as in published trainings; the section `loading` plans it instead"


def _of_wider_machines(specification: Specification) -> Iterator[str]:
    """Yield what is assumed of the machines of the other rows, such as their network."""
    for devices in specification.device_counts:
        yield from on(specification, devices).assumptions


def _warnings(
    specification: Specification, judged: JudgedLayout, seconds: Interval, host: HostMemorySection
) -> Iterator[str]:
    """Yield warnings for the user."""
    device, training = judged.machine.device, judged.training
    if judged.verdict == UNCERTAIN:
        yield "It is uncertain whether the training fits: the upper end of its memory exceeds the device's."
    elif judged.verdict != FITS:
        yield f"The training does not fit: even the lower end of its memory exceeds that of {device.name}."
    compute = training.precision.compute
    if trained_by_gradient(specification.subject) and not device.native(compute):
        yield f"{device.name} does not support {compute.value}; the rate of a wider format is used."
    if device.confidence and device.confidence.casefold() == "low":
        yield f"The catalogue's data of {device.name} have low confidence: {device.source}"
    if training.global_batch % judged.layout.data or judged.layout.data > training.global_batch:
        yield f"A batch of {training.global_batch} is not a multiple of {plural(judged.layout.data, 'replica')}."
    yield from beyond_positions(specification)
    if host.verdict in {UNCERTAIN, TOO_LARGE}:
        yield f"A host may have too little memory: it needs {spread(host.needed_bytes, size)}."
    if seconds.middle > YEAR:
        yield "The run takes more than a year."
    if judged.mfu is not None and judged.mfu < POOR:
        yield f"Utilisation is only {percent(judged.mfu)} (MFU): see the bottleneck and the recommendations."


def _unpriced(specification: Specification, cost: CostSection) -> Iterator[str]:
    """Yield a warning if the chosen provider or region has no offer; a device without any offer is not an error."""
    price = specification.price
    if cost.cost_usd is None and (price.provider or price.region):
        yield f"{cost.price_basis[:1].upper()}{cost.price_basis[1:]}."


YEAR = 365.25 * 86400.0
POOR = 0.10
ANOTHER_PEAK = 1.01
