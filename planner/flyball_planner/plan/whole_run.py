"""The complete run: time, goodput and energy."""

from msgspec import Struct

from flyball_planner.interval import Interval
from flyball_planner.memory.checkpoint_size import checkpoint_bytes
from flyball_planner.models.cost import ModelCost
from flyball_planner.models.transformer.flops import flops_of_sample
from flyball_planner.plan.judged_layout import JudgedLayout
from flyball_planner.plan.roofline import OVERHEADS
from flyball_planner.plan.subject import Subject, trained_by_gradient
from flyball_planner.timing.overrun import takes_images
from flyball_planner.timing.training_run import Habits, energy_joules, whole_run
from flyball_planner.training import Training

JOULES_A_KILOWATT_HOUR = 3.6e6


class WholeRun(Struct, frozen=True):
    """The complete run from start to end."""

    steps: int
    seconds: Interval  # as complete runs go
    steps_alone: Interval | None  # None: a single fit
    overrun: float | None  # see `timing.overrun`
    goodput: float
    flops: float  # needed by the model
    energy_kilowatt_hours: Interval | None
    power_watts: float | None  # per device
    checkpoint_bytes: float
    checkpoint_seconds_between: float
    unplanned_loading: bool  # the overrun contains the loading of images


def whole_run_of(subject: Subject, judged: JudgedLayout) -> WholeRun:
    """Return the complete run with the overheads of a cluster; a classical model is a single step."""
    training = judged.training
    gradient = trained_by_gradient(subject)
    steps = -(-training.samples // training.global_batch) if gradient else 1
    saved = checkpoint_bytes(subject, training) if gradient else 0.0
    measured = judged.context.learned.belief is not None
    images = judged.loaded is None and takes_images(subject)
    run = whole_run(
        judged.step,
        steps,
        judged.machine,
        judged.mfu if judged.mfu is not None else 1.0,
        _habits(saved, judged),
        measured=measured,
        images=images,
        overhead=overhead_share(judged),
    )
    known_power = judged.machine.device.power_watts is not None
    # A fit is a single call, without a start of the framework, checkpoints or restarts.
    seconds = run.seconds if gradient else judged.step
    energy = energy_joules(seconds, judged.machine, run.device_watts)
    return WholeRun(
        steps=steps,
        seconds=seconds,
        steps_alone=run.steps_alone if gradient else None,
        overrun=run.overrun if gradient else None,
        goodput=run.goodput if gradient else 1.0,
        flops=_flops(subject, training),
        energy_kilowatt_hours=energy.times(1 / JOULES_A_KILOWATT_HOUR) if known_power else None,
        power_watts=run.device_watts if known_power else None,
        checkpoint_bytes=saved,
        checkpoint_seconds_between=run.checkpoint_seconds_between,
        unplanned_loading=images and not measured and gradient,
    )


def overhead_share(judged: JudgedLayout) -> float:
    """Return the share of a step that is kernel launches and Python between them."""
    total = sum(judged.parts.values())
    return sum(judged.parts.get(name, 0.0) for name in OVERHEADS) / total if total else 0.0


def _habits(saved: float, judged: JudgedLayout) -> Habits:
    """Return the habits of the run; checkpoints are written to the storage of the data if it is known."""
    loading = judged.context.loading
    if loading is None or loading.storage_bytes_per_second is None:
        return Habits(checkpoint_bytes=saved)
    return Habits(checkpoint_bytes=saved, checkpoint_bytes_per_second=loading.storage_bytes_per_second)


def whole_seconds(subject: Subject, judged: JudgedLayout) -> Interval:
    """Return only the duration of the run."""
    return whole_run_of(subject, judged).seconds


def _flops(subject: Subject, training: Training) -> float:
    """Return the FLOPs of all samples; for a classical model, each pass counts the samples once."""
    if isinstance(subject, ModelCost):
        return subject.training_flops * training.samples
    return flops_of_sample(subject, training) * training.samples
