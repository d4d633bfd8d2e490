"""Machines and a database for a hierarchical learner that is limited by a service."""

from math import ceil

from msgspec import Struct

from flyball_planner.interval import Interval
from flyball_planner.recommend.database import Database, size_database
from flyball_planner.recommend.demand import WORKERS_A_MACHINE, Demand
from flyball_planner.recommend.disks import Disks, choose_disks
from flyball_planner.recommend.hosts import HostOption, host_options
from flyball_planner.storage.estimator import StorageEstimator
from flyball_reports.figures import duration

SYSTEM_BYTES = 4 * 2**30  # the operating system needs 2 to 4 GB
WORKER_BYTES = 2**30  # per worker with its tokenizer and batch; assumed
MEMORY_REASON = "each worker needs a core and 1 GiB, each machine 4 GiB for its system (assumed)"


class Service(Struct, frozen=True):
    """The requirements of such a training."""

    machines: Interval
    cores: Interval
    ram_bytes: Interval
    seconds: Interval  # with the middle number of machines
    disks: Disks
    database: Database
    hosts: tuple[HostOption, ...]  # for the workers
    database_hosts: tuple[HostOption, ...]
    reasons: tuple[str, ...]
    warnings: tuple[str, ...]


def size_service(demand: Demand, estimator: StorageEstimator) -> Service:
    """Return enough machines to process the samples in time."""
    machines = _machines(demand)
    count = int(machines.middle)
    seconds = demand.seconds_per_sample.times(demand.samples / count)
    hours = seconds.times(1 / 3600)
    estimate = estimator.estimate_storage(demand.samples, demand.tokens_per_sample)
    database = size_database(estimate, demand, seconds)
    kept = database.disk_bytes + Interval.exactly(demand.data_bytes)
    ram = SYSTEM_BYTES + WORKERS_A_MACHINE * WORKER_BYTES
    servers, reads = database.shards or 1, demand.data_bytes / demand.seconds
    return Service(
        machines=machines,
        cores=machines.times(WORKERS_A_MACHINE) + Interval.exactly(database.cores),
        ram_bytes=machines.times(ram) + database.ram_bytes,
        seconds=seconds,
        disks=choose_disks(kept, reads, operations_per_second=database.writes_per_second.middle),
        database=database,
        hosts=tuple(host_options(count, WORKERS_A_MACHINE, ram, hours)),
        database_hosts=tuple(host_options(servers, database.cores, database.ram_bytes.high / servers, hours)),
        reasons=(_why(demand, count), MEMORY_REASON, *database.because, *estimate.reasons),
        warnings=_warnings(demand, seconds),
    )


def _machines(demand: Demand) -> Interval:
    span = demand.seconds_per_sample
    return Interval(*(max(1.0, ceil(demand.samples * s / demand.seconds)) for s in (span.low, span.middle, span.high)))


def _why(demand: Demand, machines: int) -> str:
    span = demand.seconds_per_sample
    each = f"{demand.samples:,} samples at {span.low:g} to {span.high:g} s"
    time = duration(demand.seconds)
    return f"{each} in {time}: {machines} machines with {WORKERS_A_MACHINE} workers, each with its own session"


def _warnings(demand: Demand, seconds: Interval) -> tuple[str, ...]:
    if seconds.high <= demand.seconds:
        return ()
    slowest = f"at {demand.seconds_per_sample.high:g} s per sample"
    return (f"{slowest} the run takes {duration(seconds.high)} instead of {duration(demand.seconds)}",)
