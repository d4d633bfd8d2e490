"""Detects within a few reports that ranks became slower than they were and than their peers, from any report on.

Each report is compared with the rank's own usual step time and, if the whole run is slower than usual at the moment,
with that of the run. What it exceeds is evidence for a sequential test.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flyball_collector.diagnosis.runs.rank_baselines import REPORTS, RankBaselines
from flyball_collector.diagnosis.runs.run_view import RunView
from flyball_collector.diagnosis.runs.slow_evidence import SlowEvidence
from flyball_collector.diagnosis.subject_arrays import SubjectArrays
from flyball_collector.diagnosis.unknown_values import known_or

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Places = NDArray[np.int64]

MOST_NEW = 20
"""The most new reports of a rank that are used at once, as after a pause of its connection."""

_REST = 16  # reports after a stop of the run, which are slow

Logs = Callable[[int, Places], Floats]
"""Returns the logarithms of the latest step times of ranks, report × rank, oldest first."""


@dataclass(frozen=True, slots=True)
class QuickSlow:
    """The result along ranks."""

    slow: Flags
    step: Floats  # mean seconds of a step since the evidence began; NaN: there is none
    usual: Floats  # seconds of a step before
    ratio: Floats  # how much slower the rank is than before, without what its run is slower
    known: Flags  # there is a usual step to compare with


class QuickSlowness:
    """Follows the ranks of all runs. Call `update` at least every `MOST_NEW` reports."""

    def __init__(self, least: float) -> None:
        """Set the least shift of the logarithm that matters."""
        self._evidence = SlowEvidence(least)
        self._baselines = RankBaselines()
        self._kept = SubjectArrays(seen=0, log=float("nan"))

    def update(self, runs: RunView, fresh: Flags, logs_of: Logs, resumed: Places, spread: Floats) -> QuickSlow:
        """Take the new reports of all ranks.

        `fresh`: the rank still reports. `resumed`: number of its first report after the last stop. `spread`: how much
        the medians of its long past vary; NaN: it has none.
        """
        self._kept.align(runs.subjects)
        self._evidence.align(runs.subjects)
        self._baselines.align(runs)
        counts = runs.ranks.counts
        new = np.where(fresh, np.minimum(counts - self._kept["seen"], MOST_NEW), 0)
        rests = (resumed > 0) & (counts - resumed < _REST)
        level = self._take(runs, np.where(rests, 0, new), fresh, logs_of, known_or(0.0, spread))
        self._kept["seen"] = counts
        self._learn(runs, counts, logs_of, level)
        return self._result(np.maximum(known_or(0.0, level), 0.0)[runs.run_of])

    def begin_again(self, runs: RunView, places: Places) -> None:
        """Learn the usual steps of these ranks again from their next reports."""
        self._baselines.begin_again(places, runs.ranks.counts[places])
        self._evidence.forget(places)

    def _take(self, runs: RunView, new: Places, fresh: Flags, logs_of: Logs, spread: Floats) -> Floats:
        """Take the new reports, the oldest first. Return how much slower each run is than usual."""
        kept, usual, counts = self._kept, self._baselines.usual, runs.ranks.counts
        level = np.full(len(runs.runs), np.nan)
        most = int(new.max(initial=0))
        places = np.flatnonzero(new > 0)
        for number, log in enumerate(np.ascontiguousarray(logs_of(most, places)) if most else ()):
            now = new >= most - number
            np.copyto(kept["log"], log if len(places) == len(new) else _along(log, places, len(new)), where=now)
            beyond = np.where(fresh, kept["log"] - usual, np.nan)
            level = runs.median(beyond)
            excess = np.where(now, beyond - np.maximum(level, 0.0)[runs.run_of], np.nan)
            alone = runs.known(beyond) < 2
            if alone.any():
                excess[alone[runs.run_of]] = np.nan
            self._note(excess, spread, counts - (most - number - 1))
        return level

    def _note(self, excess: Floats, spread: Floats, counts: Places) -> None:
        """Add the evidence of one report of each rank. What a slow rank reported is left out of its usual step."""
        before = self._evidence.named
        self._evidence.take(excess, spread)
        recovered = np.flatnonzero(before & ~self._evidence.named)
        if len(recovered):
            self._baselines.leave_out(recovered, counts[recovered])

    def _learn(self, runs: RunView, counts: Places, logs_of: Logs, level: Floats) -> None:
        due = self._baselines.due(runs, counts, self._evidence.calm)
        if len(due):
            self._baselines.learn(runs, due, logs_of(REPORTS, due), level)

    def _result(self, level: Floats) -> QuickSlow:
        """Return the result; `level` is how much slower the run of each rank is than usual."""
        evidence, usual = self._evidence, self._baselines.usual
        return QuickSlow(
            slow=evidence.named,
            step=np.exp(usual + evidence.excess + level),
            usual=np.exp(usual),
            ratio=np.exp(evidence.excess),
            known=~np.isnan(usual),
        )


def _along(values: Floats, places: Places, count: int) -> Floats:
    """Return values of some ranks along all of them."""
    found = np.full(count, np.nan)
    found[places] = values
    return found
