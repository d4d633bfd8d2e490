"""How each rank is wont to stand among the ranks of its run: what all of them share cancels, whatever their pasts.

A rank's offset is how much slower it is, as a rule, than its run; the run's pace is the middle of what its ranks take
beyond their offsets. Pasts of single ranks can be of unlike times (some joined later, some took a slower time for
usual), and then the same drift of all looks like a fault of some. An offset knows no drift of all.
"""

import numpy as np
from numpy.typing import NDArray

from flyball_collector.diagnosis.keeping import Kept
from flyball_collector.diagnosis.runs.run_view import RunView

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Places = NDArray[np.int64]

_MEMORY = 512
"""Reports of which an offset is about the mean: as many as those that make a past."""

_MOST_BEYOND = 0.05
"""No single look counts as more: an offset follows what a rank does for long."""

_HELD = 0.03
"""A rank that became slower and is so much out of its place keeps its offset meanwhile."""


class Offsets:
    """Follows the ranks of all runs; call `look` whenever their paces are known."""

    def __init__(self) -> None:
        self._kept = Kept(
            offset=float("nan"),
            learnt=0,  # reports behind it, up to the memory
            seen=0,  # reports at the last look
        )

    def look(self, runs: RunView, logs: Floats, counts: Places, slower: Flags) -> Floats:
        """By how much ranks are slower now than their offset has them, as logarithms; NaN: not known.

        `logs` are those of the steps; `slower` are the ranks that became so.
        """
        kept = self._kept
        kept.align(runs.subjects)
        pace = runs.median(logs - kept["offset"])
        pace = np.where(np.isnan(pace), runs.median(logs), pace)[runs.run_of]
        new = np.isnan(kept["offset"]) & ~np.isnan(logs)
        kept["offset"][new], kept["seen"][new] = (logs - pace)[new], counts[new]
        beyond: Floats = logs - pace - kept["offset"]
        self._learn(np.where(slower & (beyond >= _HELD), np.nan, beyond), counts)
        return beyond

    def _learn(self, beyond: Floats, counts: Places) -> None:
        kept, known = self._kept, ~np.isnan(beyond)
        fresh = np.where(known, counts - kept["seen"], 0)
        learnt = np.minimum(kept["learnt"] + fresh, _MEMORY)
        share = np.minimum(fresh / np.maximum(learnt, 1), 1.0)
        kept["offset"] += np.where(known, share * np.clip(beyond, -_MOST_BEYOND, _MOST_BEYOND), 0.0)
        kept["learnt"], kept["seen"] = learnt, counts
