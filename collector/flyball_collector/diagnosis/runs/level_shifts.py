"""Detects when a series of step times shifts to a higher level and stays there, for many series at once.

A series is compared with its own past: medians of eight reports each. No median is taken while the series is slower
than usual, so that a slow level does not become the usual one. The latest twenty reports have shifted if the medians of
both halves are above the past by the least shift and by several of the past's spreads. Single slow steps, heavy tails
and phases of a few reports do not change these medians. A phase that comes back (evaluation) must last longer than the
time before. The first steps after a stop (restart) are slow; until they are over, nothing is known. A series that began
in a fast phase looks slow forever after: a shift that has `outlasted` a short past several times may be the usual
level.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flyball_collector.diagnosis.subject import Subjects
from flyball_collector.diagnosis.subject_arrays import Row, SubjectArrays

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Places = NDArray[np.int64]

REPORTS = 20
"""The number of latest reports that are evaluated."""

_HALF = REPORTS // 2
_UPPER = 7  # position among the sorted reports of a half: the lowest of its upper third
_BLOCK = 8  # reports in a median of the past
_PAST = 64  # medians that are kept: about nine minutes at one report a second
_EVERY = 8
_SOME = 16  # up to this number of medians, the spread is computed with each
_ENOUGH = 128  # from this number of medians on, the long past shows the variation of an hour
_LEAST = 4  # medians needed for a past
_YOUNG = 10  # with fewer medians, half of them may be from a fast phase (four minutes at a report every ten seconds)
_WARM_UP = 16  # first reports, which do not count as past
_SPREADS = 5.0
_OF_MEDIAN = 0.45  # the spread of a median of eight against that of one report: √(π/2) / √8
_FEW_MORE = 4.0  # corrects the spread of few medians, which is too small
_LEAST_SPREAD = 0.01  # of the logarithm
_LEAVE = 0.6  # of the entry level
_ADOPT = 240  # reports just below the entry level until they become the usual level
_OUTLASTS = 4  # times the reports of its past; and longer than `_ADOPT`
_PHASE_SECONDS = 300.0  # the longest phase that may come back
_RETURNS = 1.5  # a phase that comes back may last this much longer than before
_STOP_SECONDS, _STOP_INTERVALS = 60.0, 8.0  # a series stopped if it had no report for both of these times …
_OFTEN_SECONDS = 3600.0  # … unless it pauses three times within this time: then it evaluates or saves
_WARM_UP_SECONDS = 300.0  # caches, compilers and clocks settle after a restart


@dataclass(frozen=True, slots=True)
class ShiftState:
    """The state of each series against its past."""

    shifted: Flags
    known: Flags  # there is a past to compare with
    shift: Floats  # of the logarithm, in the later half of the latest reports …
    early_shift: Floats  # … and in the earlier half
    upper_shift: Floats  # the shift that the upper third of the later half exceeds
    usual: Floats  # median of the past, a logarithm
    since: Floats  # start of the shift in seconds; NaN: not shifted
    until: Floats  # time of the latest slow report
    peak: Floats  # the largest shift since then
    reports: Places  # number of reports since then
    outlasted: Flags  # the past is short, and the shift has lasted several times as long


class LevelShifts:
    """Follows series of logarithms. Call `update` at least every eight reports."""

    def __init__(self, least_shift: float = 0.10) -> None:
        self._least = float(np.log1p(least_shift))
        self.kept = SubjectArrays(
            past=Row(_PAST, float("nan")),
            long_past=Row(_PAST, float("nan")),  # every eighth median: more than an hour
            admitted=0,
            seen=0,  # reports at the last update
            blocked=0,  # reports at the last block
            held=0,  # reports in a row just below the entry level
            usual=float("nan"),
            spread=float("nan"),
            narrow=float("nan"),  # spread of the past's medians …
            wide=float("nan"),  # … and of the long past's medians
            shift=float("nan"),
            early_shift=float("nan"),
            upper_shift=float("nan"),
            shifted=False,
            since=float("nan"),
            until=float("nan"),
            since_report=0,
            newest=float("nan"),  # time of the newest report
            phase=float("nan"),  # length of the last phase in seconds …
            phase_shift=float("nan"),  # … and its shift
            peak=float("nan"),  # of the current shift
            noise=float("nan"),  # spread of single reports
            paused=float("-inf"),  # time of the first report after the last pause …
            paused_before=float("-inf"),  # … and after the pause before
            resumed=0,  # number of the first report after the last stop …
            resumed_at=float("-inf"),  # … and its time
        )

    def fresh(self, subjects: Subjects, counts: Places) -> Places:
        """Return the series with new reports."""
        self.kept.align(subjects)
        return np.flatnonzero(counts > self.kept["seen"])

    def update(self, places: Places, counts: Places, times: Floats, logs: Floats) -> ShiftState:
        """Take the latest reports and return the state of all series."""
        self.take(places, counts, times, logs)
        return self.state()

    def take(self, places: Places, counts: Places, times: Floats, logs: Floats) -> None:
        """Take the latest `REPORTS` of the series at these positions (report × series), with their counts and times."""
        kept = self.kept
        if len(places):
            self._notice_stops(places, counts, times)
            kept["seen"][places] = counts
            kept["newest"][places] = times[-1]
            later = np.sort(logs[_HALF:].T, axis=1)
            middles = np.stack([medians(logs[:_HALF].T), middles_of(later)])
            self._judge(places, counts, times, logs, middles)
            upper = later[:, _UPPER] - kept["usual"][places]
            kept["upper_shift"][places] = np.where(np.isnan(kept["shift"][places]), np.nan, upper)
            self._admit(places, counts, logs)

    def state(self) -> ShiftState:
        """Return the state of all series as of their last reports."""
        kept = self.kept
        since = np.where(kept["shifted"], kept["since"], np.nan)
        reports = np.where(kept["shifted"], kept["seen"] - kept["since_report"], 0)
        return ShiftState(
            self._shifted(),
            ~np.isnan(kept["shift"]),
            kept["shift"],
            kept["early_shift"],
            kept["upper_shift"],
            kept["usual"],
            since,
            kept["until"],
            kept["peak"],
            reports,
            self._outlasted(reports),
        )

    @property
    def long_spread(self) -> Floats:
        """Return the spread of each past; NaN while it has few medians, whose spread is overestimated on purpose."""
        return np.where(self.kept["admitted"] >= _SOME, self.kept["spread"], np.nan)

    def unchanged(self, places: Places) -> Flags:
        """Return which of these series have a past and are not near the entry level."""
        kept = self.kept
        entry = np.maximum(self._least, _SPREADS * kept["spread"][places])
        usual: Flags = ~kept["shifted"][places] & (kept["shift"][places] < _LEAVE * entry)
        return usual

    def forget(self, places: Places) -> None:
        """Forget the past of these series, so that it is learnt again."""
        kept = self.kept
        for name in ("past", "long_past", "usual", "spread", "narrow", "wide", "shift", "early_shift", "upper_shift"):
            kept[name][places] = np.nan
        kept["admitted"][places] = kept["held"][places] = 0
        kept["shifted"][places] = False

    def begin_again(self, places: Places, counts: Places) -> None:
        """Learn these series again from reports that are later than these counts, after a warm-up."""
        self.forget(places)
        self.kept["resumed"][places] = counts

    def _notice_stops(self, places: Places, counts: Places, times: Floats) -> None:
        """Note series whose reports paused for much longer than usual."""
        kept, gaps = self.kept, np.diff(times, axis=0)
        widest = np.fmax.reduce(gaps, axis=0)
        some = np.flatnonzero(widest >= _STOP_SECONDS)  # few; medians of all series would cost more than all the rest
        some = some[widest[some] >= _STOP_INTERVALS * medians(gaps[:, some].T)]
        if not len(some):
            return
        after = np.nanargmax(gaps[:, some], axis=0) + 1
        at, before = times[after, some], kept["paused"][places[some]]
        new = at > before
        stops = new & (at - kept["paused_before"][places[some]] > _OFTEN_SECONDS)
        kept["paused_before"][places[some[new]]], kept["paused"][places[some[new]]] = before[new], at[new]
        stopped = places[some[stops]]
        kept["resumed"][stopped] = (counts[some] - REPORTS + after)[stops]
        kept["resumed_at"][stopped] = at[stops]

    def _judge(self, places: Places, counts: Places, times: Floats, logs: Floats, middles: Floats) -> None:
        kept = self.kept
        usual, shifted = kept["usual"][places], kept["shifted"][places]
        entry = np.maximum(self._least, _SPREADS * kept["spread"][places])
        early, late = middles - usual
        known = (counts - kept["resumed"][places] >= REPORTS + _WARM_UP) & (kept["admitted"][places] >= _LEAST)
        known &= times[-1] - kept["resumed_at"][places] >= _WARM_UP_SECONDS
        begins = known & ~shifted & (late >= entry) & (early >= _LEAVE * entry)
        ends = known & shifted & (late < _LEAVE * entry)
        peak = kept["peak"][places]
        kept["peak"][places] = np.where(begins, late, np.fmax(peak, np.where(shifted, late, peak)))
        above = logs >= (usual + entry / 2)
        first, last = _edges(above)  # where the shift began, and where it ended
        self._end(places[ends], times[last, np.arange(len(last))][ends])
        kept["shifted"][places] = (shifted | begins) & ~ends
        kept["since"][places[begins]] = times[first, np.arange(len(first))][begins]
        some = above.any(axis=0)
        kept["until"][places[some]] = times[last, np.arange(len(last))][some]
        kept["since_report"][places[begins]] = (counts - REPORTS + first)[begins]
        kept["shift"][places] = np.where(known, late, np.nan)
        kept["early_shift"][places] = np.where(known, early, np.nan)

    def _end(self, places: Places, ended: Floats) -> None:
        kept = self.kept
        lasted = ended - kept["since"][places]
        phase = lasted <= _PHASE_SECONDS
        kept["phase"][places[phase]] = lasted[phase]
        kept["phase_shift"][places[phase]] = kept["peak"][places[phase]]

    def _shifted(self) -> Flags:
        """Return which series have shifted, not counting a phase like the last one."""
        kept = self.kept
        alike = np.abs(kept["peak"] - kept["phase_shift"]) <= 0.3 * np.abs(kept["phase_shift"])
        lasted = kept["newest"] - kept["since"]
        shifted: Flags = kept["shifted"] & ~(alike & (lasted < _RETURNS * kept["phase"]))
        return shifted

    def _outlasted(self, reports: Places) -> Flags:
        admitted = self.kept["admitted"]
        outlasted: Flags = (admitted < _PAST) & (reports > np.maximum(_ADOPT, _OUTLASTS * _BLOCK * admitted))
        return outlasted

    def _admit(self, places: Places, counts: Places, logs: Floats) -> None:
        """Add medians of eight reports to the past, while the series is not slower than usual."""
        kept = self.kept
        entry = np.maximum(self._least, _SPREADS * kept["spread"][places])
        near = kept["shift"][places] >= _LEAVE * entry
        due = (counts - kept["blocked"][places] >= _BLOCK) & (counts - kept["resumed"][places] >= _WARM_UP + _BLOCK)
        due &= (kept["admitted"][places] < _LEAST) | ~np.isnan(
            kept["shift"][places]
        )  # only what was judged, if possible
        kept["held"][places[due]] = np.where(near, kept["held"][places] + _BLOCK, 0)[due]
        kept["blocked"][places[due]] = counts[due]
        due &= ~kept["shifted"][places] & (~near | (kept["held"][places] > _ADOPT))
        some, chosen = places[due], np.flatnonzero(due)
        if not len(some):
            return
        kept["past"][some, kept["admitted"][some] % _PAST] = medians(logs[-_BLOCK:, chosen].T)
        eighth = kept["admitted"][some] % _EVERY == 0
        kept["long_past"][some[eighth], kept["admitted"][some[eighth]] // _EVERY % _PAST] = kept["past"][
            some[eighth], kept["admitted"][some[eighth]] % _PAST
        ]
        kept["admitted"][some] += 1
        past = kept["past"][some]
        slowest = np.fmax.reduce(past, axis=1)  # with a young past: the level before a fast phase is the usual one
        kept["usual"][some] = np.where(kept["admitted"][some] < _YOUNG, slowest, medians(past))
        found = self._spread_of_past(some)
        latest = logs[:, chosen].T
        noise = deviation(latest)
        before = kept["noise"][some]
        kept["noise"][some] = np.where(np.isnan(before), noise, before + (noise - before) / 8)
        kept["spread"][some] = np.maximum(np.fmax(found, _OF_MEDIAN * kept["noise"][some]), _LEAST_SPREAD)

    def _spread_of_past(self, places: Places) -> Floats:
        """Return the spread of the past. It changes slowly, so with many medians it is not computed each time."""
        kept, admitted = self.kept, self.kept["admitted"][places]
        due = places[(admitted <= _SOME) | (admitted % _EVERY % 4 == 1)]
        kept["narrow"][due] = deviation(kept["past"][due])
        wide = places[(admitted >= _ENOUGH) & (admitted % _EVERY == 1)]
        kept["wide"][wide] = deviation(kept["long_past"][wide])
        found: Floats = np.fmax(kept["narrow"][places] * (1 + _FEW_MORE / admitted), kept["wide"][places])
        return found


def _edges(above: Flags) -> tuple[Places, Places]:
    """Return the first and last report above, of each series; single reports count only if there is no pair."""
    pairs = above[1:] & above[:-1]
    chosen = np.where(pairs.any(axis=0), False, above)
    chosen[1:] |= pairs
    chosen[:-1] |= pairs
    last = len(above) - 1 - np.argmax(chosen[::-1], axis=0)
    return np.argmax(chosen, axis=0), np.where(chosen.any(axis=0), last, 0)


def deviation(values: NDArray[Any]) -> Floats:
    """Return the median distance from the median of each row, scaled to a standard deviation."""
    spread: Floats = 1.4826 * medians(np.abs(values - medians(values)[:, None]))
    return spread


def medians(values: NDArray[Any]) -> Floats:
    """Return the median of the known values of each row, many times faster than `nanmedian`."""
    return middles_of(np.sort(values, axis=1))


def middles_of(ordered: NDArray[Any]) -> Floats:
    """Return the median of the known values of each row, which is in ascending order with unknown values last."""
    count = ordered.shape[1]
    if count and not np.isnan(ordered[:, -1]).any():  # the usual case
        return np.asarray((ordered[:, (count - 1) // 2] + ordered[:, count // 2]) / 2)
    known = count - np.count_nonzero(np.isnan(ordered), axis=1)
    rows = np.arange(len(ordered))
    low, high = np.maximum(known - 1, 0) // 2, np.minimum(known // 2, count - 1)
    middle: Floats = (ordered[rows, low] + ordered[rows, high]) / 2
    return middle
