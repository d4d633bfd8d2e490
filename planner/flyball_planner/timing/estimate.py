"""How long an optimizer step takes in each of many layouts: parts in seconds, and a 90 % interval for their sum."""

from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from flyball_planner.calibration.belief import STEP, Belief, interval
from flyball_planner.catalogue.hardware import Machine
from flyball_planner.interval import Interval
from flyball_planner.layouts.columns import Layouts
from flyball_planner.models.cost import ModelCost
from flyball_planner.models.transformer.flops import training_flops
from flyball_planner.models.transformer.shape import TransformerShape
from flyball_planner.timing.build import build_work
from flyball_planner.timing.coefficients import fitted, from_logarithms, row_by_row
from flyball_planner.timing.seconds import PART_NAMES, Parts, step_seconds
from flyball_planner.timing.work import Work, repeat
from flyball_planner.training import Checkpointing, Training

Column = NDArray[np.float64]
Columns = tuple[Column, Column, Column]
Subject = TransformerShape | ModelCost


class StepEstimate(Struct, frozen=True):
    """Columns of as many rows as layouts were asked for."""

    parts: Parts  # seconds by cause, at the middle
    low: Column  # seconds of the whole step
    middle: Column
    high: Column
    samples: float  # of a step
    tokens: float
    model_flops: float  # of a step: what the model needs, without anything computed again
    hardware_flops: Column  # with it
    peak_flops_per_second: Column  # of all devices, as printed

    def seconds(self, row: int = 0) -> Interval:
        """The whole step of one layout."""
        return Interval(float(self.low[row]), float(self.middle[row]), float(self.high[row]))

    def parts_of(self, row: int = 0) -> Mapping[str, float]:
        """Seconds by cause of one layout, largest first; what costs nothing is left out."""
        found = {name: float(getattr(self.parts, name)[row]) for name in PART_NAMES}
        return dict(sorted(((name, value) for name, value in found.items() if value > 0), key=lambda each: -each[1]))

    @property
    def tokens_per_second(self) -> Column:
        """Of all devices together."""
        return self.tokens / self.middle

    @property
    def samples_per_second(self) -> Column:
        """Of all devices together."""
        return self.samples / self.middle

    @property
    def mfu(self) -> Column:
        """Model FLOPs utilisation: attention counted whole, as published figures do."""
        return self.model_flops / (self.middle * self.peak_flops_per_second)

    @property
    def hfu(self) -> Column:
        """Hardware FLOPs utilisation: with what is computed again."""
        return self.hardware_flops / (self.middle * self.peak_flops_per_second)


class Stretch(Struct, frozen=True):
    """Layouts of one training on some machines."""

    training: Training
    machine: Machine
    layouts: Layouts


def estimate_step(
    subject: Subject,
    training: Training,
    layouts: Layouts,
    machine: Machine,
    belief: Belief | None = None,
    work: Work | None = None,
) -> StepEstimate:
    """The step of each layout; a calibrated belief makes it narrower than what all suites have in common.

    `work` is that of these layouts, where it is known already.
    """
    stretch = Stretch(training, machine, layouts)
    return estimate_stretches(subject, [stretch], work or build_work(subject, training, layouts, machine), belief)[0]


def estimate_stretches(
    subject: Subject, stretches: Sequence[Stretch], work: Work, belief: Belief | None = None
) -> list[StepEstimate]:
    """The steps of several trainings of one model, whose work stands behind each other."""
    parts, columns = _parts_and_interval(work, belief or fitted())
    found, start = [], 0
    for each in stretches:
        rows = slice(start, start + len(each.layouts))
        found.append(_estimate(subject, each, parts.rows(rows), *(column[rows] for column in columns)))
        start = rows.stop
    return found


def _estimate(
    subject: Subject, stretch: Stretch, parts: Parts, low: Column, middle: Column, high: Column
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
    )


def step_middle(work: Work, belief: Belief | None = None) -> Column:
    """Only the middle: what a search over thousands of layouts ranks by."""
    return step_seconds(work, from_logarithms((belief or fitted()).middle)).total


def step_interval(work: Work, known: Belief) -> Columns:
    """Low, middle and high of each row's step."""
    return _parts_and_interval(work, known)[1]


def _parts_and_interval(work: Work, known: Belief) -> tuple[Parts, Columns]:
    """The middle and all slopes in one call, since calls cost, not rows; the middle comes first."""
    points = known.middle + STEP * np.vstack([np.zeros(len(known.names)), np.eye(len(known.names))])
    every = step_seconds(repeat(work, len(points)), row_by_row(np.repeat(points, len(work), axis=0)))
    middle, *moved = np.log(every.total).reshape(len(points), len(work))
    return every.rows(slice(len(work))), interval(known, middle, (np.stack(moved, axis=1) - middle[:, None]) / STEP)


def logarithms(work: Work, point: Column) -> Column:
    """Of the seconds that some work takes with certain coefficients: what a calibration works on."""
    return np.log(step_seconds(work, from_logarithms(point)).total)


def flops_a_sample(subject: Subject, training: Training) -> float:
    """What the model needs, forward and backward, without anything computed again."""
    if isinstance(subject, TransformerShape):
        return training_flops(subject, training.sequence)
    return subject.training_flops


def _flops(subject: Subject, training: Training, layouts: Layouts) -> tuple[float, Column]:
    batch = training.global_batch
    model = flops_a_sample(subject, training) * batch
    hardware = np.full(len(layouts), model)
    if not isinstance(subject, TransformerShape):
        return model, hardware
    for kind in (Checkpointing.SELECTIVE, Checkpointing.FULL):
        chosen = layouts.checkpoints(kind)
        if chosen.any():
            hardware = np.where(chosen, training_flops(subject, training.sequence, kind) * batch, hardware)
    return model, hardware
