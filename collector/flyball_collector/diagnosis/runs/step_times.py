"""Compares the step times of all ranks with their own past and their peers, to find slow ranks and stragglers."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from flyball_collector.diagnosis.cadence import Cadence, RoundRobin
from flyball_collector.diagnosis.claims import Claims
from flyball_collector.diagnosis.kinds import EventKind
from flyball_collector.diagnosis.runs.level_shifts import REPORTS, LevelShifts, ShiftState, medians
from flyball_collector.diagnosis.runs.offsets import RankOffsets
from flyball_collector.diagnosis.runs.quick_slowness import QuickSlow, QuickSlowness
from flyball_collector.diagnosis.runs.run_view import Runs, RunView
from flyball_collector.diagnosis.runs.slow_single_steps import SlowSingleSteps
from flyball_collector.diagnosis.seen_metrics import ANY_STEP
from flyball_collector.diagnosis.subject_arrays import SubjectArrays
from flyball_collector.diagnosis.unknown_values import known_or
from flyball_collector.diagnosis.view import View

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Places = NDArray[np.int64]

EQUAL = 0.05
"""Steps that differ by at most this share count as equal."""

STEADY = ("own_seconds", "waiting_seconds", "data_wait_seconds")
"""For these, the mean of a rank's latest reports is kept without rare long ones."""

_SECONDS = 8
"""Eight reports make a median, and ranks report once a second."""

_FRESH_SECONDS = 10.0
_MOST = 0.7
_EARLY = 0.6
_LEAVE = 0.5  # of the entry levels
_LEAST_DIFFERENCE = float(np.log1p(0.12))


@dataclass(frozen=True, eq=False)
class StepTimes:
    """The step times along ranks. Times are in seconds, shifts are logarithms of ratios."""

    runs: RunView
    state: ShiftState
    fresh: Flags  # the rank still reports
    now: Floats  # median step of the latest reports
    usual: Floats  # step of its past
    shift: Floats  # relative to its past
    against_peers: Floats  # shift beyond the median shift of its run
    early_against_peers: Floats  # the same, some reports earlier
    beyond_offset: Floats  # how much slower it is among its peers than usual; NaN: unknown
    peers: Floats  # current step of the others
    run_shift: Floats  # along runs: median shift of the ranks
    run_upper_shift: Floats  # along runs: median shift of the upper third of the latest reports
    complete: Flags  # along runs: several ranks report, and most of those that ever reported
    slow_single_steps: Flags  # single steps became slow repeatedly, but not on its peers
    added: Floats  # by slow single steps, relative to the usual time …
    usually_added: Floats  # … and what they added before
    steady: Mapping[str, Floats]  # by the names in `STEADY`: seconds a step
    quick: QuickSlow  # ranks that became slower within the last few reports

    @cached_property
    def in_step(self) -> Flags:
        """Return True if the rank's steps are as long as those of most others, so something makes them wait."""
        runs = self.runs
        slow, fast = runs.quantiles(self.now, 0.75, 0.25)
        alike = (slow <= fast * (1 + EQUAL)) & (runs.known(self.now) >= 2)
        return alike[runs.run_of] & (np.abs(self.now - self.peers) <= EQUAL * self.peers)

    @property
    def differs(self) -> Flags:
        """Return True if most of a rank's shift is its own, and not the start of a slow phase of the whole run."""
        least = np.maximum(_LEAST_DIFFERENCE, 0.5 * self.shift)
        own = (self.shift >= _LEAST_DIFFERENCE) & (self.against_peers >= least)
        edge = self.run_upper_shift[self.runs.run_of] >= 0.5 * self.shift  # a third of its peers' reports are as slow
        in_place = self.beyond_offset < _EARLY * least  # only the pasts differ in age
        return own & (self.early_against_peers >= _EARLY * least) & ~edge & ~in_place & ~self.in_step

    @property
    def still_differs(self) -> Flags:
        """Return True above the exit level, or if this is unknown because peers have left or the rank restarted."""
        back = (self.against_peers < _LEAVE * _LEAST_DIFFERENCE) | (
            self.beyond_offset < _LEAVE * _EARLY * _LEAST_DIFFERENCE
        )
        mine: Flags = ~self.complete[self.runs.run_of] | ~back
        return mine


