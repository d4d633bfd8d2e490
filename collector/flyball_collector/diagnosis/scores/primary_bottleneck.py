"""Chooses the primary bottleneck: the active one that costs most, with little hysteresis for the one chosen before."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from flyball_collector.diagnosis.subject import Subjects
from flyball_collector.diagnosis.subject_arrays import SubjectArrays
from flyball_collector.diagnosis.unknown_values import known_or

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Places = NDArray[np.int64]

NONE = -1

SETTLED_SECONDS = 600.0
"""After a change between two active ones, another must be clearly larger to take over for this long."""

CLEARLY_LARGER = 1.25
"""Two that fluctuate around the same size would change places at every wave. So the primary one costs at least four
fifths of the largest."""

_LEAST = 1e-9
"""Least weight of an active bottleneck, so that it precedes all that are not active even if its score is unknown."""

Raised = Callable[[str], tuple[Subjects, Flags]]
"""Returns whether the condition of the kind with this name is active, along its subjects."""


class PrimaryBottleneck:
    """The primary bottleneck along hosts, as the position of a bottleneck or `NONE`."""

    def __init__(self, *, dead_band: float, dwell_seconds: float) -> None:
        self._dead_band = dead_band
        self._dwell = dwell_seconds
        self._kept = SubjectArrays(chosen=NONE, rival=NONE, since=float("nan"), changed=float("-inf"))

    def choose(self, hosts: Subjects, active: Flags, scores: Floats, now: float) -> Places:
        """Choose from `active` and `scores` (host × bottleneck).

        A bottleneck that is no longer active is replaced at once.
        """
        kept = self._kept
        kept.align(hosts)
        if not scores.size:
            return kept["chosen"].copy()
        weights = np.where(active, np.maximum(known_or(0.0, scores), _LEAST), 0.0)
        rows = np.arange(len(weights))
        best = np.argmax(weights, axis=1)
        largest = weights[rows, best]
        before = np.where(kept["chosen"] >= 0, kept["chosen"], 0)
        own = np.where(kept["chosen"] >= 0, weights[rows, before], 0.0)
        gone = own <= 0
        waits = self._waited(best, largest, own, gone, now) >= self._dwell
        kept["changed"] = np.where(gone, -np.inf, np.where(waits, now, kept["changed"]))
        fresh = np.where(largest > 0, best, NONE)
        kept["chosen"] = np.where(gone | waits, fresh, kept["chosen"])
        return kept["chosen"].copy()

    def _waited(self, best: Places, largest: Floats, own: Floats, gone: Flags, now: float) -> Floats:
        """Return for how long the same other bottleneck has been larger without a break."""
        kept = self._kept
        recently = now - kept["changed"] < SETTLED_SECONDS
        factor = np.where(recently, max(CLEARLY_LARGER, 1 + self._dead_band), 1 + self._dead_band)
        larger = ~gone & (best != kept["chosen"]) & (largest > factor * own)
        same = larger & (best == kept["rival"])
        kept["since"] = np.where(same, kept["since"], np.where(larger, now, np.nan))
        kept["rival"] = np.where(larger, best, NONE)
        return np.where(larger, now - kept["since"], -1.0)


def active_by_host(names: Sequence[str], hosts: Subjects, raised: Raised) -> Flags:
    """Return host × bottleneck: True if it is active for the host or for any of its GPUs."""
    found = np.zeros((len(hosts), len(names)), dtype=bool)
    for column, name in enumerate(names):
        subjects, active = raised(f"bottleneck_{name}")
        places = subjects.hosts[active]
        found[places[(places >= 0) & (places < len(hosts))], column] = True
    return found
