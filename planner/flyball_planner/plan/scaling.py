"""The same training on other numbers of devices, and with other batches."""

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from flyball_planner.catalogue.hardware import Machine
from flyball_planner.catalogue.machines import machine
from flyball_planner.errors import PlanError
from flyball_planner.plan.choose import choose
from flyball_planner.plan.cost import usd_of
from flyball_planner.plan.judge import Judged
from flyball_planner.plan.plan import ScalingRow
from flyball_planner.plan.whole import whole_seconds
from flyball_planner.plan.words import layout_in_short
from flyball_planner.report.words import duration
from flyball_planner.specification.specification import Specification
from flyball_planner.training import Training


def scaled_devices(specification: Specification, known: Judged) -> tuple[ScalingRow, ...]:
    """One row a number of devices; the batch stays. Where no layout is possible there is no row.

    `known` is the plan's own layout, which is not looked for a second time.
    """
    cases = [(specification.training, on(specification, devices)) for devices in specification.device_counts]
    return tuple(_rows(specification, cases, known))


def scaled_batches(specification: Specification, known: Judged) -> tuple[ScalingRow, ...]:
    """One row a batch; the samples of the whole run stay."""
    batches = [replace(specification.training, global_batch=batch) for batch in specification.batch_sizes]
    return tuple(_rows(specification, [(each, specification.machine) for each in batches], known))


def on(specification: Specification, devices: int) -> Machine:
    """The same machines, as many as it takes."""
    known = specification.machine
    wider = machine(known.device, devices, known.devices_a_node, specification.network or known.between_nodes)
    return replace(wider, host_memory_bytes=known.host_memory_bytes, host_cores=known.host_cores)


def _rows(
    specification: Specification, cases: Sequence[tuple[Training, Machine]], known: Judged
) -> Iterator[ScalingRow]:
    first: float | None = None
    for training, where in cases:
        judged = _judged(specification, training, where, known)
        if judged is None:
            continue
        speed = judged.samples_per_second / where.devices
        first = first or speed
        yield _row(specification, judged, speed / first)


def _judged(specification: Specification, training: Training, where: Machine, known: Judged) -> Judged | None:
    if where.devices == known.machine.devices and training == known.training:
        return known
    try:
        return choose(specification.subject, training, where, specification.layout, shown=1, known=known.known).best
    except PlanError:
        return None


def _row(specification: Specification, judged: Judged, efficiency: float) -> ScalingRow:
    seconds = whole_seconds(specification.subject, judged)
    return ScalingRow(
        devices=judged.machine.devices,
        global_batch=judged.training.global_batch,
        layout=layout_in_short(judged.layout),
        step_seconds=judged.step,
        samples_per_second=judged.samples_per_second,
        efficiency=efficiency,
        train_seconds=seconds,
        memory_percent=100 * judged.memory_share,
        verdict=judged.verdict,
        cost_usd=usd_of(judged.machine, seconds.middle, specification.price),
        estimated_train_time_human=duration(seconds.middle),
    )
