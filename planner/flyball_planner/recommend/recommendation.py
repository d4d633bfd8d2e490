"""Recommends hardware for a data set and a desired time, with reasons, intervals and dated prices."""

from collections.abc import Callable, Sequence
from math import isfinite

from msgspec import Struct
from msgspec.structs import replace

from flyball_planner.catalogue.hardware import TrainingMachine
from flyball_planner.interval import Interval
from flyball_planner.models.cost import ModelCost
from flyball_planner.plan.context import PlanContext, empty_context
from flyball_planner.plan.subject import Subject
from flyball_planner.recommend.classical import PROCESSOR, fit_options
from flyball_planner.recommend.database import Database
from flyball_planner.recommend.demand import Demand
from flyball_planner.recommend.devices import DeviceOption, device_options
from flyball_planner.recommend.disks import Disks, StoragePrice, choose_disks, storage_prices
from flyball_planner.recommend.hosts import HostOption
from flyball_planner.recommend.service import SYSTEM_BYTES, size_service
from flyball_planner.storage.estimator import StorageEstimator
from flyball_planner.timing.training_run import CHECKPOINT_BYTES_PER_SECOND
from flyball_planner.training import Training
from flyball_reports.errors import InputError
from flyball_reports.figures import duration, percent, plural

CORES_A_DEVICE = Interval(4.0, 6.0, 12.0)
"""Common advice for training machines is at least four; AWS has 6 per A100 (p4d) and 12 per H100 (p5)."""

RAM_A_DEVICE_MEMORY = Interval(1.0, 1.5, 3.2)
"""At least the devices' memory (stas00/ml-engineering, compute/cpu-memory); clouds have 3.2 times as much (p4d, p5)."""

CHECKPOINTS_KEPT = Interval(2.0, 3.0, 5.0)
"""At least the last two, because a crash while writing must not destroy both. Assumed."""


class HardwareRecommendation(Struct, frozen=True):
    """The recommended hardware, with its needs and reasons."""

    demand: Demand
    cores: Interval
    ram_bytes: Interval
    disks: Disks
    database: Database | None  # for learners that store patterns in MongoDB
    devices: tuple[DeviceOption, ...]  # best first; empty if none is needed
    hosts: tuple[HostOption, ...]  # machines without accelerators, cheapest first
    database_hosts: tuple[HostOption, ...]
    hours: Interval
    storage_prices: tuple[StoragePrice, ...]
    reasons: tuple[str, ...]
    warnings: tuple[str, ...]

    @property
    def usd(self) -> Interval | None:
        """Return the cost of the first choice and its storage; None without a known price."""
        first = self.devices[0].bill if self.devices else None
        run = (first.on_demand_usd or first.spot_usd) if first else None
        parts = [run] if run else [each[0].usd for each in (self.hosts, self.database_hosts) if each]
        return sum(parts, start=Interval.exactly(self.storage_prices[0].usd)) if parts else None


def recommend(
    demand: Demand | None = None,
    subject: Subject | None = None,
    training: Training | None = None,
    devices: Sequence[str] = (),
    estimator: StorageEstimator | None = None,
    context_for: Callable[[TrainingMachine], PlanContext] = empty_context,
    *,
    samples: int | None = None,
    hours: float | None = None,
) -> HardwareRecommendation:
    """Recommend accelerators for a network, a machine for a classical model, or machines for a hierarchical learner.

    `samples` and `hours` are short for a demand without further details; a training has its own samples.

    >>> recommend(samples=1_000_000, hours=48).demand.hours
    48.0

    >>> from flyball_planner.models.families import model_cost
    >>> demand = Demand(samples=10_000_000, hours=1)
    >>> found = recommend(demand, model_cost("xgboost_like", {"n": 10_000_000, "p": 50, "trees": 500}))
    >>> found.hosts[0].description()
    '$0.11 for 33 min 8 s with 1 × Azure Standard_D4s_v5, eastus, undated'
    """
    if demand is None:
        demand = _demand(samples, hours, training)
    elif samples is not None or hours is not None:
        raise InputError("recommend: samples and hours are part of the demand; pass either the demand or these")
    if subject is None:
        return _for_service(demand, estimator or StorageEstimator())
    if isinstance(subject, ModelCost) and not subject.trained_by_gradient:
        return _for_classical(demand, subject)
    if training is None:
        raise InputError("the time depends on the training: pass its settings too (batch, sequence, optimizer)")
    return _for_model(demand, tuple(device_options(subject, training, demand, devices, context_for)))