class StepTimeTracker:
    """Computes the step times of each view once for all detectors; None between its periods."""

    def __init__(self, runs: Runs, slower_ratio: float = 0.12) -> None:
        self._runs = runs
        self._shifts = LevelShifts(slower_ratio)
        self._offsets = RankOffsets()
        self._single_steps = SlowSingleSteps(slower_ratio)
        self._quick = QuickSlowness(float(np.log1p(slower_ratio)))
        self._kept = SubjectArrays(work=float("nan"), now=float("nan"), **dict.fromkeys(STEADY, float("nan")))
        self._most = SubjectArrays(ranks=0)  # along runs: the most ranks with a known shift at the same time
        self._view: View | None = None
        self._step_times: StepTimes | None = None
        self._cadence = Cadence(_SECONDS)
        self._shares = RoundRobin(_SECONDS)
        self._changed: set[str] = set()

    def begin_again(self, run: str) -> None:
        """Learn the past of a run again, because its steps were changed on purpose."""
        self._changed.add(run)

    def take(self, view: View) -> None:
        """Take the newest reports of a share of the ranks, to spread the work for a large fleet over seconds."""
        runs = self._runs.of(view)
        self._take(runs, self._shares.select(view, len(runs.keys)))

    def of(self, view: View) -> StepTimes | None:
        """Return the current step times. Call it after `take`."""
        if view is not self._view:
            self._view = view
            self._step_times = self._compute(view, self._runs.of(view)) if self._cadence.due(view) else None
            if self._changed and self._step_times is not None:
                self._forget_pasts(self._step_times)
                self._step_times = self._compute(view, self._step_times.runs)
        return self._step_times

    def _take(self, runs: RunView, selected: Flags) -> None:
        counts = runs.ranks.counts
        places = self._shifts.fresh(runs.subjects, counts)
        places = places[selected[places]]
        self._kept.align(runs.subjects)
        if not len(places):
            return
        self._learn_work(runs, places)
        logs = self._logs(runs, REPORTS, places)
        fresh = np.minimum(counts[places] - self._shifts.kept["seen"][places], REPORTS)
        self._shifts.take(places, counts[places], runs.ranks.times(REPORTS, places), logs)
        self._take_single(runs, places, logs, fresh)
        for name in STEADY:
            self._kept[name][places] = runs.ranks.steady_mean(name, places)
        self._kept["now"][places] = np.exp(medians(logs[REPORTS // 2 :].T))

    def _take_single(self, runs: RunView, places: Places, logs: Floats, fresh: Places) -> None:
        """Take single steps of ranks with a past whose medians have not changed."""
        self._single_steps.align(runs.subjects)
        some = np.flatnonzero(self._shifts.unchanged(places))
        excess = np.expm1(logs[:, some] - self._shifts.kept["usual"][places[some]])
        self._single_steps.take(places[some], excess, fresh[some], self._shifts.kept["noise"][places[some]])

    def _compute(self, view: View, runs: RunView) -> StepTimes:
        ranks = runs.ranks
        fresh = view.now - ranks.column("at") <= _FRESH_SECONDS + 3 * ranks.column("longest_gap")
        now = np.where(fresh, self._kept["now"], np.nan)
        state, beyond_offset = self._compare(runs, now)
        shift = np.where(fresh, state.shift, np.nan)
        run_shift = runs.median(shift)
        early = np.where(fresh, state.early_shift, np.nan)
        complete = self._complete(runs, shift)
        return StepTimes(
            runs,
            state,
            fresh,
            now,
            np.exp(state.usual),
            shift,
            shift - run_shift[runs.run_of],
            early - runs.median(early)[runs.run_of],
            beyond_offset,
            runs.median(now)[runs.run_of],
            run_shift,
            runs.median(np.where(fresh, state.upper_shift, np.nan)),
            complete,
            self._single(runs, fresh & complete[runs.run_of]),
            self._single_steps.added,
            self._single_steps.usual,
            {name: self._kept[name] for name in STEADY},
            self._quick.update(
                runs, fresh, partial(self._logs, runs), self._shifts.kept["resumed"], self._shifts.long_spread
            ),
        )

    def _single(self, runs: RunView, comparable: Flags) -> Flags:
        """Return the ranks whose single steps became slow, compared with their own past and their peers."""
        self._single_steps.align(runs.subjects)
        beyond = np.where(comparable, self._single_steps.beyond(), np.nan)
        of_peers = np.maximum(runs.median(beyond), 0.0)[runs.run_of]
        return self._single_steps.judge(np.where(comparable, beyond - of_peers, np.nan))

    def _compare(self, runs: RunView, now: Floats) -> tuple[ShiftState, Floats]:
        """Compare ranks with their pasts and their peers. A short past that was left long ago is forgotten."""
        state = self._shifts.state()
        logs = np.where(state.known, np.log(now), np.nan)
        beyond_offset = self._offsets.update(runs, logs, runs.ranks.counts, state.shifted)
        gone = np.flatnonzero(state.outlasted & ~(beyond_offset >= _LEAVE * _EARLY * _LEAST_DIFFERENCE))
        if len(gone):
            self._shifts.forget(gone)
            state = self._shifts.state()
        return state, beyond_offset

    def _forget_pasts(self, times: StepTimes) -> None:
        """Forget the pasts of the runs that were changed.

        A change is made on all ranks. A rank that has become slower than its peers keeps its past: it is still slower.
        Offsets stay too, because a change of all ranks does not affect them.
        """
        runs = times.runs
        changed = np.array([subject.run in self._changed for subject in runs.runs.names], dtype=bool)
        self._changed.clear()
        slow = times.state.shifted & times.complete[runs.run_of] & times.still_differs
        places = np.flatnonzero(changed[runs.run_of] & ~slow)
        self._shifts.begin_again(places, runs.ranks.counts[places])
        self._single_steps.forget(places)
        self._quick.begin_again(runs, places)
        self._kept["work"][places] = np.nan

    def _complete(self, runs: RunView, shift: Floats) -> Flags:
        self._most.align(runs.runs)
        known = runs.known(shift)
        most = np.maximum(self._most["ranks"], known)
        self._most["ranks"] = most
        complete: Flags = (known >= 2) & (known >= _MOST * most)
        return complete

    def _logs(self, runs: RunView, reports: int, places: Places) -> Floats:
        """Return the logarithms of the latest step times, without what more work than usual explains."""
        steps = runs.ranks.ring("step_seconds", reports, places).astype(np.float64)
        logs: Floats = np.log(steps)
        if self._work_name(runs):
            work = runs.ranks.ring(self._work_name(runs), reports, places).astype(np.float64)
            more = np.log(np.maximum(work, 1e-9) / np.maximum(self._kept["work"][places], 1e-9))
            logs -= np.clip(known_or(0.0, more), 0, None)
        return logs

    def _learn_work(self, runs: RunView, places: Places) -> None:
        """Learn how many tokens (or samples) a step usually has. Steps with more of them are expected to be longer."""
        if not self._work_name(runs):
            return
        work = runs.ranks.ring(self._work_name(runs), REPORTS, places).astype(np.float64)
        known = np.count_nonzero(~np.isnan(work), axis=0)
        newest = np.nansum(work, axis=0) / np.maximum(known, 1)
        usual = self._kept["work"][places]
        usual = np.where(np.isnan(usual), newest, usual + (newest - usual) / 600)
        self._kept["work"][places] = np.where(known > 0, usual, np.nan)

    @staticmethod
    def _work_name(runs: RunView) -> str:
        """Return the first measure of work that any rank reports, or an empty string."""
        return next((name for name in ("tokens", "samples") if not np.isnan(runs.ranks.column(name)).all()), "")


class StepTimeUpdater:
    """Takes the reports before the detectors that use them run. It makes no claims."""

    name = "paces"
    kinds: Sequence[EventKind] = ()
    needs: Sequence[str] = (ANY_STEP,)

    def __init__(self, tracker: StepTimeTracker) -> None:
        self._tracker = tracker

    def observe(self, view: View) -> Iterable[Claims]:
        """Take the reports of this second."""
        self._tracker.take(view)
        return ()

    def begin_again(self, run: str) -> None:
        """Learn the past of a run again."""
        self._tracker.begin_again(run)
