"""The four base scores: utilisation relative to fixed limits.

They are always shown, raise no alerts, and are not calibrated.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from flyball_collector.diagnosis.scores.rates import Rates
from flyball_collector.diagnosis.scores.settings import ScoreSettings
from flyball_collector.diagnosis.scores.signals import Signals
from flyball_collector.diagnosis.subject import Subjects
from flyball_collector.diagnosis.subject_arrays import SubjectArrays
from flyball_collector.diagnosis.view import View
from flyball_planner.base_formula import BASE_NAMES, base_bottleneck, base_score

Floats = NDArray[np.float64]

_WRITTEN = "disk_written_bytes_total"
_BUSY = "disk_busy_seconds_total"
_WRITES = "disk_writes_total"

_FULL = 0.95
"""A disk that is busy for this share of a second, with large writes, is at the limit of its rate …"""

_LARGE_BYTES = 128 * 1024
"""… and writes of this size are large. With smaller writes it is at the limit of its operations."""


class BaseScores:
    """cpu = busy ÷ 80 %, memory = used ÷ 75 %, disk = write rate ÷ 50 MB/s, network = round trip ÷ 100 ms; at most 1.

    A disk's own limit replaces the constant once it is known: the fastest rate at which large writes kept it fully
    busy. If no round trip is measured but the speed of a link is known, the link's utilisation is the score of the
    network.
    """

    def __init__(self, settings: ScoreSettings) -> None:
        self._settings = settings
        self._limits = SubjectArrays(written=float("nan"))

    def score(self, view: View, signals: Signals) -> Mapping[str, Floats]:
        """Return the scores of this second along hosts; unknown is NaN."""
        settings = self._settings
        latency = np.fmax(signals.raw["latency"], signals.raw["mixed_latency"])
        network = base_score(latency, settings.base_latency_seconds, np.minimum)
        found = (
            base_score(view.host("cpu_busy_ratio"), settings.base_cpu_busy, np.minimum),
            base_score(view.host("memory_used_ratio"), settings.base_memory_used, np.minimum),
            self._disk(view, signals.rates),
            np.where(np.isnan(latency), base_score(signals.raw["link_use"], 1.0, np.minimum), network),
        )
        return dict(zip(BASE_NAMES, found, strict=True))

    def _disk(self, view: View, rates: Rates) -> Floats:
        """Return the score of the disk with the highest utilisation."""
        disks, written = view.resources(_WRITTEN), view.resource(_WRITTEN)
        self._limits.align(disks)
        busy = _along(disks, view.resources(_BUSY), view.resource(_BUSY))
        writes = _along(disks, view.resources(_WRITES), rates.resource(_WRITES))
        full = (busy >= _FULL) & (written >= _LARGE_BYTES * writes) & (written > 0)
        known = self._limits["written"]
        known[full] = np.fmax(known, written)[full]
        limits = np.where(np.isnan(known), self._settings.base_disk_bytes_per_second, known)
        return view.largest_by_host(base_score(written, limits, np.minimum), disks.hosts)


def _along(subjects: Subjects, others: Subjects, values: Floats) -> Floats:
    """Return values of other subjects in this order."""
    if subjects.names == others.names:  # from the same probe: the same disks
        return values
    found = np.full(len(subjects), np.nan)
    here, there = subjects.shared_with(others)
    found[here] = values[there]
    return found


def base_primary(scores: Mapping[str, Floats], place: int) -> tuple[str, float]:
    """Return the largest score of a host and its value, which is the confidence; an empty name if unknown."""
    found = {name: float(values[place]) for name, values in scores.items()}
    return base_bottleneck({name: None if np.isnan(value) else value for name, value in found.items()})
