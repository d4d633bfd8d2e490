"""The figures of a host that are scored, each with where it comes from."""

from collections.abc import Iterator

from msgspec import Struct

from flyball.host.hardware_parts import GpuSpeed, HostGpu
from flyball.host.hardware_profile import HardwareProfile
from flyball.host_review.host_devices import (
    MEMORY_SHARE,
    catalogue_device,
    clock_is_assumed,
    memory_bandwidth,
    processor_rate,
    sixteen_bit_rate,
)
from flyball.host_review.score_scales import (
    CORES,
    DISK_OPERATIONS,
    DISK_RATE,
    DISK_SPACE,
    MEMORY_BANDWIDTH,
    MEMORY_SIZE,
    NETWORK_RATE,
    TRAINING_BANDWIDTH,
    TRAINING_MEMORY,
    TRAINING_RATE,
    VECTOR_RATE,
    ScoreScale,
)
from flyball_planner.configurations.streaming import HABITS, Disk
from flyball_planner.timing.best_rates import achieved

MEASURED, TYPICAL, PRINTED, REPORTED = "measured", "typical", "data sheet", "reported by the system"
ASSUMED = "assumed clock"
DISK_KINDS = {each.value: each for each in Disk}
WIRED = frozenset({"ethernet", "infiniband", "wireless"})


class ScoreFigure(Struct, frozen=True):
    """A figure on its scale."""

    name: str
    value: float
    unit: str
    score: float
    source: str
    between: str  # the machines next to it


def _figure(scale: ScoreScale, value: float | None, source: str) -> Iterator[ScoreFigure]:
    if value is not None:
        yield ScoreFigure(scale.name, value, scale.unit, scale.score(value), source, scale.neighbours(value))


def gpu_figures(profile: HardwareProfile) -> Iterator[ScoreFigure]:
    """Yield arithmetic, memory and bandwidth of all GPUs together."""
    if not profile.gpus:
        return
    speeds = {each.index: each for each in profile.benchmarks.gpus} if profile.benchmarks else {}
    rates = [_gpu_rate(each, speeds.get(each.index)) for each in profile.gpus]
    known = [rate for rate in rates if rate is not None]
    yield from _figure(TRAINING_RATE, sum(known) if known else None, MEASURED if speeds else PRINTED)
    sizes = [each.memory_bytes for each in profile.gpus if each.memory_bytes]
    yield from _figure(TRAINING_MEMORY, float(sum(sizes)) if sizes else None, REPORTED)
    widths = [width for each in profile.gpus if (width := _gpu_bandwidth(each, speeds.get(each.index))) is not None]
    yield from _figure(TRAINING_BANDWIDTH, sum(widths) if widths else None, MEASURED if speeds else PRINTED)


def _gpu_rate(gpu: HostGpu, speed: GpuSpeed | None) -> float | None:
    """Return the printed 16-bit rate; a measured one is divided by the share that products reach on this model."""
    device = catalogue_device(gpu.catalogue_name)
    measured = max((speed.matmul_tflops.get(name, 0.0) for name in ("bf16", "fp16")), default=0.0) if speed else 0.0
    if measured:
        return measured * 1e12 / (achieved(device).wide if device else MEMORY_SHARE)
    return sixteen_bit_rate(device) if device else None


def _gpu_bandwidth(gpu: HostGpu, speed: GpuSpeed | None) -> float | None:
    if speed and speed.device_memory_gb_per_second:
        return speed.device_memory_gb_per_second * 1e9 / MEMORY_SHARE
    device = catalogue_device(gpu.catalogue_name)
    return device.memory_bytes_per_second if device else None


def trainer_figures(profile: HardwareProfile) -> Iterator[ScoreFigure]:
    """Yield arithmetic and memory bandwidth of the processor as the device to train on.

    The arithmetic is that in fp32, in which the configurations train on processors.
    """
    rate = processor_rate(profile)
    if rate is not None:
        yield from _figure(TRAINING_RATE, rate, _rate_source(profile))
        yield from _figure(TRAINING_BANDWIDTH, memory_bandwidth(profile), _bandwidth_source(profile))


def processor_figures(profile: HardwareProfile) -> Iterator[ScoreFigure]:
    """Yield the usable cores and their arithmetic."""
    cores = profile.cpu_cores
    yield from _figure(CORES, None if cores is None else float(cores), REPORTED)
    yield from _figure(VECTOR_RATE, processor_rate(profile), _rate_source(profile))


def _rate_source(profile: HardwareProfile) -> str:
    if profile.benchmarks is not None and profile.benchmarks.processor is not None:
        return MEASURED
    return ASSUMED if clock_is_assumed(profile) else PRINTED


def memory_figures(profile: HardwareProfile) -> Iterator[ScoreFigure]:
    """Yield the usable memory and its bandwidth."""
    usable = profile.memory.usable_bytes
    yield from _figure(MEMORY_SIZE, None if usable is None else float(usable), REPORTED)
    yield from _figure(MEMORY_BANDWIDTH, memory_bandwidth(profile), _bandwidth_source(profile))


def _bandwidth_source(profile: HardwareProfile) -> str:
    return MEASURED if profile.benchmarks is not None and profile.benchmarks.memory is not None else PRINTED


def disk_figures(profile: HardwareProfile) -> Iterator[ScoreFigure]:
    """Yield the speed of the working folder's disk, or what is typical of its kind, and the space of all disks."""
    measured = profile.benchmarks.disk if profile.benchmarks else None
    kind = disk_kind(profile)
    habits = HABITS[DISK_KINDS[kind]] if kind else None
    typical = f"{TYPICAL} of {kind}" if kind else ""
    if measured and measured.read_mb_per_second:
        yield from _figure(DISK_RATE, measured.read_mb_per_second * 1e6, MEASURED)
    elif habits:
        yield from _figure(DISK_RATE, habits.bytes_per_second, typical)
    if measured and measured.random_reads_per_second:
        yield from _figure(DISK_OPERATIONS, measured.random_reads_per_second, MEASURED)
    elif habits:
        yield from _figure(DISK_OPERATIONS, habits.random_reads_per_second, typical)
    space = sum(each.bytes for each in profile.disks if each.bytes)
    yield from _figure(DISK_SPACE, float(space) if space else None, REPORTED)


def disk_kind(profile: HardwareProfile) -> str:
    """Return the kind of the working folder's disk if its speed follows from it, else the fastest kind of the host."""
    if profile.folder and profile.folder.kind in DISK_KINDS:
        return profile.folder.kind
    kinds = [each.kind for each in profile.disks if each.kind in DISK_KINDS]
    return max(kinds, key=lambda kind: HABITS[DISK_KINDS[kind]].bytes_per_second, default="")


def network_figures(profile: HardwareProfile) -> Iterator[ScoreFigure]:
    """Yield the rate of all links together."""
    rates = [each.megabits_per_second for each in profile.networks if each.kind in WIRED and each.megabits_per_second]
    yield from _figure(NETWORK_RATE, sum(rates) * 1e6 if rates else None, REPORTED)
