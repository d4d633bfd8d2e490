"""How fast every rank is now against its own past and against its peers: what fail-slow and stragglers are told by."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from flyball_collector.diagnosis.cadence import Cadence, Parts
from flyball_collector.diagnosis.claims import Claims
from flyball_collector.diagnosis.keeping import Kept
from flyball_collector.diagnosis.kinds import EventKind
from flyball_collector.diagnosis.runs.offsets import Offsets
from flyball_collector.diagnosis.runs.onset import REPORTS, Moved, Onsets
from flyball_collector.diagnosis.runs.run_view import Runs, RunView
from flyball_collector.diagnosis.runs.scattered import Scattered
from flyball_collector.diagnosis.seen_metrics import ANY_STEP
from flyball_collector.diagnosis.unknown import known_or
from flyball_collector.diagnosis.view import View

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Places = NDArray[np.int64]

EQUAL = 0.05
"""Steps that differ by no more are equally long."""

STEADY = ("own_seconds", "waiting_seconds", "data_wait_seconds")
"""Of these the mean of a rank's latest reports is kept, without the rare long ones."""

_SECONDS = 8
"""Eight reports make a median; ranks report once a second."""

_SILENT_SECONDS = 10.0
_MOST = 0.7
_EARLY = 0.6
_LEAVE = 0.5  # of the entry levels
_LEAST_APART = float(np.log1p(0.12))


@dataclass(frozen=True, eq=False)
class Pace:
    """Along ranks; times are seconds, shifts logarithms of ratios."""

    runs: RunView
    moved: Moved
    fresh: Flags  # still reports
    now: Floats  # median step of the latest reports
    usual: Floats  # of its past
    shift: Floats  # against its past
    against_peers: Floats  # that beyond the shift that its run's ranks have in the middle
    early_against_peers: Floats  # the same some reports before
    out_of_place: Floats  # how much slower it is among its peers than it is wont to be; NaN: not known
    peers: Floats  # the others' step now
    run_shift: Floats  # along runs
    run_upper_shift: Floats  # the same of the upper third of the latest reports
    complete: Flags  # along runs: several ranks report, and most of those that ever did
    scattered: Flags  # single steps of it became slow, again and again, and not its peers'
    added: Floats  # by slow single steps, as a share of the usual time …
    usually_added: Floats  # … and what they used to add
    steady: Mapping[str, Floats]  # by the names of `STEADY`: seconds a step

    @cached_property
    def in_step(self) -> Flags:
        """The rank's steps are as long as those of most others: something makes them wait for each other."""
        runs = self.runs
        slow, fast = runs.quantile(self.now, 0.75), runs.quantile(self.now, 0.25)
        alike = (slow <= fast * (1 + EQUAL)) & (runs.known(self.now) >= 2)
        return alike[runs.run_of] & (np.abs(self.now - self.peers) <= EQUAL * self.peers)

    @property
    def apart(self) -> Flags:
        """Most of the rank's shift is its own, not the run's, and not only while a phase of the whole run begins."""
        least = np.maximum(_LEAST_APART, 0.5 * self.shift)
        own = (self.shift >= _LEAST_APART) & (self.against_peers >= least)
        edge = self.run_upper_shift[self.runs.run_of] >= 0.5 * self.shift  # a third of its peers' reports are as slow
        in_place = self.out_of_place < _EARLY * least  # the others' past is only younger than its own
        return own & (self.early_against_peers >= _EARLY * least) & ~edge & ~in_place & ~self.in_step

    @property
    def still_apart(self) -> Flags:
        """The lower level; when the peers have gone, or the rank has just been restarted, nothing is known."""
        back = (self.against_peers < _LEAVE * _LEAST_APART) | (self.out_of_place < _LEAVE * _EARLY * _LEAST_APART)
        mine: Flags = ~self.complete[self.runs.run_of] | ~back
        return mine


