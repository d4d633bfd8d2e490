"""Which bottleneck is the primary one: of those that stand the largest, unless another one was and still stands."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from flyball_collector.diagnosis.keeping import Kept
from flyball_collector.diagnosis.subject import Subjects
from flyball_collector.diagnosis.unknown import known_or

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Places = NDArray[np.int64]

NONE = -1

SETTLED_SECONDS = 600.0
"""For so long after a change between two that stand, another must be twice as large to take over."""

TWICE = 2.0

_LEAST = 1e-9
"""What stands although its score is unknown or zero comes before what does not stand."""

Raised = Callable[[str], tuple[Subjects, Flags]]
"""Whether the condition of a kind of this name stands, along its subjects."""


class Primary:
    """Along hosts: the place of a bottleneck, or `NONE`."""

    def __init__(self, *, dead_band: float, dwell_seconds: float) -> None:
        self._dead_band = dead_band
        self._dwell = dwell_seconds
        self._kept = Kept(chosen=NONE, rival=NONE, since=float("nan"), changed=float("-inf"))

    def choose(self, hosts: Subjects, active: Flags, scores: Floats, now: float) -> Places:
        """`active` and `scores`: host × bottleneck. What no longer stands goes at once."""
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
        """For how long the same other one has been larger without a break."""
        kept = self._kept
        lately = now - kept["changed"] < SETTLED_SECONDS
        factor = np.where(lately, TWICE, 1 + self._dead_band)
        larger = ~gone & (best != kept["chosen"]) & (largest > factor * own)
        same = larger & (best == kept["rival"])
        kept["since"] = np.where(same, kept["since"], np.where(larger, now, np.nan))
        kept["rival"] = np.where(larger, best, NONE)
        return np.where(larger, now - kept["since"], -1.0)


def stand_by_host(names: Sequence[str], hosts: Subjects, raised: Raised) -> Flags:
    """Host × bottleneck: whether it stands for the host or for any GPU of it."""
    found = np.zeros((len(hosts), len(names)), dtype=bool)
    for column, name in enumerate(names):
        subjects, stands = raised(f"bottleneck_{name}")
        places = subjects.hosts[stands]
        found[places[(places >= 0) & (places < len(hosts))], column] = True
    return found
