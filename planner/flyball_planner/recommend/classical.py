"""Hosts for classical models: a single machine, chosen by cores and memory."""

from collections.abc import Sequence

from msgspec.structs import replace

from flyball_planner.catalogue.devices import find_device
from flyball_planner.interval import Interval
from flyball_planner.layouts.layout import Layouts, ParallelLayout
from flyball_planner.memory.estimate import estimate_memory
from flyball_planner.models.classical_time import classical_seconds
from flyball_planner.models.cost import ModelCost
from flyball_planner.optimizers import find_optimizer
from flyball_planner.precision import PRECISIONS
from flyball_planner.recommend.hosts import HostOption, host_options
from flyball_planner.training import Training

PROCESSOR = "Intel Xeon Platinum 8488C"
"""The processor of AWS's m7i and r7i; other providers' machines are assumed to be equal."""


def fit_options(model: ModelCost, hours_wanted: float) -> tuple[Sequence[HostOption], Interval]:
    """Return machines that hold the model and its memory; those within the time come first, then the cheapest."""
    processor = find_device(PROCESSOR)
    training = Training(sequence=1, global_batch=1, optimizer=find_optimizer("sgd"), precision=PRECISIONS["fp32"])
    ram = estimate_memory(model, training, Layouts.of(ParallelLayout()), processor).driver[0]
    found = []
    for each in host_options(1, 1, ram.high, Interval.exactly(1.0)):
        hours = classical_seconds(model, processor, cores=each.cores).times(1 / 3600)
        found.append(replace(each, hours=hours, usd=hours.times(each.usd.middle)))
    return sorted(found, key=lambda each: (each.hours.middle > hours_wanted, each.usd.middle, each.instance)), ram