class Paces:
    """Makes the pace of each view, once for all detectors that ask; `None` where it is not time to look."""

    def __init__(self, runs: Runs, slower_ratio: float = 0.12) -> None:
        self._runs = runs
        self._onsets = Onsets(slower_ratio)
        self._offsets = Offsets()
        self._scattered = Scattered(slower_ratio)
        self._kept = Kept(work=float("nan"), now=float("nan"), **dict.fromkeys(STEADY, float("nan")))
        self._most = Kept(ranks=0)  # along runs: of how many the shift was known at once
        self._view: View | None = None
        self._pace: Pace | None = None
        self._cadence = Cadence(_SECONDS)
        self._parts = Parts(_SECONDS)

    def take(self, view: View) -> None:
        """The newest reports of the ranks whose turn it is; what is dear about a large fleet is spread over seconds."""
        runs = self._runs.of(view)
        self._take(runs, self._parts.turn(view, len(runs.keys)))

    def of(self, view: View) -> Pace | None:
        """The pace now; call it after `take`."""
        if view is not self._view:
            self._view = view
            self._pace = self._look(view, self._runs.of(view)) if self._cadence.due(view) else None
        return self._pace

    def _take(self, runs: RunView, turn: Flags) -> None:
        counts = runs.ranks.counts
        places = self._onsets.fresh(runs.subjects, counts)
        places = places[turn[places]]
        self._kept.align(runs.subjects)
        if not len(places):
            return
        steps = runs.ranks.ring("step_seconds", REPORTS, places).astype(np.float64)
        logs = np.log(steps) - self._more_work(runs, places)
        fresh = np.minimum(counts[places] - self._onsets.kept["seen"][places], REPORTS)
        self._onsets.take(places, counts[places], runs.ranks.times(REPORTS, places), logs)
        self._take_single(runs, places, logs, fresh)
        for name in STEADY:
            self._kept[name][places] = runs.ranks.steady_mean(name, places)
        self._kept["now"][places] = np.exp(np.sort(logs[REPORTS // 2 :], axis=0)[REPORTS // 4])

    def _take_single(self, runs: RunView, places: Places, logs: Floats, fresh: Places) -> None:
        """Of ranks with a past, while their medians are as ever."""
        self._scattered.align(runs.subjects)
        some = np.flatnonzero(self._onsets.as_ever(places))
        excess = np.expm1(logs[:, some] - self._onsets.kept["usual"][places[some]])
        self._scattered.take(places[some], excess, fresh[some], self._onsets.kept["noise"][places[some]])

    def _look(self, view: View, runs: RunView) -> Pace:
        ranks = runs.ranks
        fresh = view.now - ranks.column("at") <= _SILENT_SECONDS + 3 * ranks.column("longest_gap")
        now = np.where(fresh, self._kept["now"], np.nan)
        moved, out_of_place = self._stand(runs, now)
        shift = np.where(fresh, moved.shift, np.nan)
        run_shift = runs.median(shift)
        early = np.where(fresh, moved.early_shift, np.nan)
        complete = self._complete(runs, shift)
        return Pace(
            runs,
            moved,
            fresh,
            now,
            np.exp(moved.usual),
            shift,
            shift - run_shift[runs.run_of],
            early - runs.median(early)[runs.run_of],
            out_of_place,
            runs.median(now)[runs.run_of],
            run_shift,
            runs.median(np.where(fresh, moved.upper_shift, np.nan)),
            complete,
            self._single(runs, fresh & complete[runs.run_of]),
            self._scattered.added,
            self._scattered.usual,
            {name: self._kept[name] for name in STEADY},
        )

    def _single(self, runs: RunView, comparable: Flags) -> Flags:
        """Whose single steps became slow: beyond its own past, and beyond what became of its peers' meanwhile."""
        self._scattered.align(runs.subjects)
        beyond = np.where(comparable, self._scattered.beyond(), np.nan)
        of_peers = np.maximum(runs.median(beyond), 0.0)[runs.run_of]
        return self._scattered.judge(np.where(comparable, beyond - of_peers, np.nan))

    def _stand(self, runs: RunView, now: Floats) -> tuple[Moved, Floats]:
        """Against their pasts, and among their peers; a short past that the run has left for long is none."""
        moved = self._onsets.stand()
        logs = np.where(moved.known, np.log(now), np.nan)
        out_of_place = self._offsets.look(runs, logs, runs.ranks.counts, moved.moved)
        gone = np.flatnonzero(moved.outlasted & ~(out_of_place >= _LEAVE * _EARLY * _LEAST_APART))
        if len(gone):
            self._onsets.forget(gone)
            moved = self._onsets.stand()
        return moved, out_of_place

    def _complete(self, runs: RunView, shift: Floats) -> Flags:
        self._most.align(runs.runs)
        known = runs.known(shift)
        most = np.maximum(self._most["ranks"], known)
        self._most["ranks"] = most
        whole: Flags = (known >= 2) & (known >= _MOST * most)
        return whole

    def _more_work(self, runs: RunView, places: Places) -> Floats:
        """By how much a step has more tokens (or samples) than usual: longer steps for that are no slowness."""
        said = [name for name in ("tokens", "samples") if not np.isnan(runs.ranks.column(name)[places]).all()]
        if not said:
            return np.zeros(len(places))
        work = runs.ranks.ring(said[0], REPORTS, places).astype(np.float64)
        known = np.count_nonzero(~np.isnan(work), axis=0)
        newest = np.nansum(work, axis=0) / np.maximum(known, 1)
        usual = self._kept["work"][places]
        usual = np.where(np.isnan(usual), newest, usual + (newest - usual) / 600)
        self._kept["work"][places] = np.where(known > 0, usual, np.nan)
        more = np.log(np.maximum(work, 1e-9) / np.maximum(usual, 1e-9))
        return np.where(known > 0, np.clip(known_or(0.0, more), 0, None), 0.0)


class PaceTaker:
    """Takes reports before those look who tell of them; claims nothing."""

    name = "paces"
    kinds: Sequence[EventKind] = ()
    needs: Sequence[str] = (ANY_STEP,)

    def __init__(self, paces: Paces) -> None:
        self._paces = paces

    def observe(self, view: View) -> Iterable[Claims]:
        """Nothing."""
        self._paces.take(view)
        return ()
