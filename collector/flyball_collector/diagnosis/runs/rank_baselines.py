"""Keeps the usual step time of each rank from its latest reports, from the eighth report of a young run on.

Unlike the long past of level shifts, this is known soon and follows slow changes. It is not learnt from reports while
there is evidence that the rank is slow, so the start of slowness does not become the usual level. All ranks of a run
are learnt at the same moment: if they were not, a phase of the whole run (evaluation) would look like a difference
between ranks that were learnt before and within it.
"""

import numpy as np
from numpy.typing import NDArray

from flyball_collector.diagnosis.runs.level_shifts import medians
from flyball_collector.diagnosis.runs.run_view import RunView
from flyball_collector.diagnosis.subject_arrays import SubjectArrays
from flyball_collector.diagnosis.unknown_values import known_or

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Places = NDArray[np.int64]

REPORTS = 64
"""The most reports behind a usual step time: all that are kept of a rank."""

_LEAST = 8  # reports
_AGAIN = 32  # reports after which a full baseline is learnt again; a younger one after a quarter of its reports
_AT_ONCE = 4096  # ranks; sorting the reports of more would take too long within one second


class RankBaselines:
    """Follows the ranks of all runs."""

    def __init__(self) -> None:
        self._kept = SubjectArrays(
            usual=float("nan"),  # logarithm of the usual step time
            learnt=0,  # reports in total when it was learnt
            first=0,  # only later reports are used
        )

    def align(self, runs: RunView) -> None:
        """Follow changes of the ranks."""
        self._kept.align(runs.subjects)

    @property
    def usual(self) -> Floats:
        """Return the usual step time of each rank, a logarithm; NaN is unknown."""
        return self._kept["usual"]

    def due(self, runs: RunView, counts: Places, calm: Flags) -> Places:
        """Return the ranks whose baseline is to be learnt: those with enough new reports and no evidence."""
        kept = self._kept
        usable = counts - kept["first"]
        young = np.isnan(kept["usual"])
        waits = np.clip(usable // 4, 2, _AGAIN)
        waited = ~young & (counts - kept["learnt"] >= waits)
        again = runs.share(waited) >= 0.5 * runs.share(~young)
        again &= runs.share(waited) > 0
        enough = usable >= np.where(young | (kept["first"] == 0), _LEAST, _AGAIN)
        places = np.flatnonzero(enough & (young | (again[runs.run_of] & calm)))
        if len(places) <= _AT_ONCE:
            return places
        of_whole_runs = np.cumsum(np.bincount(runs.run_of[places], minlength=len(runs.runs)))
        return places[(of_whole_runs <= _AT_ONCE)[runs.run_of[places]]]

    def learn(self, runs: RunView, places: Places, logs: Floats, levels: Floats) -> None:
        """Learn from the logarithms of the latest step times (report × rank) of these ranks.

        `levels` is how much each run is slower than usual now. Ranks that are not learnt move with their run.
        """
        kept, counts = self._kept, runs.ranks.counts
        age = np.arange(len(logs), 0, -1)[:, None]
        usable = np.where(age <= (counts - kept["first"])[places], logs, np.nan)
        found = medians(np.ascontiguousarray(usable.T))
        moved = np.full(len(counts), np.nan)
        moved[places] = found - kept["usual"][places]
        new = np.isnan(kept["usual"][places])
        kept["usual"] += known_or(0.0, np.where(np.isnan(moved), runs.median(moved)[runs.run_of], moved))
        kept["usual"][places[new]] = found[new] - known_or(0.0, levels)[runs.run_of[places[new]]]
        kept["learnt"][places] = counts[places]

    def begin_again(self, places: Places, counts: Places) -> None:
        """Forget the baselines of these ranks, and learn them from reports later than these counts."""
        self._kept["usual"][places] = np.nan
        self._kept["first"][places] = counts

    def leave_out(self, places: Places, counts: Places) -> None:
        """Keep the baselines of these ranks, and learn them again only from reports later than these counts."""
        self._kept["first"][places] = counts
