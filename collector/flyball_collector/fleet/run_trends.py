"""The last minutes of each run, one point every few seconds, for charts. Of an ended run they are its last figures."""

from collections.abc import Mapping, Sequence
from heapq import nsmallest
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Places = NDArray[np.int64]

POINT_SECONDS = 5
POINTS = 120
KEPT_SECONDS = POINT_SECONDS * POINTS
MAX_RUNS = 1024
"""More runs than this at a time get no points. A new run replaces the one without points for the longest time."""

SERIES = ("step", "step_seconds", "data_wait_ratio", "tokens_per_second", "samples_per_second", "loss")
MAX_BYTES = MAX_RUNS * POINTS * 8 * (1 + len(SERIES))

_SUMS = ("steps", "step_seconds", "data_wait_seconds", "tokens", "samples")
_HELD = ("step_seconds", "data_wait_ratio", "tokens_per_second", "samples_per_second", "spacing", "covered", "clock")
_KEPT_OF_COVERAGE = 0.9
"""Decay, at each point, of the sums that show which share of the clock is within steps: half is from the last 35 s."""

_FRESH_SECONDS = 15.0
"""The rate of a rank counts for this long after its last report, or for three times the time between its reports."""

_QUIET_SECONDS = 60.0
"""A run without a point that reports nothing for this long has ended: ranks are removed some minutes later."""

_FIRST_SLOTS = 16
_SECOND = 10**9


class ReportedRanks(Protocol):
    """The table of ranks, as this module reads it."""

    @property
    def keys(self) -> Sequence[tuple[str, int, str]]:
        """Return run, rank and host of each rank, sorted. It is the same object until ranks change."""

    def column(self, name: str) -> Floats:
        """Return a column in the order of the keys; NaN is unknown."""


class RunTrend(NamedTuple):
    """Points of a run, oldest first, in Unix time. NaN is unknown."""

    times: Floats
    values: Mapping[str, Floats]  # by name of the series

    def newest(self, name: str) -> float | None:
        """Return the newest known value of a series."""
        known = self.values[name][~np.isnan(self.values[name])]
        return float(known[-1]) if len(known) else None


class RunTrends:
    """Adds a point to each run that made a step since its last point."""

    def __init__(self, max_runs: int = MAX_RUNS) -> None:
        self._max = max_runs
        self._slots: dict[str, int] = {}
        self._counts: Places = np.zeros(0, dtype=np.int64)
        self._rings: Floats = np.full((1 + len(SERIES), 0, POINTS), np.nan)  # the first is the time
        self._rates = _RankRates()
        self._last = 0

    @property
    def bytes(self) -> int:
        """Return the size of the points."""
        return self._rings.nbytes

    def advance(self, now_ns: int, ranks: ReportedRanks) -> None:
        """Call it once a second. It does its work in one of `POINT_SECONDS` seconds."""
        now = now_ns // _SECOND
        if 0 <= now - self._last < POINT_SECONDS:
            return
        self._last = now
        if not len(ranks.keys):
            return
        rates = self._rates
        stepped = rates.update(ranks)
        runs, values = rates.of_runs(ranks, now_ns / _SECOND)
        moved = np.flatnonzero(np.bincount(rates.run_of, stepped, minlength=len(runs)) + self._short(now))
        if len(moved):
            self._add(now_ns / _SECOND, [runs[place] for place in moved], values[:, moved])

    def of(self, run: str) -> RunTrend | None:
        """Return the points of a run, or None if it has made no step that was seen."""
        slot = self._slots.get(run)
        if slot is None:
            return None
        count = int(self._counts[slot])
        order = np.arange(max(0, count - POINTS), count) % POINTS
        points = self._rings[:, slot, order]
        points = points[:, points[0] > points[0, -1] - KEPT_SECONDS]
        return RunTrend(points[0], dict(zip(SERIES, points[1:], strict=True)))

    def last_step(self, run: str) -> int | None:
        """Return the step at the newest point of a run, also after its end."""
        slot = self._slots.get(run)
        step = np.nan if slot is None else self._rings[1, slot, (self._counts[slot] - 1) % POINTS]
        return None if np.isnan(step) else int(step)

    def _short(self, now: float) -> NDArray[np.bool_]:
        """Return the runs that ended before their rates were known: one point keeps their last step and loss."""
        runs = self._rates.runs
        if len(self._slots) >= self._max:
            return np.zeros(len(runs), dtype=bool)
        return np.array([run not in self._slots for run in runs], dtype=bool) & self._rates.are_quiet(now)

    def _add(self, now: float, runs: Sequence[str], values: Floats) -> None:
        self._make_room(runs)
        slots = np.array([self._slots.get(run, -1) for run in runs], dtype=np.int64)
        values, slots = values[:, slots >= 0], slots[slots >= 0]
        at = self._counts[slots] % POINTS
        self._rings[0, slots, at] = now
        self._rings[1:, slots, at] = values
        self._counts[slots] += 1

    def _make_room(self, runs: Sequence[str]) -> None:
        """Give slots to new runs: free ones, else those of other runs, the longest without points first."""
        new = [run for run in runs if run not in self._slots]
        if not new:
            return
        self._grow(min(self._max, len(self._slots) + len(new)))
        free = list(range(len(self._slots), self._rings.shape[1]))
        if len(free) < len(new):
            current = frozenset(runs)
            others = [(self._newest(slot), run) for run, slot in self._slots.items() if run not in current]
            free += [self._slots.pop(run) for _, run in nsmallest(len(new) - len(free), others)]
        for run, slot in zip(new, free, strict=False):
            self._slots[run] = slot
            self._counts[slot] = 0
            self._rings[:, slot] = np.nan

    def _newest(self, slot: int) -> float:
        return float(self._rings[0, slot, (self._counts[slot] - 1) % POINTS])

    def _grow(self, needed: int) -> None:
        room = self._rings.shape[1]
        if needed > room:
            more = min(self._max, max(_FIRST_SLOTS, needed, 2 * room)) - room
            self._rings = np.concatenate([self._rings, np.full((1 + len(SERIES), more, POINTS), np.nan)], axis=1)
            self._counts = np.concatenate([self._counts, np.zeros(more, dtype=np.int64)])


