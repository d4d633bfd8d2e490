"""Measures how busy the busiest core of a host is, only for hosts where it matters: a large host has hundreds."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from flyball_collector.diagnosis.subject_arrays import SubjectArrays
from flyball_collector.diagnosis.view import View

Floats = NDArray[np.float64]

_METRIC = "cpu_core_busy_seconds_total"
MOST_HOSTS = 64
"""The most hosts evaluated in one second. The others follow in later seconds."""

GAP_SECONDS = 15.0
SMOOTHING_SECONDS = 5.0


class Cores:
    """The busiest core of each host.

    A thread at its limit keeps one core busy; the kernel may move it between cores.
    """

    def __init__(self) -> None:
        self._counts: dict[str, tuple[int, Floats]] = {}  # by host: time of the record, seconds of each core
        self._kept = SubjectArrays(busiest=float("nan"), at=float("-inf"))
        self._rotation = 0

    def update(self, view: View, places: NDArray[np.int64]) -> Floats:
        """Return the busiest core's share of time along hosts, known for hosts that were among `places` recently."""
        self._kept.align(view.hosts)
        places = np.roll(places, -self._rotation)[:MOST_HOSTS] if len(places) > MOST_HOSTS else places
        self._rotation += MOST_HOSTS
        for place in places.tolist():
            self._measure(view, place)
        old = view.now - self._kept["at"] > 4 * GAP_SECONDS
        self._kept["busiest"][old] = np.nan
        if len(self._counts) > 4 * MOST_HOSTS:
            self._forget(name for name in list(self._counts) if name not in {view.states[p].name for p in places})
        return self._kept["busiest"].copy()

    def _measure(self, view: View, place: int) -> None:
        state = view.states[place]
        counts = view.readings(place, _METRIC)
        at_ns, before = self._counts.get(state.name, (0, counts))
        elapsed = (state.corrected_ns - at_ns) / 1e9
        if elapsed <= 0 or not len(counts):
            return
        self._counts[state.name] = state.corrected_ns, counts
        if elapsed > GAP_SECONDS or len(before) != len(counts):
            return
        busy = (counts - before) / elapsed
        if np.isnan(busy).all():
            return
        busiest = min(float(np.nanmax(busy)), 1.0)
        last = self._kept["busiest"][place]
        weight = 1 - np.exp(-elapsed / SMOOTHING_SECONDS)
        self._kept["busiest"][place] = busiest if np.isnan(last) else last + (busiest - last) * weight
        self._kept["at"][place] = view.now

    def _forget(self, names: Iterable[str]) -> None:
        for name in names:
            del self._counts[name]
