"""Step time for many layouts at once: seconds by cause, and a 90 % interval for their sum."""

from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from flyball_planner.belief import STEP, Belief, interval
from flyball_planner.catalogue.hardware import ComputeDevice, TrainingMachine
from flyball_planner.interval import Interval
from flyball_planner.layouts.layout import Layouts
from flyball_planner.models.cost import ModelCost
from flyball_planner.models.transformer.flops import flops_of_sample
from flyball_planner.models.transformer.shape import TransformerShape
from flyball_planner.precision import WIDTHS_BYTES, NumberFormat
from flyball_planner.timing.coefficients import fitted, from_logarithms, row_by_row
from flyball_planner.timing.device_belief import believed
from flyball_planner.timing.seconds import PART_NAMES, StepParts, step_seconds
from flyball_planner.timing.work import Work, repeat
from flyball_planner.timing.work_builder import build_work
from flyball_planner.training import Checkpointing, Training

Column = NDArray[np.float64]
Columns = tuple[Column, Column, Column]
Subject = TransformerShape | ModelCost


class StepEstimate(Struct, frozen=True):
    """Columns with one row per layout."""

    parts: StepParts  # seconds by cause at the middle of the interval
    low: Column  # seconds of the complete step
    middle: Column
    high: Column
    samples: float  # per step
    tokens: float
    model_flops: float  # per step, without recomputation
    hardware_flops: Column  # per step, with recomputation
    peak_flops_per_second: Column  # of all devices, as printed for the format of the products
    wide_peak_flops_per_second: Column  # the same, but of 16 bits if the products are narrower

    def seconds(self, row: int = 0) -> Interval:
        """Return the interval of one layout's step."""
        return Interval(float(self.low[row]), float(self.middle[row]), float(self.high[row]))

    def parts_of(self, row: int = 0) -> Mapping[str, float]:
        """Return the seconds by cause of one layout, largest first and without zeros."""
        found = {name: float(getattr(self.parts, name)[row]) for name in PART_NAMES}
        return dict(sorted(((name, value) for name, value in found.items() if value > 0), key=lambda each: -each[1]))

    @property
    def tokens_per_second(self) -> Column:
        """Return the tokens per second of all devices."""
        return self.tokens / self.middle

    @property
    def samples_per_second(self) -> Column:
        """Return the samples per second of all devices."""
        return self.samples / self.middle

    @property
    def mfu(self) -> Column:
        """Return the model FLOPs utilisation; attention counts in full, as in published figures.

        It refers to the peak rate in the format of the products: with 8-bit products to the 8-bit rate, as
        llm-foundry prints it. torchtitan and DeepSeek refer to the 16-bit rate: see `wide_mfu`.
        """
        return self.model_flops / (self.middle * self.peak_flops_per_second)

    @property
    def wide_mfu(self) -> Column:
        """Return the same relative to the 16-bit rate if products are narrower; it can exceed 1."""
        return self.model_flops / (self.middle * self.wide_peak_flops_per_second)

    @property
    def hfu(self) -> Column:
        """Return the hardware FLOPs utilisation, with recomputation."""
        return self.hardware_flops / (self.middle * self.peak_flops_per_second)


class LayoutGroup(Struct, frozen=True):
    """Layouts of one training on one machine."""

    training: Training
    machine: TrainingMachine
    layouts: Layouts


def estimate_step(
    subject: Subject,
    training: Training,
    layouts: Layouts,
    machine: TrainingMachine,
    belief: Belief | None = None,
    work: Work | None = None,
) -> StepEstimate:
    """Estimate the step of each layout; a calibrated belief gives narrower intervals than the common one.

    `work` passes the layouts' work if it is already known.
    """
    stretch = LayoutGroup(training, machine, layouts)
    return estimate_groups(subject, [stretch], work or build_work(subject, training, layouts, machine), belief)[0]


def estimate_groups(
    subject: Subject, stretches: Sequence[LayoutGroup], work: Work, belief: Belief | None = None
) -> list[StepEstimate]:
    """Estimate the steps of several trainings of one model, whose work is concatenated."""
    parts, columns = _parts_and_interval(work, belief or believed(stretches[0].machine.device))
    found, start = [], 0
    for each in stretches:
        rows = slice(start, start + len(each.layouts))
        found.append(_estimate(subject, each, parts.rows(rows), *(column[rows] for column in columns)))
        start = rows.stop
    return found


def _estimate(
    subject: Subject, stretch: LayoutGroup, parts: StepParts, low: Column, middle: Column, high: Column
) -> StepEstimate:
    training, device = stretch.training, stretch.machine.device
    model, hardware = _flops(subject, training, stretch.layouts)
    return StepEstimate(
        parts=parts,
        low=low,
        middle=middle,
        high=high,
        samples=float(training.global_batch),
        tokens=float(training.global_batch * training.sequence),
        model_flops=model,
        hardware_flops=hardware,
        peak_flops_per_second=stretch.layouts.devices * device.rate(training.precision.compute),
        wide_peak_flops_per_second=stretch.layouts.devices * wide_rate(device, training.precision.compute),
    )


def wide_rate(device: ComputeDevice, compute: NumberFormat) -> float:
    """Return the peak FLOP/s in a format, or in 16 bits if the format is narrower."""
    narrow = WIDTHS_BYTES[compute] < WIDTHS_BYTES[NumberFormat.FP16]
    return device.rate(NumberFormat.FP16 if narrow else compute)


def step_middle(work: Work, belief: Belief | None = None) -> Column:
    """Return only the middle, by which a search ranks thousands of layouts."""
    return step_seconds(work, from_logarithms((belief or fitted()).middle)).total


def step_interval(work: Work, known: Belief) -> Columns:
    """Return low, middle and high of each row's step."""
    return _parts_and_interval(work, known)[1]


def _parts_and_interval(work: Work, known: Belief) -> tuple[StepParts, Columns]:
    """Compute the middle and all derivatives in one call, because calls cost time and rows hardly do."""
    points = known.middle + STEP * np.vstack([np.zeros(len(known.names)), np.eye(len(known.names))])
    every = step_seconds(repeat(work, len(points)), row_by_row(np.repeat(points, len(work), axis=0)))
    middle, *moved = np.log(every.total).reshape(len(points), len(work))
    return every.rows(slice(len(work))), interval(known, middle, (np.stack(moved, axis=1) - middle[:, None]) / STEP)


def logarithms(work: Work, point: Column) -> Column:
    """Return the logarithms of the seconds at a point of the coefficients, as a calibration needs them."""
    return np.log(step_seconds(work, from_logarithms(point)).total)


def flops_per_sample(subject: Subject, training: Training) -> float:
    """Return the FLOPs of the forward and backward pass of a sample, without recomputation."""
    if isinstance(subject, TransformerShape):
        return flops_of_sample(subject, training)
    return subject.training_flops


def _flops(subject: Subject, training: Training, layouts: Layouts) -> tuple[float, Column]:
    batch = training.global_batch
    model = flops_per_sample(subject, training) * batch
    hardware = np.full(len(layouts), model)
    if not isinstance(subject, TransformerShape):
        return model, hardware
    for kind in (Checkpointing.SELECTIVE, Checkpointing.FULL):
        chosen = layouts.checkpoints(kind)
        if chosen.any():
            hardware = np.where(chosen, flops_of_sample(subject, training, kind) * batch, hardware)
    return model, hardware