class _RankRates:
    """The rates of each rank between its newest report and the one before, at the last points.

    Reports come in whole seconds and may hold the steps of nearly two, so that an amount divided by the time between
    two reports would jump. It is divided by the time of its steps, and by how much longer the clock ran than the steps
    in the last minute.
    """

    def __init__(self) -> None:
        self._keys: Sequence[tuple[str, int, str]] = ()
        self.runs: tuple[str, ...] = ()
        self.run_of: Places = np.zeros(0, dtype=np.int64)
        self._at: Floats = np.zeros(0)
        self._sums: Floats = np.zeros((len(_SUMS), 0))
        self._held: Floats = np.zeros((len(_HELD), 0))

    def update(self, ranks: ReportedRanks) -> NDArray[np.bool_]:
        """Compute the rates of the ranks that have reported steps since the last call. Return which they are."""
        self._align(ranks.keys)
        at, sums = ranks.column("at"), np.array([ranks.column(name) for name in _SUMS])
        grown = sums - self._sums
        passed = at - self._at
        stepped: NDArray[np.bool_] = (passed > 0) & (grown[0] > 0)
        steps, seconds, wait, tokens, samples = grown[:, stepped]
        known = np.where(seconds > 0, seconds, np.nan)
        covered, clock = _KEPT_OF_COVERAGE * np.nan_to_num(self._held[-2:, stepped]) + (seconds, passed[stepped])
        whole = known * clock / np.where(covered > 0, covered, np.nan)
        amounts = tokens / whole, samples / whole
        self._held[:, stepped] = known / steps, wait / known, *amounts, passed[stepped], covered, clock
        fresh = np.isnan(self._at) | (grown[0] < 0) | stepped  # a new rank, or one whose sums began again
        self._at[fresh], self._sums[:, fresh] = at[fresh], sums[:, fresh]
        return stepped

    def are_quiet(self, now: float) -> NDArray[np.bool_]:
        """Return the runs of which no rank has reported for a minute."""
        recent = now - self._at <= _QUIET_SECONDS
        quiet: NDArray[np.bool_] = np.bincount(self.run_of, recent, minlength=len(self.runs)) == 0
        return quiet

    def of_runs(self, ranks: ReportedRanks, now: float) -> tuple[tuple[str, ...], Floats]:
        """Return the runs, and their values in the order of `SERIES`."""
        held = dict(zip(_HELD, self._held, strict=True))
        old = now - self._at > np.maximum(_FRESH_SECONDS, 3 * np.nan_to_num(held["spacing"]))
        rates = {name: np.where(old, np.nan, values) for name, values in held.items()}
        values = (
            self._largest(ranks.column("step")),
            self._mean(rates["step_seconds"]),
            self._mean(rates["data_wait_ratio"]),
            self._sum(rates["tokens_per_second"]),
            self._sum(rates["samples_per_second"]),
            self._first(ranks.column("loss")),
        )
        return self.runs, np.array(values)

    def _align(self, keys: Sequence[tuple[str, int, str]]) -> None:
        """Move the values to a new order of ranks. Those of new ranks are unknown."""
        if keys is self._keys:
            return
        places = {key: place for place, key in enumerate(self._keys)}
        old = np.array([places.get(key, -1) for key in keys], dtype=np.int64)
        before = np.vstack([self._at, self._sums, self._held])
        after = np.full((len(before), len(keys)), np.nan)
        after[:, old >= 0] = before[:, old[old >= 0]]
        self._at, self._sums, self._held = after[0], after[1 : 1 + len(_SUMS)], after[1 + len(_SUMS) :]
        numbers: dict[str, int] = {}
        self.run_of = np.array([numbers.setdefault(key[0], len(numbers)) for key in keys], dtype=np.int64)
        self.runs, self._keys = tuple(numbers), keys

    def _sum(self, values: Floats) -> Floats:
        known = ~np.isnan(values)
        count = np.bincount(self.run_of, known, minlength=len(self.runs))
        total = np.bincount(self.run_of, np.where(known, values, 0.0), minlength=len(self.runs))
        return np.where(count > 0, total, np.nan)

    def _mean(self, values: Floats) -> Floats:
        count = np.bincount(self.run_of, ~np.isnan(values), minlength=len(self.runs))
        return self._sum(values) / np.where(count > 0, count, np.nan)

    def _largest(self, values: Floats) -> Floats:
        found = np.full(len(self.runs), np.nan)
        np.fmax.at(found, self.run_of, values)
        return found

    def _first(self, values: Floats) -> Floats:
        """Return the value of the first rank that has one."""
        found = np.full(len(self.runs), np.nan)
        known = np.flatnonzero(~np.isnan(values))[::-1]
        found[self.run_of[known]] = values[known]
        return found
