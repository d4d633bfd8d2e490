"""Which bottleneck is the primary one: the largest, unless another was until now and is about as large."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from flyball_collector.diagnosis.keeping import Kept
from flyball_collector.diagnosis.kinds import EventKind
from flyball_collector.diagnosis.subject import Subjects

Floats = NDArray[np.float64]
Places = NDArray[np.int64]

NONE = -1

SETTLE_SECONDS = 5.0
"""Where there was none, the largest must have been the largest for so long."""

LET_GO_SECONDS = 30.0
"""A primary bottleneck that is no longer claimed stays for so long: as long as its condition does."""


class Primary:
    """Along hosts: the place of a kind, or `NONE`."""

    def __init__(self, kinds: Sequence[EventKind], *, dead_band: float, dwell_seconds: float) -> None:
        names = [kind.name for kind in kinds]
        self._explains = np.array([[other in kind.explained_by for other in names] for kind in kinds], dtype=bool)
        self._dead_band = dead_band
        self._dwell = dwell_seconds
        self._kept = Kept(chosen=NONE, rival=NONE, since=float("nan"), held=float("-inf"))

    def choose(self, hosts: Subjects, weights: Floats, now: float) -> Places:
        """`weights`: host × kind, 0 where it is not claimed."""
        kept = self._kept
        kept.align(hosts)
        weights = np.where(self._explained(weights > 0), 0.0, weights)
        rows = np.arange(len(weights))
        best = np.argmax(weights, axis=1) if weights.size else np.zeros(0, dtype=np.int64)
        largest = weights[rows, best]
        rival = np.where(largest > 0, best, NONE)
        chosen = kept["chosen"]
        own = np.where(chosen >= 0, weights[rows, chosen], 0.0)
        kept["held"] = np.where(own > 0, now, kept["held"])
        gone = (chosen >= 0) & (now - kept["held"] > LET_GO_SECONDS)
        larger = (rival >= 0) & (rival != chosen) & (largest > (1 + self._dead_band) * own)
        same = larger & (rival == kept["rival"])
        kept["since"] = np.where(same, kept["since"], np.where(larger, now, np.nan))
        kept["rival"] = np.where(larger, rival, NONE)
        waited = np.where(larger, now - kept["since"], -1.0)
        takes = waited >= np.where((chosen < 0) | gone, SETTLE_SECONDS, self._dwell)
        kept["chosen"] = np.where(takes, rival, np.where(gone, NONE, chosen))
        kept["held"] = np.where(takes, now, kept["held"])
        return kept["chosen"].copy()

    def _explained(self, claimed: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Parent and child are not both blamed."""
        return (claimed.astype(np.int16) @ self._explains.T.astype(np.int16)) > 0
