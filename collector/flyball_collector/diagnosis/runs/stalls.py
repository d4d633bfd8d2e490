"""Finds the moments at which whole runs stopped: reports that came much later, or steps that took much longer."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flyball_collector.diagnosis.runs.level_shifts import deviation, medians
from flyball_collector.diagnosis.runs.run_view import RunView
from flyball_collector.diagnosis.scores.sections import part_of
from flyball_collector.diagnosis.subject_arrays import SubjectArrays
from flyball_collector.diagnosis.unknown_values import known_or

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Places = NDArray[np.int64]

REPORTS = 20
"""The latest reports of a rank, which show its usual step and interval."""

KEPT = 8
"""Stalls that are kept of each run."""

_LEAST_REPORTS = 8
_LEAST_SECONDS = 3.0
_SPREADS = 6.0
_MOST = 0.6  # share of the ranks that must have stalled together
_TOGETHER_SECONDS = 5.0  # ranks report within this time of each other, and longer after a longer stall
_ASIDE = ("checkpoint", "aside")  # parts of a step by the name of the section


@dataclass(frozen=True, slots=True)
class Stalls:
    """The latest stalls of each run (run × stall, the newest last); NaN: there are fewer."""

    ends: Floats
    seconds: Floats
    marked: Floats  # seconds of it in sections for checkpoints, evaluation or logging; NaN: no sections are reported


class StallTracker:
    """Follows the ranks of all runs. Call `take` at least every `REPORTS` reports."""

    def __init__(self) -> None:
        unknown = ((KEPT,), float("nan"))
        self._ranks = SubjectArrays(seen=0, end=float("-inf"), seconds=0.0, paused=0.0)
        self._runs = SubjectArrays(ends=unknown, seconds=unknown, marked=unknown, aside=float("nan"))

    def take(self, runs: RunView, selected: Flags, now: float) -> Stalls:
        """Take the new reports of the selected ranks; return the stalls of all runs."""
        self._ranks.align(runs.subjects)
        self._runs.align(runs.runs)
        counts = runs.ranks.counts
        places = np.flatnonzero(selected & (counts > self._ranks["seen"]) & (counts >= _LEAST_REPORTS))
        if len(places):
            self._take(runs, places, np.minimum(counts[places] - self._ranks["seen"][places], REPORTS - 1))
            self._note_runs(runs, now)
        self._ranks["seen"][places] = counts[places]
        kept = self._runs
        return Stalls(kept["ends"].copy(), kept["seconds"].copy(), kept["marked"].copy())

    def _take(self, runs: RunView, places: Places, fresh: Places) -> None:
        """Note the newest stall of each of these ranks among its fresh reports."""
        gaps = np.diff(runs.ranks.times(REPORTS, places), axis=0)
        steps = runs.ranks.ring("step_seconds", REPORTS, places)[1:].astype(np.float64)
        new = np.arange(REPORTS - 1, 0, -1)[:, None] <= fresh
        some = np.flatnonzero((new & (np.fmax(gaps, steps) >= _LEAST_SECONDS)).any(axis=0))
        if not len(some):
            return
        places, gaps, steps, new = places[some], gaps[:, some], steps[:, some], new[:, some]
        gaps[-1] -= self._paused(runs, places)
        usual_gap, usual_step = medians(gaps.T), medians(steps.T)
        extra = np.fmax(gaps - usual_gap, steps - usual_step)
        least = np.fmax(_LEAST_SECONDS, np.fmax(usual_gap, usual_step))
        least = np.fmax(least, _SPREADS * np.fmax(deviation(gaps.T), deviation(steps.T)))
        stalled = new & (extra >= least)
        last = len(stalled) - 1 - np.argmax(stalled[::-1], axis=0)
        found = np.flatnonzero(stalled.any(axis=0))
        times = runs.ranks.times(REPORTS - 1, places)
        self._ranks["end"][places[found]] = times[last[found], found]
        self._ranks["seconds"][places[found]] = extra[last[found], found]

    def _paused(self, runs: RunView, places: Places) -> Floats:
        """Return for how long adjustments have paused these ranks since the last call: such a pause is not a stall."""
        paused = known_or(0.0, runs.ranks.column("paused_seconds"))[places]
        more: Floats = np.maximum(paused - self._ranks["paused"][places], 0.0)
        self._ranks["paused"][places] = paused
        return more

    def _note_runs(self, runs: RunView, now: float) -> None:
        """Note the runs of which most ranks have stalled together since their last stall."""
        end, seconds = self._ranks["end"], self._ranks["seconds"]
        newest = runs.quantile(end, 1.0)
        last = known_or(float("-inf"), self._runs["ends"][:, -1])
        near = _TOGETHER_SECONDS + 0.5 * seconds
        together = (end >= newest[runs.run_of] - near) & (end > last[runs.run_of] + near)
        for run in np.flatnonzero(runs.share(together) >= _MOST).tolist():  # few: a run stalls once in minutes
            ranks = np.flatnonzero(together & (runs.run_of == run))
            aside = _aside_seconds(runs, run, now)
            marked = aside - self._runs["aside"][run]
            self._runs["aside"][run] = aside
            for name, value in (
                ("ends", np.median(end[ranks])),
                ("seconds", np.median(seconds[ranks])),
                ("marked", marked),
            ):
                self._runs[name][run] = np.append(self._runs[name][run][1:], value)


def _aside_seconds(runs: RunView, run: int, now: float) -> float:
    """Return the seconds that a rank of the run has spent in sections that not every step has."""
    ranks = runs.ranks.of_run(runs.runs.names[run].run, round(now * 10**9))
    if not ranks or not ranks[0].overall.section_seconds:
        return float("nan")
    figures = ranks[0].overall
    return figures.steps * sum(spent for name, spent in figures.section_seconds.items() if part_of(name) in _ASIDE)
