"""Computes rates of counters that are not in the window, from one record of a host to the next."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from flyball_collector.diagnosis.subject import Subjects
from flyball_collector.diagnosis.subject_arrays import SubjectArrays
from flyball_collector.diagnosis.view import View, numbers_of

Floats = NDArray[np.float64]

GAP_SECONDS = 10.0
"""No rate is computed over a longer time than this or three intervals of the host."""


class Rates:
    """Rates of counters, updated once a second. A counter without a new record keeps its rate."""

    def __init__(self) -> None:
        self._kept: dict[str, SubjectArrays] = {}
        self._view: View | None = None
        self._times: Floats = np.empty(0)
        self._gaps: Floats = np.empty(0)

    def update(self, view: View) -> None:
        """Begin a second."""
        states = view.states
        self._view = view
        self._times = numbers_of(states, "corrected_ns") / 1e9
        self._gaps = np.maximum(GAP_SECONDS, 0.003 * numbers_of(states, "interval_ms"))

    def host(self, metric: str, **where: str) -> Floats:
        """Return the rate of a counter along hosts. `where` gives all labels of the metric, if it has any."""
        key = "/".join((metric, *where.values()))
        return self._rate(key, lambda view: view.hosts, lambda view: view.host_count(metric, **where))

    def resource(self, metric: str) -> Floats:
        """Return the rate of a counter along its resources."""
        return self._rate(metric, lambda view: view.resources(metric), lambda view: view.resource_count(metric))

    def gpu(self, metric: str) -> Floats:
        """Return the rate of a counter along GPUs."""
        return self._rate(metric, lambda view: view.gpus, lambda view: view.gpu_count(metric))

    def _rate(self, key: str, whose: Callable[[View], Subjects], read: Callable[[View], Floats]) -> Floats:
        assert self._view is not None  # noqa: S101  `update` comes first
        of, counts = whose(self._view), read(self._view)
        kept = self._kept.setdefault(key, SubjectArrays(count=float("nan"), at=float("nan"), rate=float("nan")))
        kept.align(of)
        times, gaps = self._times[of.hosts], self._gaps[of.hosts]
        elapsed, grown = times - kept["at"], counts - kept["count"]
        new = ~(elapsed == 0)
        sound = (grown >= 0) & (elapsed > 0) & (elapsed <= gaps)
        rate = np.full(len(of), np.nan)
        np.divide(grown, elapsed, out=rate, where=sound)
        kept["rate"] = np.where(new, rate, kept["rate"])
        kept["count"], kept["at"] = np.where(new, counts, kept["count"]), times
        return np.where(self._view.alive[of.hosts], kept["rate"], np.nan)
