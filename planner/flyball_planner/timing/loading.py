"""Data loading: storage, processors that prepare samples, and the part of their time that a step waits.

A prefetching loader works in parallel with the devices, so the slower of loading and computing counts. Without worker
processes, the training process loads between its steps and both times add up.
"""

from collections.abc import Mapping

from msgspec import Struct

from flyball_planner.catalogue.hardware import TrainingMachine
from flyball_planner.interval import Interval
from flyball_planner.layouts.layout import ParallelLayout

STORAGE, PREPARING, LOADER = "storage", "preparing", "measured loader"
USUAL_CORES = 16
"""Cores per device of a machine whose cores are not stated: DGX A100 has 128 for eight devices, DGX H100 112 (NVIDIA's
data sheets)."""


class Loading(Struct, frozen=True):
    """The known properties of data loading; what is unknown costs nothing."""

    samples_per_second: float | None = None  # measured rate of one node's loader
    bytes_per_sample: float = 0.0
    storage_bytes_per_second: float | None = None  # per node
    core_seconds_per_sample: float = 0.0
    workers: int | None = None  # processes per device

    @property
    def overlaps(self) -> bool:
        """Return True if samples are loaded while others are computed."""
        return self.workers != 0


class LoadingTime(Struct, frozen=True):
    """The time to load the data of one step on the node that loads most."""

    samples: float
    rates: Mapping[str, float]  # samples per second by stage
    seconds: float  # to load the step's samples
    overlaps: bool
    workers: float  # working at the same time on the node

    @property
    def slowest_stage(self) -> str:
        """Return the slowest stage."""
        return min(self.rates, key=lambda name: self.rates[name])

    def with_step(self, step: Interval) -> Interval:
        """Return the step's time including its wait for data."""
        if not self.overlaps:
            return step + Interval.exactly(self.seconds)
        return Interval(*(max(each, self.seconds) for each in (step.low, step.middle, step.high)))

    def wait(self, step_seconds: float) -> float:
        """Return by how much a step takes longer because of its data."""
        return max(0.0, self.seconds - step_seconds) if self.overlaps else self.seconds


def load(loading: Loading, batch: int, layout: ParallelLayout, machine: TrainingMachine) -> LoadingTime | None:
    """Return the loading time of a step; nothing if no stage's rate is known.

    Each replica reads its samples once. If a replica covers several nodes, one of them reads.
    """
    workers = _at_work(loading, machine)
    rates = dict(_rates(loading, workers))
    if not rates:
        return None
    samples = batch / min(machine.nodes, layout.data)
    return LoadingTime(samples, rates, samples / min(rates.values()), loading.overlaps, workers)


def _at_work(loading: Loading, machine: TrainingMachine) -> float:
    """Return how many processes of a node prepare samples at the same time: at most one for each core."""
    devices = min(machine.devices, machine.devices_a_node)
    started = devices * max(1, loading.workers or 0)
    return float(min(started, machine.host_cores or USUAL_CORES * devices))


def _rates(loading: Loading, workers: float) -> Mapping[str, float]:
    rates: dict[str, float] = {}
    if loading.samples_per_second:
        rates[LOADER] = loading.samples_per_second
    if loading.storage_bytes_per_second and loading.bytes_per_sample:
        rates[STORAGE] = loading.storage_bytes_per_second / loading.bytes_per_sample
    if loading.core_seconds_per_sample:
        rates[PREPARING] = workers / loading.core_seconds_per_sample
    return rates
