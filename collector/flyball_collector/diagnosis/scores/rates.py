"""Computes rates of counters that are not in the window, from one record of a host to the next."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flyball_collector.diagnosis.subject import Subjects
from flyball_collector.diagnosis.view import View, numbers_of

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

GAP_SECONDS = 10.0
"""No rate is computed over a longer time than this or three intervals of the host."""


@dataclass(frozen=True, slots=True)
class _Counted:
    """The counts of a counter along its subjects, when they were read, and the rates then."""

    subjects: Subjects
    counts: Floats
    at: Floats
    rates: Floats

    def along(self, of: Subjects) -> "_Counted":
        """Return the same for another order of subjects."""
        if of is self.subjects:
            return self
        here, there = of.shared_with(self.subjects)
        moved = np.full((3, len(of)), np.nan)
        moved[:, here] = np.array([self.counts, self.at, self.rates])[:, there]
        return _Counted(of, *moved)


@dataclass(frozen=True, slots=True)
class _Passage:
    """The time from one reading of some subjects to the next. Most counters share it."""

    subjects: Subjects
    since: Floats
    at: Floats
    seconds: Floats
    repeated: Flags | None  # no new record; None: all are new
    sound: Flags  # a rate can be computed
    unreported: Flags | None  # by hosts that do not report; None: all do


class Rates:
    """Rates of counters, updated once a second. A counter without a new record keeps its rate."""

    def __init__(self) -> None:
        self._kept: dict[str, _Counted] = {}
        self._view: View | None = None
        self._times: Floats = np.empty(0)
        self._gaps: Floats = np.empty(0)
        self._passages: list[_Passage] = []  # of this second

    def update(self, view: View) -> None:
        """Begin a second."""
        states = view.states
        self._view = view
        self._times = numbers_of(states, "corrected_ns") / 1e9
        self._gaps = np.maximum(GAP_SECONDS, 0.003 * numbers_of(states, "interval_ms"))
        self._passages = []

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
        unknown = np.full(len(of), np.nan)
        before = self._kept[key].along(of) if key in self._kept else _Counted(of, unknown, unknown, unknown)
        passed = self._passage(self._view, of, before.at)
        grown = counts - before.counts
        rates = np.full(len(of), np.nan)
        np.divide(grown, passed.seconds, out=rates, where=passed.sound & (grown >= 0))
        if passed.repeated is not None:
            rates = np.where(passed.repeated, before.rates, rates)
            counts = np.where(passed.repeated, before.counts, counts)
        self._kept[key] = _Counted(of, counts, passed.at, rates)
        return rates if passed.unreported is None else np.where(passed.unreported, np.nan, rates)

    def _passage(self, view: View, of: Subjects, since: Floats) -> _Passage:
        """Return the time since the last reading; counters that were read at the same times share it."""
        for passage in self._passages:
            if passage.subjects is of and passage.since is since:
                return passage
        same = next((passage for passage in self._passages if passage.subjects is of), None)
        at = self._times[of.hosts] if same is None else same.at
        seconds = at - since
        repeated, unreported = seconds == 0, ~view.alive[of.hosts]
        sound = (seconds > 0) & (seconds <= self._gaps[of.hosts])
        found = _Passage(
            of,
            since,
            at,
            seconds,
            repeated if repeated.any() else None,
            sound,
            unreported if unreported.any() else None,
        )
        self._passages.append(found)
        return found
