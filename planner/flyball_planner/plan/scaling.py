"""The same training on other numbers of devices and with other batches."""

from collections.abc import Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from flyball_planner.catalogue.hardware import TrainingMachine
from flyball_planner.catalogue.machines import machine
from flyball_planner.layout_search.ranking import NEARLY
from flyball_planner.layout_search.search import Case
from flyball_planner.plan.context import context_of
from flyball_planner.plan.cost import usd_of
from flyball_planner.plan.judged_layout import FITS, JudgedLayout
from flyball_planner.plan.layout_choice import Choice, choose_each
from flyball_planner.plan.plan import ScalingRow
from flyball_planner.plan.subject import trained_by_gradient
from flyball_planner.plan.whole_run import whole_seconds
from flyball_planner.plan.words import layout_in_short
from flyball_planner.specification.specification import Specification
from flyball_reports.errors import InputError
from flyball_reports.figures import duration


class Scaled(Struct, frozen=True):
    """The plan's own layout, and a row for each other number of devices and each other batch."""

    choice: Choice
    devices: tuple[ScalingRow, ...]
    batches: tuple[ScalingRow, ...]


def choose_and_scale(specification: Specification) -> Scaled:
    """Choose all layouts in one pass. Raises `InputError` if the plan has no layout; other cases then have no row.

    The batch is the same on all numbers of devices. The number of samples is the same for all batches.
    """
    training, machine = specification.training, specification.machine
    planned = Case(training, machine)
    counts = specification.device_counts if trained_by_gradient(specification.subject) else ()
    wider = [Case(training, on(specification, each), shown=1) for each in counts]
    batches = [Case(replace(training, global_batch=each), machine, shown=1) for each in specification.batch_sizes]
    cases = {_key(each): each for each in (*wider, *batches)} | {_key(planned): planned}
    found = choose_each(
        specification.subject,
        [*cases.values()],
        specification.layout,
        context_of(specification),
        specification.choices,
    )
    choices = dict(zip(cases, found, strict=True))
    choice = choices[_key(planned)]
    if isinstance(choice, InputError):
        raise choice
    rows = ([choices[_key(each)] for each in some] for some in (wider, batches))
    return Scaled(choice, *(tuple(_rows(specification, each)) for each in rows))


def _key(case: Case) -> tuple[int, int]:
    return case.machine.devices, case.training.global_batch


def on(specification: Specification, devices: int) -> TrainingMachine:
    """Return the specification's machine with another number of devices."""
    known = specification.machine
    wider = machine(known.device, devices, known.devices_a_node, specification.network or known.between_nodes)
    return replace(wider, host_memory_bytes=known.host_memory_bytes, host_cores=known.host_cores)


def _rows(specification: Specification, choices: Sequence[Choice | InputError]) -> Iterator[ScalingRow]:
    first: float | None = None
    for each in choices:
        if isinstance(each, InputError):
            continue
        judged = each.best
        speed = judged.samples_per_second / judged.machine.devices
        first = first or speed
        yield _row(specification, judged, speed / first)


def slower_with_more(rows: Sequence[ScalingRow], batch: int) -> Iterator[str]:
    """Yield why more devices are slower than fewer ones."""
    best: ScalingRow | None = None
    for row in sorted((each for each in rows if each.verdict == FITS), key=lambda each: each.devices):
        if best is None or row.step_seconds.middle <= (1 + NEARLY) * best.step_seconds.middle:
            best = row
            continue
        why = "each device gets too little work"
        if batch % row.devices:
            why = f"a batch of {batch:,} cannot be divided into {row.devices} equal parts, so devices share copies"
        yield f"{row.devices} devices are slower than {best.devices}: {why} ({row.layout})."


def _row(specification: Specification, judged: JudgedLayout, efficiency: float) -> ScalingRow:
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
