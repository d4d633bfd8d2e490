"""Collects the samples of a profile and makes the summary. Sums are exact; snapshots are thinned to a fixed number."""

import math
from collections.abc import Mapping, Sequence

from flyball.profiling.machine_reading import core_percents, largest_write_rate, machine_percent
from flyball.profiling.profile_scores import ResourceUse, base_scores
from flyball.profiling.profiling_summary import ProfilingSummary
from flyball.profiling.resource_snapshot import MEGABYTE, ResourceSnapshot
from flyball.profiling.sampler import ProfileSample
from flyball.profiling.thinned_list import ThinnedList
from flyball_planner.base_formula import base_bottleneck

MOST_SNAPSHOTS = 3600
MOST_LATENCIES = 10_000


class ProfileRecord:
    """The samples of one profile."""

    def __init__(self, sampling_interval: float, allowed_cpus: float | None) -> None:
        self._interval = sampling_interval
        self._allowed_cpus = allowed_cpus
        self._first: ProfileSample | None = None
        self._last: ProfileSample | None = None
        self._snapshots: ThinnedList[ResourceSnapshot] = ThinnedList(MOST_SNAPSHOTS)
        self._latencies: dict[str, ThinnedList[float]] = {
            name: ThinnedList(MOST_LATENCIES) for name in ("api", "localhost")
        }
        self._latency_sums = dict.fromkeys(self._latencies, 0.0)
        self._memory_seconds = self._memory_known_seconds = 0.0
        self._any_memory: float | None = None  # if there are no two samples to average
        self._peaks: dict[str, float] = {}
        self._unavailable: dict[str, str] = {}
        self._measured: set[str] = set()
        self.cpu_cost_seconds = 0.0

    def add(self, sample: ProfileSample) -> None:
        """Add the next sample."""
        snapshot, before = sample.snapshot, self._last
        self._first = self._first or sample
        self._last = sample
        self._snapshots.add(snapshot)
        self._add_peaks(sample)
        self._add_memory(before.snapshot if before else None, snapshot)
        for name, seconds in (
            ("api", snapshot.api_latency_seconds),
            ("localhost", snapshot.localhost_latency_seconds),
        ):
            if seconds is not None:
                self._latencies[name].add(seconds)
                self._latency_sums[name] += seconds
                self._measured.add(f"{name}_latency")
        self._unavailable.update(sample.unavailable)

    def add_peak(self, resident_bytes: float) -> None:
        """Add a peak of resident memory that the kernel has kept, which may lie between two samples."""
        self._raise("memory", resident_bytes)

    def add_reason(self, name: str, reason: str) -> None:
        """Add the reason why something is unknown."""
        self._unavailable[name] = reason

    def snapshots(self) -> list[ResourceSnapshot]:
        """Return an even selection of the snapshots, with the newest."""
        kept = self._snapshots.items()
        if self._last is not None and (not kept or kept[-1] is not self._last.snapshot):
            kept.append(self._last.snapshot)
        return kept

    def summary(
        self,
        samples: int | None = None,
        items: Mapping[str, float] | None = None,
        rates: Mapping[str, float] | None = None,
    ) -> ProfilingSummary:
        """Return the summary so far. `items` and `rates` are those of levels; items replace a known rate."""
        first, last = self._first, self._last
        if first is None or last is None:
            return ProfilingSummary(0.0, self._interval, 0, samples, unavailable=dict(self._unavailable))
        seconds = last.snapshot.elapsed_seconds - first.snapshot.elapsed_seconds
        scores = base_scores(self._use(first, last, seconds))
        primary, confidence = base_bottleneck(scores)
        cpu_seconds = last.consumed.cpu_seconds
        start, peak = first.snapshot.memory_bytes, self._peaks.get("memory")
        growth = None if start is None or peak is None else max(peak - start, 0.0)
        gpu = self._peaks.get("tree_gpu", self._peaks.get("gpu"))
        return ProfilingSummary(
            duration_seconds=seconds,
            sampling_interval=self._interval,
            snapshots=len(self._snapshots),
            samples=samples,
            peak_memory_mb=_megabytes(peak),
            memory_avg_mb=_megabytes(self._mean_memory()),
            memory_per_sample_mb=_megabytes(growth / samples) if samples and growth is not None else None,
            cpu_seconds=cpu_seconds,
            cpu_avg_percent=100 * cpu_seconds / seconds if seconds > 0 else None,
            machine_cpu_avg_percent=machine_percent(first.machine, last.machine),
            cpu_avg_percent_per_core=core_percents(first.machine, last.machine),
            allowed_cpus=self._allowed_cpus,
            machine_memory_peak_percent=self._peaks.get("machine_memory"),
            disk_read_bytes=last.snapshot.disk_read_bytes,
            disk_write_bytes=last.snapshot.disk_write_bytes,
            disk_read_operations=last.snapshot.disk_read_operations,
            disk_write_operations=last.snapshot.disk_write_operations,
            api_latency_ms=self._mean_latency("api"),
            api_latency_p95_ms=self._latency_p95("api"),
            localhost_latency_ms=self._mean_latency("localhost"),
            localhost_latency_p95_ms=self._latency_p95("localhost"),
            peak_gpu_memory_mb=_megabytes(gpu),
            peak_processes=int(self._peaks.get("processes", 0)),
            peak_threads=int(self._peaks.get("threads", 0)),
            learning_rate_per_level=dict(rates or {}) | _per_second(items or {}, seconds),
            base_scores=scores,
            primary_bottleneck=primary,
            bottleneck_confidence=confidence,
            profiler_cpu_percent=100 * self.cpu_cost_seconds / seconds if seconds > 0 else None,
            unavailable={name: why for name, why in self._unavailable.items() if name not in self._measured},
        )

    def _add_peaks(self, sample: ProfileSample) -> None:
        snapshot = sample.snapshot
        gpu = snapshot.gpu_memory_bytes
        for name, value in (
            ("memory", snapshot.memory_bytes),
            ("machine_memory", snapshot.machine_memory_percent),
            ("group_memory", sample.group_memory),
            ("processes", snapshot.processes),
            ("threads", snapshot.threads),
            ("gpu", None if gpu is None else sum(gpu)),
            ("tree_gpu", snapshot.tree_gpu_memory_bytes),
        ):
            if value is not None:
                self._raise(name, value)

    def _raise(self, name: str, value: float) -> None:
        self._peaks[name] = max(value, self._peaks.get(name, value))

    def _add_memory(self, before: ResourceSnapshot | None, after: ResourceSnapshot) -> None:
        """Add the area below the line between two samples."""
        self._any_memory = self._any_memory or after.memory_bytes
        if before is None or before.memory_bytes is None or after.memory_bytes is None:
            return
        seconds = after.elapsed_seconds - before.elapsed_seconds
        self._memory_seconds += seconds * (before.memory_bytes + after.memory_bytes) / 2
        self._memory_known_seconds += seconds

    def _mean_memory(self) -> float | None:
        if self._memory_known_seconds > 0:
            return self._memory_seconds / self._memory_known_seconds
        return self._any_memory

    def _mean_latency(self, name: str) -> float | None:
        """Return the mean in milliseconds."""
        count = len(self._latencies[name])
        return 1000 * self._latency_sums[name] / count if count else None

    def _latency_p95(self, name: str) -> float | None:
        found = percentile(self._latencies[name].items(), 0.95)
        return None if found is None else 1000 * found

    def _use(self, first: ProfileSample, last: ProfileSample, seconds: float) -> ResourceUse:
        """Return what the scores are made from."""
        cpus, cpu_seconds = self._allowed_cpus, last.consumed.cpu_seconds
        return ResourceUse(
            machine_cpu_percent=machine_percent(first.machine, last.machine),
            own_cpu_ratio=cpu_seconds / seconds / cpus if seconds > 0 and cpus else None,
            machine_memory_percent=self._peaks.get("machine_memory"),
            group_memory_ratio=self._peaks.get("group_memory"),
            disk_write_rate=largest_write_rate(first.machine, last.machine, seconds),
            own_write_rate=last.consumed.write_bytes / seconds if seconds > 0 else None,
            latency_ms=self._mean_latency("api"),
        )


def _per_second(items: Mapping[str, float], seconds: float) -> dict[str, float]:
    return {name: number / seconds for name, number in items.items()} if seconds > 0 else {}


def percentile(values: Sequence[float], share: float) -> float | None:
    """Return the smallest value that this share of all values does not exceed."""
    ordered = sorted(values)
    return ordered[max(math.ceil(share * len(ordered)) - 1, 0)] if ordered else None


def _megabytes(count: float | None) -> float | None:
    return None if count is None else count / MEGABYTE
