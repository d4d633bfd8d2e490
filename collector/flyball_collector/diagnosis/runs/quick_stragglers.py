"""Detects within a few reports that a rank of a synchronous run holds up the others.

All steps are equally long there, so the time is compared that a rank does not spend waiting for others: its own work,
and its wait for input. Its peers show what is usual, so a rank that is slow from its first report on is found too.
"""

import numpy as np
from numpy.typing import NDArray

from flyball_collector.diagnosis.runs.quick_slowness import MOST_NEW
from flyball_collector.diagnosis.runs.run_view import RunView
from flyball_collector.diagnosis.runs.slow_evidence import SlowEvidence
from flyball_collector.diagnosis.runs.step_times import StepTimes
from flyball_collector.diagnosis.subject_arrays import SubjectArrays

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

_BELOW = 0.8  # the evidence begins at this share of the least ratio; the mean must exceed all of it
_OF_STEP = 0.05  # least share of the step that a straggler adds by its own work …
_INPUT_OF_STEP = 0.1  # … and by waiting for input
_WAITS_MORE = 0.025  # of the step, more than the others: then it does not hold them up
_MOST = 0.95  # of a step that waiting for input can take


class QuickStragglers:
    """Follows the ranks of all runs. Call `update` at least every `MOST_NEW` reports."""

    def __init__(self, least_ratio: float) -> None:
        self._least = float(np.log1p(least_ratio))
        self._evidence = SlowEvidence(_BELOW * self._least)
        self._kept = SubjectArrays(seen=0)

    @property
    def stragglers(self) -> Flags:
        """Return the ranks that hold up the others."""
        found: Flags = self._evidence.named & (self._evidence.excess >= self._least)
        return found

    @property
    def ratio(self) -> Floats:
        """Return how much longer than its peers' the rank's work takes; NaN: no evidence that it does."""
        return np.exp(self._evidence.excess)

    def update(self, times: StepTimes) -> None:
        """Take the new reports of ranks whose steps are as long as those of the others."""
        runs = times.runs
        self._kept.align(runs.subjects)
        self._evidence.align(runs.subjects)
        counts = runs.ranks.counts
        new = np.minimum(counts - self._kept["seen"], MOST_NEW)
        self._kept["seen"] = counts
        together = times.in_step & times.fresh
        self._evidence.forget(np.flatnonzero(~together))
        most = int(new[together].max(initial=0))
        if most and _is_known(runs):
            reports = {
                name: runs.ranks.ring(name, most) for name in ("own_seconds", "waiting_seconds", "data_wait_seconds")
            }
            of_work = ~np.isnan(reports["own_seconds"]).all(axis=1)  # of a large fleet, one report in a few
            for number in np.flatnonzero(of_work | ~of_work.any()).tolist():
                taken = together & (new >= most - number)
                report = {
                    name: np.where(times.fresh, values[number].astype(np.float64), np.nan)
                    for name, values in reports.items()
                }
                self._take(times, taken, **report)

    def _take(
        self,
        times: StepTimes,
        taken: Flags,
        own_seconds: Floats,
        waiting_seconds: Floats,
        data_wait_seconds: Floats,
    ) -> None:
        """Take one report of each rank."""
        runs = times.runs
        work, spread = _beyond_peers(runs, own_seconds, _OF_STEP * times.peers)
        excess = np.fmax(work, _beyond_input(runs, data_wait_seconds / times.now))
        waits_more = waiting_seconds - runs.median(waiting_seconds)[runs.run_of] > _WAITS_MORE * times.peers
        self._evidence.take(np.where(taken, np.where(waits_more, np.minimum(excess, 0.0), excess), np.nan), spread)


def _is_known(runs: RunView) -> bool:
    """Return True if any rank reports its own work or its waiting."""
    return not all(np.isnan(runs.ranks.column(name)).all() for name in ("own_seconds", "data_wait_seconds"))


def _beyond_peers(runs: RunView, seconds: Floats, least: Floats) -> tuple[Floats, Floats]:
    """Return how much longer each rank works than its peers, a logarithm, and how much ranks differ anyway.

    An excess of less than `least` seconds does not count.
    """
    logs = np.log(np.where(seconds > 0, seconds, np.nan))
    middle = runs.median(logs)
    excess = logs - middle[runs.run_of]
    spread = np.nan_to_num(runs.spread(logs, middle))[runs.run_of]
    matters = seconds - np.exp(middle)[runs.run_of] >= least
    return np.where(matters, excess, np.minimum(excess, 0.0)), spread


def _beyond_input(runs: RunView, ratio: Floats) -> Floats:
    """Return how much longer a step takes because a rank waits for input longer than its peers, a logarithm."""
    more = np.minimum(ratio - runs.median(ratio)[runs.run_of], _MOST)
    return np.where(np.isnan(more), np.nan, np.where(more >= _INPUT_OF_STEP, -np.log1p(-np.clip(more, 0, _MOST)), 0.0))
