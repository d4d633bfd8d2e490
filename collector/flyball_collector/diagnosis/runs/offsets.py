"""Tracks how much slower or faster each rank usually is than its run, so that a drift of all ranks cancels out.

The offset of a rank is how much slower it usually is than its run. The level of the run is the median of its ranks
without their offsets. The pasts of single ranks may cover different times: some ranks joined later, some adopted a
slower level. Then a drift of all ranks looks like a fault of some. Offsets are not affected by a drift of all ranks.
"""

import numpy as np
from numpy.typing import NDArray

from flyball_collector.diagnosis.runs.run_view import RunView
from flyball_collector.diagnosis.subject_arrays import SubjectArrays

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Places = NDArray[np.int64]

_MEMORY = 512
"""Number of reports over which an offset is averaged, like those that make a past."""

_MOST_BEYOND = 0.05
"""The most that a single update counts, so that an offset follows only lasting changes."""

_HELD = 0.03
"""The offset of a slower rank is held while the rank exceeds it by this much."""


class RankOffsets:
    """Follows the ranks of all runs. Call `update` whenever their step times are known."""

    def __init__(self) -> None:
        self._kept = SubjectArrays(
            offset=float("nan"),
            learnt=0,  # reports behind the offset, at most `_MEMORY`
            seen=0,  # reports at the last update
        )

    def update(self, runs: RunView, logs: Floats, counts: Places, slower: Flags) -> Floats:
        """Return by how much ranks are slower than their offset, as logarithms; NaN is unknown.

        `logs` are the logarithms of the step times; `slower` are the ranks whose steps became slower.
        """
        kept = self._kept
        kept.align(runs.subjects)
        level = runs.median(logs - kept["offset"])
        level = np.where(np.isnan(level), runs.median(logs), level)[runs.run_of]
        new = np.isnan(kept["offset"]) & ~np.isnan(logs)
        kept["offset"][new], kept["seen"][new] = (logs - level)[new], counts[new]
        beyond: Floats = logs - level - kept["offset"]
        self._learn(np.where(slower & (beyond >= _HELD), np.nan, beyond), counts)
        return beyond

    def _learn(self, beyond: Floats, counts: Places) -> None:
        kept, known = self._kept, ~np.isnan(beyond)
        fresh = np.where(known, counts - kept["seen"], 0)
        learnt = np.minimum(kept["learnt"] + fresh, _MEMORY)
        share = np.minimum(fresh / np.maximum(learnt, 1), 1.0)
        kept["offset"] += np.where(known, share * np.clip(beyond, -_MOST_BEYOND, _MOST_BEYOND), 0.0)
        kept["learnt"], kept["seen"] = learnt, counts
