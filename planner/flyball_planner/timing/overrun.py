"""The overrun of complete trainings: how much longer they take than their steps and the known work between them.

What no configuration contains takes time too: restarts that repeat work, tests, slower phases, evaluation, a batch that
grows, and software that does not reach the best layout. Its distribution is learnt from published trainings
(`data/whole_runs.csv`) by `python -m flyball_planner.accuracy.fit_whole_runs`, which writes `data/overrun.csv`.

What the source states of the software (flash attention, fusion, micro-batch) is part of the planned steps, as a user
would state it. Of what remains, two facts separate the published runs: clusters lose more than single machines, and
trainings on images wait for decoding and augmenting, which no step contains. So there are three classes.
"""

import csv
import math
from functools import cache
from pathlib import Path

from msgspec import Struct

from flyball_planner.belief import NINETY
from flyball_planner.catalogue.hardware import TrainingMachine
from flyball_planner.interval import Interval
from flyball_planner.models.cost import ModelCost
from flyball_planner.models.family import IMAGE_NETWORKS
from flyball_planner.models.transformer.shape import TransformerShape

FILE = Path(__file__).with_name("data") / "overrun.csv"
FEW, MANY, IMAGES = "few devices", "many devices", "images"
CLUSTER = 32  # devices from which on a run counts as one of many
LOST = "lost"  # the class of runs whose pace is measured
LEAST = 1.0  # no run is shorter than its steps


class OverrunLaw(Struct, frozen=True):
    """The logarithm of the overrun in one class of runs."""

    middle: float
    scatter: float  # standard deviation of a new run, with the error of its steps
    step_deviation: float  # the part of it that the steps' own intervals explain


class Overrun(Struct, frozen=True):
    """The overrun of one planned run: a factor, and the deviation of the run's logarithm."""

    factor: float
    deviation: float

    def interval(self, middle: float) -> Interval:
        """Return the 90 % interval around a duration."""
        reach = math.exp(NINETY * self.deviation)
        return Interval(middle / reach, middle, middle * reach)


def overrun(
    machine: TrainingMachine,
    step: Interval,
    *,
    measured: bool,
    images: bool = False,
    overhead: float = 0.0,
    left_out: str = "",
) -> Overrun:
    """Return the overrun of a run.

    `measured`: runs of this kind corrected the step, so its software is known and only what is lost between steps
    remains. `images`: it trains on images whose loading is not planned; a loader has time for them during the share of
    a step that is `overhead` (kernel launches and Python), so that share loses what other runs lose. `left_out` names a
    family of published runs that must not be used, to judge the law by it.
    """
    law = overrun_law(LOST if measured else class_of(machine.devices, images=images), left_out)
    # The published runs' scatter contains the usual error of a step; only a less certain step widens it.
    variance = law.scatter**2 + max(0.0, step_deviation(step) ** 2 - law.step_deviation**2)
    factor = max(LEAST, math.exp(law.middle))
    if images and not measured:
        usual = max(LEAST, math.exp(overrun_law(class_of(machine.devices), left_out).middle))
        factor += overhead * (usual - factor)
    return Overrun(factor, math.sqrt(variance))


def class_of(devices: int, *, images: bool = False) -> str:
    """Return the class of a run on this many devices."""
    if images:
        return IMAGES
    return MANY if devices >= CLUSTER else FEW


def takes_images(subject: TransformerShape | ModelCost) -> bool:
    """Return True if a sample is an image, which a loader decodes and augments."""
    return subject.patches is not None if isinstance(subject, TransformerShape) else subject.family == IMAGE_NETWORKS


def step_deviation(step: Interval) -> float:
    """Return the standard deviation of a step's logarithm."""
    return math.log(step.high / step.low) / (2 * NINETY) if step.low > 0 else 0.0


@cache
def overrun_law(name: str, left_out: str = "") -> OverrunLaw:
    """Return the law of a class, optionally without one family of runs; an unknown family changes nothing."""
    laws = _laws()
    return laws.get((left_out, name)) or laws["", name]


@cache
def _laws() -> dict[tuple[str, str], OverrunLaw]:
    with FILE.open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(line for line in file if not line.startswith("#"))
        return {
            (row["left_out"], row["class"]): OverrunLaw(*(float(row[name]) for name in OverrunLaw.__struct_fields__))
            for row in rows
        }