def _demand(samples: int | None, hours: float | None, training: Training | None) -> Demand:
    """Return the demand of some samples, or of a training's, in a time."""
    wanted = (training.samples or None) if samples is None and training is not None else samples
    given = {"samples": wanted, "hours": hours}
    for key, value in given.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
            got = "is missing" if value is None else f"must be a number, not {value!r}"
            raise InputError(f"recommend: {key} {got}; call it as in recommend(samples=1_000_000, hours=48)")
    known = Demand(int(wanted or 0), float(hours or 0))
    return known if training is None else replace(known, tokens_per_sample=float(training.sequence))


def _for_classical(demand: Demand, model: ModelCost) -> HardwareRecommendation:
    hosts, ram = fit_options(model, demand.hours)
    if not hosts:
        raise InputError(f"{model.model} needs {ram.middle / 1e9:,.0f} GB, more than any known machine has")
    first = hosts[0]
    late = f"no known machine is done in {duration(demand.seconds)}; this is the cheapest"
    disks = choose_disks(Interval.exactly(demand.data_bytes), demand.data_bytes / (first.hours.middle * 3600))
    return HardwareRecommendation(
        demand=demand,
        cores=Interval.exactly(first.cores),
        ram_bytes=ram + Interval.exactly(SYSTEM_BYTES),
        disks=disks,
        database=None,
        devices=(),
        hosts=tuple(hosts),
        database_hosts=(),
        hours=first.hours,
        storage_prices=tuple(storage_prices(disks.needed.middle, demand.storage_months)),
        reasons=(
            first.description(),
            f"implementation: {model.implementation}",
            f"all machines are assumed to have {PROCESSOR}",
        ),
        warnings=(late,) if first.hours.middle > demand.hours else (),
    )


def _for_service(demand: Demand, estimator: StorageEstimator) -> HardwareRecommendation:
    found = size_service(demand, estimator)
    return HardwareRecommendation(
        demand=demand,
        cores=found.cores,
        ram_bytes=found.ram_bytes,
        disks=found.disks,
        database=found.database,
        devices=(),
        hosts=found.hosts,
        database_hosts=found.database_hosts,
        hours=found.seconds.times(1 / 3600),
        storage_prices=tuple(storage_prices(found.disks.needed.middle, demand.storage_months)),
        reasons=(*found.reasons, found.disks.because),
        warnings=found.warnings,
    )


def _for_model(demand: Demand, options: tuple[DeviceOption, ...]) -> HardwareRecommendation:
    if not options:
        raise InputError("the training fits on none of the devices; allow other devices, a smaller batch or LoRA")
    first = options[0]
    count = float(first.count)
    memory = first.device.memory_bytes * count
    disks = _disks(demand, first)
    return HardwareRecommendation(
        demand=demand,
        cores=CORES_A_DEVICE.times(count),
        ram_bytes=RAM_A_DEVICE_MEMORY.times(memory) + Interval.exactly(SYSTEM_BYTES * first.judged.machine.nodes),
        disks=disks,
        database=None,
        devices=options,
        hosts=(),
        database_hosts=(),
        hours=first.hours,
        storage_prices=tuple(storage_prices(disks.needed.middle, demand.storage_months)),
        reasons=tuple(_reasons(first, disks)),
        warnings=_warnings(demand, first),
    )


def _disks(demand: Demand, first: DeviceOption) -> Disks:
    kept = CHECKPOINTS_KEPT.times(first.whole.checkpoint_bytes) + Interval.exactly(demand.data_bytes)
    reads = demand.data_bytes / first.whole.seconds.middle / first.judged.machine.nodes
    return choose_disks(kept, reads, CHECKPOINT_BYTES_PER_SECOND)  # the run's time is estimated with this rate


def _reasons(first: DeviceOption, disks: Disks) -> list[str]:
    judged = first.judged
    cores, memory, saved = CORES_A_DEVICE, RAM_A_DEVICE_MEMORY, first.whole.checkpoint_bytes / 1e9
    reasons = [
        first.description(),
        f"{plural(judged.layout.data, 'replica')}, using {percent(judged.memory_share)} of each device's memory",
        f"cores: {cores.low:g} to {cores.high:g} per device for data loading",
        f"host memory: {memory.low:g} to {memory.high:g} times that of the devices, for loading and checkpoints",
        f"storage: the data, {CHECKPOINTS_KEPT.middle:g} checkpoints of {saved:,.1f} GB, and free space",
        disks.because,
    ]
    return [*reasons, *judged.machine.assumptions]


def _warnings(demand: Demand, first: DeviceOption) -> tuple[str, ...]:
    warnings = []
    if not first.in_time:
        warnings.append(f"no number of devices is done in {duration(demand.seconds)}; this is the fastest")
    elif first.hours.high > demand.hours:
        longest = duration(3600 * first.hours.high)
        warnings.append(f"the run may take up to {longest} instead of {duration(demand.seconds)}")
    if first.bill is None:
        warnings.append(f"the price of {first.device.name} is unknown")
    return tuple(warnings)
