"""Predicts what will limit a training on this machine, from its measured rates and the work."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from flyball.host.hardware_parts import GpuSpeed, HostBenchmarks, HostMemory, HostProcessor, WorkingFolder
from flyball.host.learner_work import HostWork
from flyball.host.swap_areas import typical_speed
from flyball_planner.recommend.database import HOT_SHARE
from flyball_planner.recommend.service import SYSTEM_BYTES
from flyball_reports.figures import duration, percent, size

CPU, DATABASE, DISK, NETWORK, MEMORY, GPU = "cpu", "database", "disk", "network", "memory", "gpu"

TYPICAL_PATTERNS = 500_000.0
"""Patterns per second that Python counts on one core, where it was not measured: 0.4 to 0.9 million were measured."""

MEMORY_FULL = 0.9
"""From this share of the available memory on, memory limits: the kernel drops the page cache, then it swaps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostRates:
    """The work that the machine does per second. None is unknown; `assumed` names rates that were not measured."""

    cpus: float = 1.0
    patterns: float = TYPICAL_PATTERNS
    lookups: float | None = None
    inserts: float | None = None
    disk_read_bytes: float | None = None
    disk_write_bytes: float | None = None
    random_reads: float | None = None
    round_trip_seconds: float | None = None
    """One call of the service."""
    available_bytes: float | None = None
    device_flops: Mapping[str, float] = field(default_factory=dict)
    """FLOP/s of all GPUs by precision."""
    assumed: frozenset[str] = frozenset()
    reasons: Mapping[str, str] = field(default_factory=dict)
    """Why a resource has no rate."""

    @classmethod
    def of(
        cls,
        processor: HostProcessor,
        memory: HostMemory,
        folder: WorkingFolder | None,
        benchmarks: HostBenchmarks | None,
        unavailable: Mapping[str, str],
    ) -> "HostRates":
        """Return the rates of a profile; typical ones of the kind of disk where nothing was measured."""
        measured = benchmarks or HostBenchmarks()
        disk, mongo, speed = measured.disk, measured.mongo, measured.processor
        trip = measured.network.service_ms if measured.network else None
        typical = typical_speed(folder.kind if folder else None)
        usual = None if typical is None else typical * 1e6
        guessed = {CPU: speed is None, DISK: disk is None and usual is not None}
        return cls(
            cpus=processor.usable_cpus or float(processor.logical_cpus or 1),
            patterns=speed.python_patterns_per_second if speed else TYPICAL_PATTERNS,
            lookups=mongo.queries_per_second if mongo else None,
            inserts=mongo.single_inserts_per_second if mongo else None,
            disk_read_bytes=(disk.read_mb_per_second or disk.write_mb_per_second) * 1e6 if disk else usual,
            disk_write_bytes=disk.write_mb_per_second * 1e6 if disk else usual,
            random_reads=disk.random_reads_per_second if disk else None,
            round_trip_seconds=None if trip is None else trip / 1e3,
            available_bytes=float(memory.available_bytes) if memory.available_bytes else None,
            device_flops=_device_flops(measured.gpus),
            assumed=frozenset(name for name, is_guess in guessed.items() if is_guess),
            reasons={
                DATABASE: unavailable.get("benchmarks.mongo", "MongoDB was not measured"),
                DISK: unavailable.get("benchmarks.disk", "the disk was not measured, and its kind is unknown"),
                NETWORK: unavailable.get("benchmarks.network.service_ms", "the service was not measured"),
                MEMORY: "the available memory is unknown",
                GPU: unavailable.get("benchmarks.gpus", "the GPUs were not measured"),
            },
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceDemand:
    """The work of one resource for the training."""

    resource: str
    seconds: float | None
    """The time that it needs alone; None if its rate is unknown, and for memory."""
    share: float | None = None
    """For memory: what is needed of what is available."""
    because: str
    measured: bool = True
    """False if a typical rate was used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BottleneckForecast:
    """The resource that will limit a training on this machine, and its reasons."""

    primary: str | None
    """cpu, database, disk, network, memory or gpu; None if no rate is known."""
    reason: str
    seconds: float
    """The time of the training: its parts one after the other, as a worker waits for each of them."""
    confidence: float | None
    """The share of the primary resource in this time."""
    demands: tuple[ResourceDemand, ...]
    """All resources that the training needs, the largest first."""
    unknown: Mapping[str, str]
    """Resources whose rate is unknown, with the reason. One of them may be the real limit."""


def forecast_bottleneck(rates: HostRates, work: HostWork) -> BottleneckForecast:
    """Return the resource that takes most of the time, or memory if it will not suffice."""
    parts = (_cpu, _database, _disk, _network, _memory, _gpu)
    demands = [each for part in parts if (each := part(rates, work)) is not None]
    unknown = {each.resource: each.because for each in demands if each.seconds is None and each.share is None}
    known = sorted((each for each in demands if each.resource not in unknown), key=_urgency)
    total = sum(each.seconds or 0.0 for each in known)
    if not known:
        reason = "; ".join(unknown.values()) or "the training has no work"
        return BottleneckForecast(
            primary=None, reason=reason, seconds=0.0, confidence=None, demands=(), unknown=unknown
        )
    first = known[0]
    confidence = first.seconds / total if first.seconds is not None and total else 1.0
    return BottleneckForecast(
        primary=first.resource,
        reason=first.because,
        seconds=total,
        confidence=confidence,
        demands=tuple(known),
        unknown=unknown,
    )


def _urgency(demand: ResourceDemand) -> tuple[int, float]:
    """Return a sort key: memory that will not suffice, then what takes longest, then memory that will."""
    if demand.share is not None:
        return (0 if demand.share >= MEMORY_FULL else 2, -demand.share)
    return (1, -(demand.seconds or 0.0))


def _cpu(rates: HostRates, work: HostWork) -> ResourceDemand | None:
    if not work.cpu_patterns:
        return None
    workers = max(1.0, min(float(work.workers), rates.cpus))
    rate = rates.patterns * workers / work.pattern_cost
    seconds = work.cpu_patterns / rate
    how = "a worker counts" if workers <= 1 else f"{workers:g} workers count"
    because = (
        f"{work.cpu_patterns:,.0f} patterns take {duration(seconds)} of CPU time: {how} "
        f"{rate:,.0f} per second{_marked(CPU, rates)}"
    )
    return ResourceDemand(resource=CPU, seconds=seconds, because=because, measured=CPU not in rates.assumed)


def _database(rates: HostRates, work: HostWork) -> ResourceDemand | None:
    calls = work.database_lookups + work.database_writes
    if not calls:
        return None
    if rates.lookups is None or rates.inserts is None:
        return ResourceDemand(resource=DATABASE, seconds=None, because=rates.reasons.get(DATABASE, "not measured"))
    workers = max(1.0, min(float(work.workers), rates.cpus))
    seconds = (work.database_lookups / rates.lookups + work.database_writes / rates.inserts) / workers
    because = (
        f"{work.database_lookups:,.0f} look-ups and {work.database_writes:,.0f} writes take {duration(seconds)}: "
        f"MongoDB answers {rates.lookups:,.0f} look-ups and {rates.inserts:,.0f} single writes per second"
    )
    return ResourceDemand(resource=DATABASE, seconds=seconds, because=because)


def _disk(rates: HostRates, work: HostWork) -> ResourceDemand | None:
    misses = work.database_lookups * missed_share(work, rates.available_bytes)
    if not (work.read_bytes or work.written_bytes or misses):
        return None
    if rates.disk_read_bytes is None or rates.disk_write_bytes is None:
        return ResourceDemand(resource=DISK, seconds=None, because=rates.reasons.get(DISK, "not measured"))
    streamed = work.read_bytes / rates.disk_read_bytes + work.written_bytes / rates.disk_write_bytes
    sought = misses / rates.random_reads if misses and rates.random_reads else 0.0
    parts = [f"{size(work.read_bytes)} read at {rates.disk_read_bytes / 1e6:,.0f} MB/s"] if work.read_bytes else []
    if work.written_bytes:
        parts.append(f"{size(work.written_bytes)} written at {rates.disk_write_bytes / 1e6:,.0f} MB/s")
    if sought:
        parts.append(f"{misses:,.0f} look-ups beyond the database's cache at {rates.random_reads:,.0f} per second")
    because = f"{' and '.join(parts)} take {duration(streamed + sought)}{_marked(DISK, rates)}"
    return ResourceDemand(resource=DISK, seconds=streamed + sought, because=because, measured=DISK not in rates.assumed)


def _network(rates: HostRates, work: HostWork) -> ResourceDemand | None:
    """Return the time of the calls. Workers wait at the same time, also if they are more than the CPUs."""
    if not work.service_calls:
        return None
    if rates.round_trip_seconds is None:
        return ResourceDemand(resource=NETWORK, seconds=None, because=rates.reasons.get(NETWORK, "not measured"))
    seconds = work.service_calls * rates.round_trip_seconds / max(1, work.workers)
    at_once = f", {work.workers} at once," if work.workers > 1 else ""
    because = (
        f"{work.service_calls:,.0f} calls of the service{at_once} take {duration(seconds)}: "
        f"{duration(rates.round_trip_seconds)} each"
    )
    return ResourceDemand(resource=NETWORK, seconds=seconds, because=because)


def missed_share(work: HostWork, available_bytes: float | None) -> float:
    """Return the share of look-ups that the database's cache does not answer.

    The cache takes half of the memory that the system leaves. Data that fit into it are all in it; a cache for 90 % of
    the accesses misses 10 %; a smaller one misses in proportion.
    """
    if not work.database_bytes or available_bytes is None:
        return 0.0
    cache = max(0.0, (available_bytes - SYSTEM_BYTES) / 2)
    if cache >= work.database_bytes:
        return 0.0
    hot = min(work.cache_bytes, work.database_bytes)
    if cache < hot:
        return 1 - HOT_SHARE * cache / hot
    return (1 - HOT_SHARE) * (work.database_bytes - cache) / max(work.database_bytes - hot, 1.0)


def _memory(rates: HostRates, work: HostWork) -> ResourceDemand | None:
    if not work.resident_bytes:
        return None
    if rates.available_bytes is None:
        return ResourceDemand(resource=MEMORY, seconds=None, because=rates.reasons.get(MEMORY, "not measured"))
    share = work.resident_bytes / rates.available_bytes
    because = f"{size(work.resident_bytes)} of {size(rates.available_bytes)} available memory ({percent(share)})"
    return ResourceDemand(resource=MEMORY, seconds=None, share=share, because=because)


def _gpu(rates: HostRates, work: HostWork) -> ResourceDemand | None:
    if not work.device_flops:
        return None
    rate = rates.device_flops.get(work.precision) or rates.device_flops.get("fp32")
    if rate is None:
        return ResourceDemand(resource=GPU, seconds=None, because=rates.reasons.get(GPU, "not measured"))
    seconds = work.device_flops / rate
    because = f"matrix products take {duration(seconds)} at the measured {rate / 1e12:,.0f} TFLOP/s"
    return ResourceDemand(resource=GPU, seconds=seconds, because=because)


def _device_flops(gpus: tuple[GpuSpeed, ...]) -> dict[str, float]:
    names = {name for gpu in gpus for name in gpu.matmul_tflops}
    return {name: sum(gpu.matmul_tflops.get(name, 0.0) for gpu in gpus) * 1e12 for name in sorted(names)}


def _marked(resource: str, rates: HostRates) -> str:
    return " (a typical rate; measure it)" if resource in rates.assumed else ""
