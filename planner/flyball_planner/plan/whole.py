"""The whole run that steps add up to: time, goodput, energy."""

from msgspec import Struct

from flyball_planner.interval import Interval
from flyball_planner.models.cost import ModelCost
from flyball_planner.models.transformer.counts import parameters
from flyball_planner.models.transformer.flops import training_flops
from flyball_planner.plan.judge import Judged
from flyball_planner.plan.subject import Subject, trained_by_gradient
from flyball_planner.precision import WIDTHS_BYTES
from flyball_planner.timing.run import Habits, whole_run
from flyball_planner.training import Training

JOULES_A_KILOWATT_HOUR = 3.6e6
MASTER_BYTES = 4.0  # of a parameter, in fp32


class Whole(Struct, frozen=True):
    """From the start to the end."""

    steps: int
    seconds: Interval
    goodput: float
    flops: float  # that the model needs
    energy_kilowatt_hours: Interval | None
    power_watts: float | None  # of one device
    checkpoint_bytes: float
    checkpoint_seconds_between: float


def whole_run_of(subject: Subject, judged: Judged) -> Whole:
    """With what a cluster adds to its steps; a classical model is one step."""
    training = judged.training
    gradient = trained_by_gradient(subject)
    steps = -(-training.samples // training.global_batch) if gradient else 1
    saved = checkpoint_bytes(subject, training) if gradient else 0.0
    run = whole_run(
        judged.step,
        steps,
        judged.machine,
        judged.mfu if judged.mfu is not None else 1.0,
        _habits(saved, judged),
    )
    known_power = judged.machine.device.power_watts is not None
    return Whole(
        steps=steps,
        seconds=run.seconds if gradient else judged.step,
        goodput=run.goodput if gradient else 1.0,
        flops=_flops(subject, training),
        energy_kilowatt_hours=run.energy_joules.times(1 / JOULES_A_KILOWATT_HOUR) if known_power else None,
        power_watts=run.device_watts if known_power else None,
        checkpoint_bytes=saved,
        checkpoint_seconds_between=run.checkpoint_seconds_between,
    )


def _habits(saved: float, judged: Judged) -> Habits:
    """Checkpoints are written to the storage that the data are read from, where that is told."""
    told = judged.known.loading
    if told is None or told.storage_bytes_per_second is None:
        return Habits(checkpoint_bytes=saved)
    return Habits(checkpoint_bytes=saved, checkpoint_bytes_per_second=told.storage_bytes_per_second)


def whole_seconds(subject: Subject, judged: Judged) -> Interval:
    """Only how long it takes."""
    return whole_run_of(subject, judged).seconds


def checkpoint_bytes(subject: Subject, training: Training) -> float:
    """Weights, their master copies and the optimizer's states."""
    count = parameters(subject).total if not isinstance(subject, ModelCost) else subject.parameters
    precision = training.precision
    master = MASTER_BYTES if precision.master else 0.0
    return count * (WIDTHS_BYTES[precision.weights] + master + training.optimizer.state_bytes)


def _flops(subject: Subject, training: Training) -> float:
    """Of all samples; `training.samples` counts a sample of a classical model once a pass."""
    if isinstance(subject, ModelCost):
        return subject.training_flops * training.samples
    return training_flops(subject, training.sequence) * training.samples
