"""A layout with its estimates: memory, step time, and whether it fits."""

from collections.abc import Mapping

from msgspec import Struct

from flyball_planner.catalogue.hardware import TrainingMachine
from flyball_planner.interval import Interval
from flyball_planner.layouts.layout import Layouts, ParallelLayout
from flyball_planner.memory.estimate import SPREAD, MemoryEstimate, estimate_memory
from flyball_planner.memory.verdict import Fit, fits
from flyball_planner.models.classical_time import classical_seconds
from flyball_planner.models.cost import ModelCost
from flyball_planner.plan.context import NOTHING, PlanContext
from flyball_planner.plan.plan import Alternative, MemorySection, NamedAmount
from flyball_planner.plan.roofline import WAITING
from flyball_planner.plan.subject import Subject
from flyball_planner.plan.words import layout_in_short
from flyball_planner.timing.estimate import StepEstimate, estimate_step
from flyball_planner.timing.loading import LoadingTime, load
from flyball_planner.training import Training

FITS, UNCERTAIN, TOO_LARGE = "fits", "uncertain", "does not fit"
VERDICTS = {Fit.YES: FITS, Fit.UNCERTAIN: UNCERTAIN, Fit.NO: TOO_LARGE}


class JudgedLayout(Struct, frozen=True):
    """A layout with its estimates."""

    layout: ParallelLayout
    machine: TrainingMachine
    training: Training
    step: Interval  # seconds; for classical models the complete fit
    computed: Interval  # the same without waiting for data
    parts: Mapping[str, float]  # seconds by cause
    mfu: float | None
    hfu: float | None
    memory: MemoryEstimate  # of several layouts, this one included
    row: int  # this layout's row
    context: PlanContext = NOTHING
    loaded: LoadingTime | None = None  # None if nothing is known about data loading
    wide_mfu: float | None = None  # relative to the 16-bit rate
    variants: int = 0  # as fast layouts that differ only in chunks, experts or micro-batch

    @property
    def driver(self) -> Interval:
        """Return the memory as the driver reports it."""
        return self.memory.driver[self.row]

    @property
    def verdict(self) -> str:
        """Return the verdict: fits if even the upper end fits, does not fit if not even the lower end does."""
        return VERDICTS[fits(self.memory)[self.row]]

    @property
    def memory_share(self) -> float:
        """Return the middle of the driver's figure as a share of the device's memory."""
        return self.driver.middle / self.machine.device.memory_bytes

    @property
    def accumulation(self) -> int:
        """Return the number of micro-batches per replica and optimizer step."""
        return max(1, -(-self.training.global_batch // (self.layout.data * self.layout.micro_batch)))

    @property
    def samples_per_second(self) -> float:
        """Return the rate of all devices."""
        return self.training.global_batch / self.step.middle


def judge(
    subject: Subject,
    training: Training,
    machine: TrainingMachine,
    layout: ParallelLayout,
    context: PlanContext = NOTHING,
) -> JudgedLayout:
    """Estimate memory and time of one layout."""
    layouts = Layouts.of(layout)
    memory = estimate_memory(subject, training, layouts, machine.device, context.learned.constants)
    if isinstance(subject, ModelCost) and not subject.trained_by_gradient:
        fit = _fit(subject, machine, context)
        return JudgedLayout(layout, machine, training, fit, fit, {"fit": fit.middle}, None, None, memory, 0, context)
    step = estimate_step(subject, training, layouts, machine, context.learned.belief)
    return of_row(training, machine, layout, step, memory, 0, context)


def of_row(
    training: Training,
    machine: TrainingMachine,
    layout: ParallelLayout,
    step: StepEstimate,
    memory: MemoryEstimate,
    row: int,
    context: PlanContext = NOTHING,
    variants: int = 0,
) -> JudgedLayout:
    """Return the layout of one row of estimates, including its wait for data."""
    loaded = load(context.loading, training.global_batch, layout, machine) if context.loading else None
    computed, parts = step.seconds(row), step.parts_of(row)
    total = loaded.with_step(computed) if loaded else computed
    if loaded and loaded.wait(computed.middle):
        parts = {**parts, WAITING: loaded.wait(computed.middle)}
    return JudgedLayout(
        layout=layout,
        machine=machine,
        training=training,
        step=total,
        computed=computed,
        parts=parts,
        mfu=float(step.mfu[row]) * computed.middle / total.middle,
        hfu=float(step.hfu[row]) * computed.middle / total.middle,
        memory=memory,
        row=row,
        context=context,
        loaded=loaded,
        wide_mfu=float(step.wide_mfu[row]) * computed.middle / total.middle,
        variants=variants,
    )


def _fit(subject: ModelCost, machine: TrainingMachine, context: PlanContext) -> Interval:
    cold = classical_seconds(subject, machine.device, cores=machine.host_cores or 0)
    if context.learned.belief is None:
        return cold
    from flyball_planner.calibration.steps import paced_interval  # noqa: PLC0415  few plans are calibrated

    return paced_interval(cold, context.learned.belief)


def alternative(judged: JudgedLayout) -> Alternative:
    """Return a layout of the list of alternatives, with the number of its variants that are not listed."""
    also = f" (+{judged.variants})" if judged.variants else ""
    return Alternative(layout_in_short(judged.layout) + also, judged.step, 100 * judged.memory_share, judged.verdict)


def memory_section(judged: JudgedLayout, best_change: str | None) -> MemorySection:
    """Return the memory section of a plan."""
    memory, row = judged.memory, judged.row
    return MemorySection(
        parts=tuple(NamedAmount(name, _range(name, amount)) for name, amount in memory.breakdown(row).items()),
        allocated_bytes=memory.allocated[row],
        reserved_bytes=memory.reserved[row],
        driver_bytes=judged.driver,
        capacity_bytes=judged.machine.device.memory_bytes,
        utilization_percent=100 * judged.memory_share,
        verdict=judged.verdict,
        headroom_bytes=memory.usable_bytes - judged.driver.high,
        peak_stage=memory.stage[row],
        peak_moment=memory.moment[row],
        best_single_change=best_change,
    )


def _range(name: str, amount: float) -> Interval:
    return Interval.around(amount, *SPREAD.get(name, (0.5, 0.5)))
