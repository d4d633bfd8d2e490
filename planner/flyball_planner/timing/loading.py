"""How a training's data reach it: storage, processors that prepare samples, and what of that a step has to wait for.

A prefetching loader works beside the devices, so that of loading and computing the slower one counts; without worker
processes the training process loads between its steps, and both add up.
"""

from collections.abc import Mapping

from msgspec import Struct

from flyball_planner.catalogue.hardware import Machine
from flyball_planner.interval import Interval
from flyball_planner.layouts.columns import Layout

STORAGE, PREPARING, LOADER = "storage", "preparing", "the loader as measured"


class Loading(Struct, frozen=True):
    """What is known of the data's way; what is not known costs nothing."""

    samples_per_second: float | None = None  # of one node's loader, as measured
    bytes_a_sample: float = 0.0
    storage_bytes_per_second: float | None = None  # of one node
    core_seconds_a_sample: float = 0.0
    workers: int | None = None  # processes a device

    @property
    def overlaps(self) -> bool:
        """Whether samples are loaded while others are computed."""
        return self.workers != 0


class Loaded(Struct, frozen=True):
    """The data of one step on the node that loads most."""

    samples: float
    rates: Mapping[str, float]  # samples a second, by what might bound them
    seconds: float  # to load the step's samples
    overlaps: bool
    workers: float  # that work at once on the node

    @property
    def bound_by(self) -> str:
        """The slowest stage."""
        return min(self.rates, key=lambda name: self.rates[name])

    def with_step(self, step: Interval) -> Interval:
        """The step with what it waits for."""
        if not self.overlaps:
            return step + Interval.exactly(self.seconds)
        return Interval(*(max(each, self.seconds) for each in (step.low, step.middle, step.high)))

    def wait(self, step_seconds: float) -> float:
        """How much longer a step takes because its data are not there."""
        return max(0.0, self.seconds - step_seconds) if self.overlaps else self.seconds


def load(loading: Loading, batch: int, layout: Layout, machine: Machine) -> Loaded | None:
    """Of a step; nothing where no stage's rate is known.

    Each replica reads its own samples once, so that of a replica over several nodes one node reads.
    """
    workers = _at_work(loading, machine)
    rates = dict(_rates(loading, workers))
    if not rates:
        return None
    samples = batch / min(machine.nodes, layout.data)
    return Loaded(samples, rates, samples / min(rates.values()), loading.overlaps, workers)


def _at_work(loading: Loading, machine: Machine) -> float:
    """Processes of a node that prepare samples at once: no more than it has cores."""
    devices = min(machine.devices, machine.devices_a_node)
    started = devices * max(1, loading.workers or 0)
    return float(min(started, machine.host_cores or started))


def _rates(loading: Loading, workers: float) -> Mapping[str, float]:
    rates: dict[str, float] = {}
    if loading.samples_per_second:
        rates[LOADER] = loading.samples_per_second
    if loading.storage_bytes_per_second and loading.bytes_a_sample:
        rates[STORAGE] = loading.storage_bytes_per_second / loading.bytes_a_sample
    if loading.core_seconds_a_sample:
        rates[PREPARING] = workers / loading.core_seconds_a_sample
    return rates
