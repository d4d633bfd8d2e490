"""Runs the benchmarks one after the other. One that fails leaves its reason, and the next one runs."""

import time
from collections.abc import Callable, Sequence
from typing import Any

from flyball.host.benchmarks.benchmark_names import (
    DISK,
    GPUS,
    MEMORY,
    MONGO,
    NETWORK,
    PROCESSOR,
    BenchmarkFailed,
    BenchmarkProgress,
)
from flyball.host.benchmarks.benchmark_targets import BenchmarkTargets
from flyball.host.hardware_parts import HostBenchmarks
from flyball.host.hardware_profile import HardwareProfile
from flyball.host.reasons import Reasons

Progress = Callable[[BenchmarkProgress], None]
_NOT_CHOSEN = "this benchmark was not chosen"


def run_benchmarks(
    profile: HardwareProfile, targets: BenchmarkTargets, names: Sequence[str], progress: Progress | None = None
) -> tuple[HostBenchmarks, Reasons]:
    """Return the measured speeds, and the reasons of those that could not be measured."""
    measured: dict[str, Any] = {}
    seconds: dict[str, float] = {}
    every = (MONGO, DISK, MEMORY, PROCESSOR, NETWORK, GPUS)
    reasons: Reasons = {f"benchmarks.{name}": _NOT_CHOSEN for name in every if name not in names}
    for number, name in enumerate(names, 1):
        if progress is not None:
            progress(BenchmarkProgress(name, number, len(names)))
        started = time.monotonic()
        reason = None
        try:
            measured[name] = _measure(name, profile, targets, reasons)
        except BenchmarkFailed as error:
            reason = str(error)
        except Exception as error:  # noqa: BLE001  one benchmark must not cost the others
            reason = f"{type(error).__name__}: {error}"
        seconds[name] = time.monotonic() - started
        if reason is not None:
            reasons[f"benchmarks.{name}"] = reason
        if progress is not None:
            progress(BenchmarkProgress(name, number, len(names), seconds[name], reason))
    return HostBenchmarks(**measured, seconds=seconds), reasons


def _measure(name: str, profile: HardwareProfile, targets: BenchmarkTargets, reasons: Reasons) -> object:
    """Run one benchmark. Its module is imported only now: numpy and pymongo take a while."""
    threads = max(1, int(profile.processor.usable_cpus or 1))
    if name == MONGO:
        from flyball.host.benchmarks.mongo_benchmark import measure_mongo

        return measure_mongo(targets.mongodb_url)
    if name == DISK:
        from flyball.host.benchmarks.disk_benchmark import measure_disk

        folder = profile.folder
        return measure_disk(folder.path if folder else ".", in_memory=folder is not None and folder.kind == "memory")
    if name == MEMORY:
        from flyball.host.benchmarks.memory_benchmark import measure_memory

        return measure_memory(threads, profile.memory.available_bytes, profile.processor.last_level_cache_bytes)
    if name == PROCESSOR:
        from flyball.host.benchmarks.processor_benchmark import measure_processor

        limits, cpus = profile.limits.cpus, profile.processor.logical_cpus
        return measure_processor(threads, quota=limits is not None and (cpus is None or limits < cpus))
    if name == NETWORK:
        from flyball.host.benchmarks.network_benchmark import measure_network

        return measure_network(targets.service_url, targets.download_url, reasons)
    from flyball.host.benchmarks.gpu_benchmark import measure_gpus

    return measure_gpus(profile.gpus, reasons)
