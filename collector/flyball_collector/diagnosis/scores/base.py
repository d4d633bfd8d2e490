"""The four base scores: plain shares of plain limits. They are always shown, alert nobody, and are not calibrated."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from flyball_collector.diagnosis.keeping import Kept
from flyball_collector.diagnosis.scores.rates import Rates
from flyball_collector.diagnosis.scores.settings import ScoreSettings
from flyball_collector.diagnosis.scores.signals import Signals
from flyball_collector.diagnosis.subject import Subjects
from flyball_collector.diagnosis.view import View

Floats = NDArray[np.float64]

BASE_NAMES = ("cpu", "memory", "disk", "network")

_WRITTEN = "disk_written_bytes_total"
_BUSY = "disk_busy_seconds_total"
_WRITES = "disk_writes_total"

_FULL = 0.95
"""A disk that is busy for this share of a second …"""

_LARGE_BYTES = 128 * 1024
"""… with writes of this size is at the limit of its rate, not of its operations."""


class BaseScores:
    """cpu = busy ÷ 80 %, memory = used ÷ 75 %, disk = write rate ÷ 50 MB/s, network = round trip ÷ 100 ms; at most 1.

    A disk's own limit replaces the constant once it is known: the fastest that it wrote while large writes kept it
    busy all the time. Where no target's round trip is measured but a link's speed is known, the use of the link stands
    for the network.
    """

    def __init__(self, settings: ScoreSettings) -> None:
        self._settings = settings
        self._limits = Kept(written=float("nan"))

    def score(self, view: View, signals: Signals) -> Mapping[str, Floats]:
        """Along hosts, of this second's readings; unknown is NaN."""
        settings = self._settings
        latency = signals.raw["latency"] / settings.base_latency_seconds
        found = (
            view.host("cpu_busy_ratio") / settings.base_cpu_busy,
            view.host("memory_used_ratio") / settings.base_memory_used,
            self._disk(view, signals.rates),
            np.where(np.isnan(latency), signals.raw["link_use"], latency),
        )
        return {name: np.minimum(values, 1.0) for name, values in zip(BASE_NAMES, found, strict=True)}

    def _disk(self, view: View, rates: Rates) -> Floats:
        """The fullest disk's."""
        disks, written = view.resources(_WRITTEN), view.resource(_WRITTEN)
        self._limits.align(disks)
        busy = _along(disks, view.resources(_BUSY), view.resource(_BUSY))
        writes = _along(disks, view.resources(_WRITES), rates.resource(_WRITES))
        full = (busy >= _FULL) & (written >= _LARGE_BYTES * writes) & (written > 0)
        known = self._limits["written"]
        known[full] = np.fmax(known, written)[full]
        limits = np.where(np.isnan(known), self._settings.base_disk_bytes_per_second, known)
        return view.largest_by_host(written / limits, disks.hosts)


def _along(subjects: Subjects, others: Subjects, values: Floats) -> Floats:
    """Values of other subjects in this order."""
    if subjects.names == others.names:  # of one probe: the same disks
        return values
    found = np.full(len(subjects), np.nan)
    here, there = subjects.shared_with(others)
    found[here] = values[there]
    return found


def base_primary(scores: Mapping[str, Floats], place: int) -> tuple[str, float]:
    """The largest score of a host and its value, which counts as the confidence; no name where nothing is known."""
    known = {name: float(values[place]) for name, values in scores.items() if not np.isnan(values[place])}
    largest = max(known, key=lambda name: known[name], default="")
    return largest, known.get(largest, 0.0)
