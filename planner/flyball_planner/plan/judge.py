"""One layout judged: what it takes, how long its step is, and whether it fits."""

from collections.abc import Mapping

from msgspec import Struct

from flyball_planner.catalogue.hardware import Machine
from flyball_planner.interval import Interval
from flyball_planner.layouts.columns import Layout, Layouts
from flyball_planner.memory.estimate import SPREAD, MemoryEstimate, estimate_memory
from flyball_planner.memory.verdict import Fit, fits
from flyball_planner.models.classical_time import classical_seconds
from flyball_planner.models.cost import ModelCost
from flyball_planner.plan.known import NOTHING, Known
from flyball_planner.plan.plan import MemorySection, Part
from flyball_planner.plan.roofline import WAITING
from flyball_planner.plan.subject import Subject
from flyball_planner.timing.estimate import StepEstimate, estimate_step
from flyball_planner.timing.loading import Loaded, load
from flyball_planner.training import Training

FITS, UNCERTAIN, TOO_LARGE = "fits", "uncertain", "does not fit"
VERDICTS = {Fit.YES: FITS, Fit.UNCERTAIN: UNCERTAIN, Fit.NO: TOO_LARGE}


class Judged(Struct, frozen=True):
    """A layout with what it takes."""

    layout: Layout
    machine: Machine
    training: Training
    step: Interval  # seconds; of a classical model the whole fit
    computed: Interval  # the same where no data are waited for
    parts: Mapping[str, float]  # seconds by cause
    mfu: float | None
    hfu: float | None
    memory: MemoryEstimate  # of several layouts
    row: int  # this one's
    known: Known = NOTHING
    loaded: Loaded | None = None  # where it is known how the data arrive

    @property
    def driver(self) -> Interval:
        """What the driver will show."""
        return self.memory.driver[self.row]

    @property
    def verdict(self) -> str:
        """Fits where even the upper end does; does not where not even the lower end would."""
        return VERDICTS[fits(self.memory)[self.row]]

    @property
    def memory_share(self) -> float:
        """Of the device, the middle of what its driver shows."""
        return self.driver.middle / self.machine.device.memory_bytes

    @property
    def accumulation(self) -> int:
        """Micro-batches of a replica for one optimizer step."""
        return max(1, -(-self.training.global_batch // (self.layout.data * self.layout.micro_batch)))

    @property
    def samples_per_second(self) -> float:
        """Of all devices together."""
        return self.training.global_batch / self.step.middle


def judge(subject: Subject, training: Training, machine: Machine, layout: Layout, known: Known = NOTHING) -> Judged:
    """Both estimates of one layout."""
    layouts = Layouts.of(layout)
    memory = estimate_memory(subject, training, layouts, machine.device, known.learned.constants)
    if isinstance(subject, ModelCost) and not subject.trained_by_gradient:
        fit = _fit(subject, machine, known)
        return Judged(layout, machine, training, fit, fit, {"fit": fit.middle}, None, None, memory, 0, known)
    step = estimate_step(subject, training, layouts, machine, known.learned.belief)
    return of_row(training, machine, layout, step, memory, 0, known)


def of_row(
    training: Training,
    machine: Machine,
    layout: Layout,
    step: StepEstimate,
    memory: MemoryEstimate,
    row: int,
    known: Known = NOTHING,
) -> Judged:
    """One row of estimates of several layouts, with what it waits for its data."""
    loaded = load(known.loading, training.global_batch, layout, machine) if known.loading else None
    computed, parts = step.seconds(row), step.parts_of(row)
    whole = loaded.with_step(computed) if loaded else computed
    if loaded and loaded.wait(computed.middle):
        parts = {**parts, WAITING: loaded.wait(computed.middle)}
    return Judged(
        layout=layout,
        machine=machine,
        training=training,
        step=whole,
        computed=computed,
        parts=parts,
        mfu=float(step.mfu[row]) * computed.middle / whole.middle,
        hfu=float(step.hfu[row]) * computed.middle / whole.middle,
        memory=memory,
        row=row,
        known=known,
        loaded=loaded,
    )


def _fit(subject: ModelCost, machine: Machine, known: Known) -> Interval:
    cold = classical_seconds(subject, machine.device, cores=machine.host_cores or 0)
    if known.learned.belief is None:
        return cold
    from flyball_planner.calibration.steps import paced_interval  # noqa: PLC0415  few plans are calibrated

    return paced_interval(cold, known.learned.belief)


def memory_section(judged: Judged, best_change: str | None) -> MemorySection:
    """The memory as a plan tells it."""
    memory, row = judged.memory, judged.row
    return MemorySection(
        parts=tuple(Part(name, _range(name, amount)) for name, amount in memory.breakdown(row).items()),
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
