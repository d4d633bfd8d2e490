"""Reads the used share of every memory: of each GPU, the host, its control group and /dev/shm."""

import numpy as np
from numpy.typing import NDArray

from flyball_collector.diagnosis.forecast.joined_subjects import JoinedSubjects
from flyball_collector.diagnosis.runs.run_view import Runs
from flyball_collector.diagnosis.subject import Subjects
from flyball_collector.diagnosis.view import View

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

HOST, CGROUP, SHARED = "host", "cgroup", "/dev/shm"  # noqa: S108  a name
RESOURCES = {HOST: "memory_used_ratio", CGROUP: "cgroup_memory_used_ratio", SHARED: "shared_memory_used_ratio"}

BUSY = 0.1
"""A GPU that computes at least this share of the time has finished loading its model."""

BUSY_SPAN, IDLE_SPAN = 60.0, 300.0
"""Seconds of growth required if only the driver's figure is known: loading a model takes minutes."""

BUSY_STRAIGHT_SPAN = 20.0
"""The same for growth that is straight and began from a rest: what a framework caches comes in pieces."""

REPORT_SECONDS = 60.0
"""How long a framework's report of its memory is valid."""


class MemoryUse:
    """The used shares of one second, along `subjects`: the GPUs, then the resources of hosts."""

    def __init__(self, runs: Runs | None) -> None:
        """`runs` provides the figures of the frameworks' allocators."""
        self._joined = JoinedSubjects(tuple(RESOURCES))
        self._runs = runs
        self._by_framework: Flags = np.empty(0, dtype=bool)  # along GPUs: the allocator's figures are known

    def subjects(self, view: View) -> Subjects:
        """Return the order for this view."""
        return self._joined.subjects(view)

    def read(self, view: View) -> Floats:
        """Return the used shares."""
        return np.concatenate([self._gpu_use(view), *(view.host(metric) for metric in RESOURCES.values())])

    def by_driver(self, count: int) -> Flags:
        """Return for each of `count` subjects whether only the driver's figure was known."""
        flags = np.zeros(count, dtype=bool)
        flags[: len(self._by_framework)] = ~self._by_framework
        return flags

    def least_spans(self, view: View, busy_span: float) -> Floats:
        """Return the seconds of growth required before it means anything; `busy_span` for a GPU that computes."""
        gpus = len(view.gpus)
        busy = view.gpu("gpu_utilization_ratio", 60)
        spans = np.zeros(gpus + len(RESOURCES) * len(view.hosts))
        spans[:gpus] = np.where(self._by_framework, 0.0, np.where(busy >= BUSY, busy_span, IDLE_SPAN))
        return spans

    def _gpu_use(self, view: View) -> Floats:
        """Return the driver's figure minus what frameworks reserve but do not need at their peak, if reported."""
        used, total = view.gpu("gpu_memory_used_bytes"), view.gpu("gpu_memory_total_bytes")
        unused = self._unused(view)
        self._by_framework = ~np.isnan(unused)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray((used - np.where(self._by_framework, unused, 0.0)) / total)

    def _unused(self, view: View) -> Floats:
        """Return the bytes reserved by frameworks beyond their peak, along GPUs; unknown where none reports them."""
        runs = self._runs.of(view) if self._runs is not None else None
        if runs is None or not len(runs.keys):
            return np.full(len(view.gpus), np.nan)
        column = runs.ranks.column
        spare = column("reserved_peak_bytes") - column("allocated_peak_bytes")
        reported = ~np.isnan(spare) & (runs.gpu_of >= 0) & (view.now - column("received") <= REPORT_SECONDS)
        places, spare = runs.gpu_of[reported], np.maximum(spare[reported], 0.0)
        sums = np.bincount(places, spare, minlength=len(view.gpus))
        return np.where(np.bincount(places, minlength=len(view.gpus)) > 0, sums, np.nan)
