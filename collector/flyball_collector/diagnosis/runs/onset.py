"""When a series of step times moved to a higher level, and stayed: many series at once, robust against outliers.

A series is compared with its own past: medians of eight reports each, of which none is taken while it is slower than
usual, so that what is usual does not become slow. The latest twenty reports have moved when the medians of both their
halves lie above it by the least shift and by several of its own spreads. Single slow steps, heavy tails and phases of
a few reports change no median; phases that come back (evaluation) must last longer than the time before. After a stop
(a restart) the first steps are slow as a matter of course: until they are over nothing is known. A series that began
in a fast phase looks slow ever after: what has `outlasted` a short past several times may be what is usual.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flyball_collector.diagnosis.keeping import Kept
from flyball_collector.diagnosis.subject import Subjects

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Places = NDArray[np.int64]

REPORTS = 20
"""Latest reports that are looked at."""

_HALF = REPORTS // 2
_UPPER = 7  # of the ordered reports of a half: the least of its upper third
_BLOCK = 8  # reports behind a median of the past
_PAST = 64  # of these are kept: some nine minutes of one report a second
_EVERY = 8
_SOME = 16  # up to so many, the spread is worked out with each
_ENOUGH = 128  # medians before these tell how far a series wanders in an hour
_LEAST = 4  # of these make a past
_YOUNG = 10  # before so many a fast phase (four minutes, a report each ten seconds) can be half of them
_WARM_UP = 16  # first reports that make no past
_SPREADS = 5.0
_OF_MEDIAN = 0.45  # the spread of a median of eight against that of one: √(π/2) / √8
_FEW_MORE = 4.0  # a few medians alone look more alike than they are
_LEAST_SPREAD = 0.01  # of the logarithm: step times are steadier than their clock
_LEAVE = 0.6  # of the entry level
_ADOPT = 240  # reports just below the entry level until they become usual
_OUTLASTS = 4  # times the reports of its past, and longer than it takes to adopt what is no move
_PHASE_SECONDS = 300.0  # a phase that comes back is no longer than this
_RETURNS = 1.5  # and may last this much longer than the time before
_STOP_SECONDS, _STOP_INTERVALS = 60.0, 8.0  # without a report, at least, before a series counts as stopped …
_OFTEN_SECONDS = 3600.0  # who pauses three times within it evaluates, or saves, meanwhile: it was not stopped
_WARM_UP_SECONDS = 300.0  # caches, compilers and clocks settle after a restart


@dataclass(frozen=True, slots=True)
class Moved:
    """Along the series: how they stand to their past."""

    moved: Flags
    known: Flags  # there is a past to compare with
    shift: Floats  # of the logarithm, in the later half of the latest reports …
    early_shift: Floats  # … and in the earlier half
    upper_shift: Floats  # what the upper third of the later half is beyond
    usual: Floats  # the past's median, a logarithm
    since: Floats  # when the move began, in seconds; NaN: not moved
    until: Floats  # its latest report that was slow
    peak: Floats  # the largest shift since then
    reports: Places  # since then
    outlasted: Flags  # it has been so for several times as long as the past that it is compared with, which is short


class Onsets:
    """Follows series of logarithms; `look` at least every eight reports."""

    def __init__(self, least_shift: float = 0.10) -> None:
        self._least = float(np.log1p(least_shift))
        self.kept = Kept(
            past=((_PAST,), float("nan")),
            long_past=((_PAST,), float("nan")),  # every eighth of these medians: an hour and more
            admitted=0,
            seen=0,  # reports at the last look
            blocked=0,  # reports at the last block
            held=0,  # reports that were just below the entry level in a row
            usual=float("nan"),
            spread=float("nan"),
            narrow=float("nan"),  # of the past's medians …
            wide=float("nan"),  # … and of the long past's
            shift=float("nan"),
            early_shift=float("nan"),
            upper_shift=float("nan"),
            moved=False,
            since=float("nan"),
            until=float("nan"),
            since_report=0,
            newest=float("nan"),  # time of the newest report
            phase=float("nan"),  # how long the last phase was that went by, in seconds …
            phase_shift=float("nan"),  # … and how high
            peak=float("nan"),  # of this move
            noise=float("nan"),  # of single reports
            paused=float("-inf"),  # time of the report after the last pause …
            paused_before=float("-inf"),  # … and after the one before
            resumed=0,  # the report after the last stop …
            resumed_at=float("-inf"),  # … and its time
        )

    def fresh(self, subjects: Subjects, counts: Places) -> Places:
        """The series with reports that have not been looked at."""
        self.kept.align(subjects)
        return np.flatnonzero(counts > self.kept["seen"])

    def look(self, places: Places, counts: Places, times: Floats, logs: Floats) -> Moved:
        """Take the latest reports, and say how all series stand."""
        self.take(places, counts, times, logs)
        return self.stand()

    def take(self, places: Places, counts: Places, times: Floats, logs: Floats) -> None:
        """The latest `REPORTS` of the series at these places (report × series), and their counts and times."""
        kept = self.kept
        if len(places):
            self._notice_stops(places, counts, times)
            kept["seen"][places] = counts
            kept["newest"][places] = times[-1]
            middles = np.stack([medians(logs[:_HALF].T), medians(logs[_HALF:].T)])
            self._judge(places, counts, times, logs, middles)
            upper = np.sort(logs[_HALF:].T, axis=1)[:, _UPPER] - kept["usual"][places]
            kept["upper_shift"][places] = np.where(np.isnan(kept["shift"][places]), np.nan, upper)
            self._admit(places, counts, logs)

    def stand(self) -> Moved:
        """All series, as far as they have been looked at."""
        kept = self.kept
        since = np.where(kept["moved"], kept["since"], np.nan)
        reports = np.where(kept["moved"], kept["seen"] - kept["since_report"], 0)
        return Moved(
            self._lasting(),
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

    def as_ever(self, places: Places) -> Flags:
        """Which of these have a past, and a median that is not nearly beyond it."""
        kept = self.kept
        entry = np.maximum(self._least, _SPREADS * kept["spread"][places])
        usual: Flags = ~kept["moved"][places] & (kept["shift"][places] < _LEAVE * entry)
        return usual

    def forget(self, places: Places) -> None:
        """What is usual for these series is learnt anew."""
        kept = self.kept
        for name in ("past", "long_past", "usual", "spread", "narrow", "wide", "shift", "early_shift", "upper_shift"):
            kept[name][places] = np.nan
        kept["admitted"][places] = kept["held"][places] = 0
        kept["moved"][places] = False

    def _notice_stops(self, places: Places, counts: Places, times: Floats) -> None:
        """Where reports failed to come for much longer than they are wont to."""
        kept, gaps = self.kept, np.diff(times, axis=0)
        widest = np.fmax.reduce(gaps, axis=0)
        some = np.flatnonzero(widest >= _STOP_SECONDS)  # few: the medians of all would cost more than the rest of it
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
        usual, moved = kept["usual"][places], kept["moved"][places]
        entry = np.maximum(self._least, _SPREADS * kept["spread"][places])
        early, late = middles - usual
        known = (counts - kept["resumed"][places] >= REPORTS + _WARM_UP) & (kept["admitted"][places] >= _LEAST)
        known &= times[-1] - kept["resumed_at"][places] >= _WARM_UP_SECONDS
        begins = known & ~moved & (late >= entry) & (early >= _LEAVE * entry)
        ends = known & moved & (late < _LEAVE * entry)
        peak = kept["peak"][places]
        kept["peak"][places] = np.where(begins, late, np.fmax(peak, np.where(moved, late, peak)))
        above = logs >= (usual + entry / 2)
        first, last = _edges(above)  # where the move began, and where it ended
        self._end(places[ends], times[last, np.arange(len(last))][ends])
        kept["moved"][places] = (moved | begins) & ~ends
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

    def _lasting(self) -> Flags:
        """Moved, and no phase as the one that went by."""
        kept = self.kept
        alike = np.abs(kept["peak"] - kept["phase_shift"]) <= 0.3 * np.abs(kept["phase_shift"])
        lasted = kept["newest"] - kept["since"]
        lasting: Flags = kept["moved"] & ~(alike & (lasted < _RETURNS * kept["phase"]))
        return lasting

    def _outlasted(self, reports: Places) -> Flags:
        admitted = self.kept["admitted"]
        outlasted: Flags = (admitted < _PAST) & (reports > np.maximum(_ADOPT, _OUTLASTS * _BLOCK * admitted))
        return outlasted

    def _admit(self, places: Places, counts: Places, logs: Floats) -> None:
        """What is usual: medians of eight reports, of which none was slower than usual."""
        kept = self.kept
        entry = np.maximum(self._least, _SPREADS * kept["spread"][places])
        near = kept["shift"][places] >= _LEAVE * entry
        due = (counts - kept["blocked"][places] >= _BLOCK) & (counts - kept["resumed"][places] >= _WARM_UP + _BLOCK)
        due &= (kept["admitted"][places] < _LEAST) | ~np.isnan(kept["shift"][places])  # what is judged, once it can be
        kept["held"][places[due]] = np.where(near, kept["held"][places] + _BLOCK, 0)[due]
        kept["blocked"][places[due]] = counts[due]
        due &= ~kept["moved"][places] & (~near | (kept["held"][places] > _ADOPT))
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
        slowest = np.fmax.reduce(past, axis=1)  # of a young past: the pace before a fast phase is no move after it
        kept["usual"][some] = np.where(kept["admitted"][some] < _YOUNG, slowest, medians(past))
        found = self._spread_of_past(some)
        latest = logs[:, chosen].T
        noise = deviation(latest)
        before = kept["noise"][some]
        kept["noise"][some] = np.where(np.isnan(before), noise, before + (noise - before) / 8)
        kept["spread"][some] = np.maximum(np.fmax(found, _OF_MEDIAN * kept["noise"][some]), _LEAST_SPREAD)

    def _spread_of_past(self, places: Places) -> Floats:
        """It changes slowly once there are many, so it is not worked out anew with each median."""
        kept, admitted = self.kept, self.kept["admitted"][places]
        anew = places[(admitted <= _SOME) | (admitted % _EVERY % 4 == 1)]
        kept["narrow"][anew] = deviation(kept["past"][anew])
        wide = places[(admitted >= _ENOUGH) & (admitted % _EVERY == 1)]
        kept["wide"][wide] = deviation(kept["long_past"][wide])
        found: Floats = np.fmax(kept["narrow"][places] * (1 + _FEW_MORE / admitted), kept["wide"][places])
        return found


def _edges(above: Flags) -> tuple[Places, Places]:
    """Of each series the first and the last report above, if it can be with another beside it: one alone is none."""
    pairs = above[1:] & above[:-1]
    chosen = np.where(pairs.any(axis=0), False, above)
    chosen[1:] |= pairs
    chosen[:-1] |= pairs
    last = len(above) - 1 - np.argmax(chosen[::-1], axis=0)
    return np.argmax(chosen, axis=0), np.where(chosen.any(axis=0), last, 0)


def deviation(values: NDArray[Any]) -> Floats:
    """Of each row: the median distance from the median, as a standard deviation."""
    spread: Floats = 1.4826 * medians(np.abs(values - medians(values)[:, None]))
    return spread


def medians(values: NDArray[Any]) -> Floats:
    """Of each row, of what is known; many times faster than `nanmedian`, and than along the other axis."""
    ordered = np.sort(values, axis=1)
    known = values.shape[1] - np.count_nonzero(np.isnan(values), axis=1)
    rows = np.arange(len(values))
    low, high = np.maximum(known - 1, 0) // 2, np.minimum(known // 2, values.shape[1] - 1)
    middle: Floats = (ordered[rows, low] + ordered[rows, high]) / 2
    return middle
