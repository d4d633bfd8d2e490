"""The window: five minutes of selected columns of every host, second by second, in one matrix of time × row.

A row is one column (metric × resource) of one host. Gauges stand as they are; counters as rates a second, unknown over
a reset or a gap. One vectorised pass a second writes one line; whoever reads asks for the rows of a metric.
"""

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flyball_collector.fleet.host import HostState
from flyball_collector.fleet.line import LineReader, Times, Values, rates_of
from flyball_collector.fleet.lines import Lines
from flyball_collector.fleet.seating import Places, Seating, matching
from flyball_collector.fleet.windowed import WINDOWED
from flyball_collector.tick import KnownLayout
from flyball_proto.layout import Column

MAX_ROWS = 2048 * 120
"""300 seconds of these are 295 MB; a host that does not fit has no window."""

SEATS_A_PASS = 64
"""Hosts that get their rows in one pass: some 0.03 s of work, most of it the kernel's for fresh memory."""

LARGE_FLEET = 256
"""Hosts from which on those that come or change their layout are admitted some seconds' worth at once."""

ADMIT_SECONDS = 5
"""Between two admissions to a large fleet: each has every reading of the fleet found anew, by all who look for one."""

FLOCK_SECONDS = 15
"""The same, while more come in each of these seconds: the half of a second that an admission costs is theirs then."""

_SECOND = 10**9
_CALM_SECONDS = 2  # nobody new in so many: all are there


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of a metric over the fleet; `hosts` holds the position of each row's host in `names`."""

    index: Places
    hosts: Places
    columns: tuple[Column, ...]
    names: tuple[str, ...]


class Window:
    """The matrix, and which row is what. Only the event loop touches it."""

    def __init__(
        self,
        metrics: Sequence[str] = WINDOWED,
        *,
        seconds: int = 300,
        max_rows: int = MAX_ROWS,
        hold_seconds: float = 2.5,
        hold_intervals: float = 2.5,
        gap_seconds: float = 10.0,
        large_fleet: int = LARGE_FLEET,
    ) -> None:
        """A host's newest reading stands for `hold_seconds` (longer than agents' sending interval), or for that many of
        its sampling intervals if they last longer, while nothing newer comes; `gap_seconds`: no rate is made of a
        counter over more than this."""
        self.seconds = seconds
        self.census = 0  # grows with each admission: who sits where holds for one
        self._gap_ns = int(gap_seconds * _SECOND)
        self._large_fleet = large_fleet
        self._seated: tuple[int, int] | None = None  # generation and moves that everybody sits by
        self._moves = 0  # as of the last admission
        self._admitted = -FLOCK_SECONDS  # second of it
        self._seated_at = -FLOCK_SECONDS  # second in which somebody was given rows
        self._seating = Seating(metrics, max_rows)
        self._room = self._seating.room
        self._lines = Lines(seconds, max_rows, self._room)
        self._reader = LineReader(
            max_rows, hold_seconds=hold_seconds, hold_intervals=hold_intervals, gap_seconds=gap_seconds
        )
        self._found: dict[str, Rows] = {}

    @property
    def bytes(self) -> int:
        """Memory of the rows."""
        return self._room.used * (self.seconds * 4 + 36)

    @property
    def rows(self) -> int:
        """How many are in use."""
        return self._room.taken

    def advance(
        self, now_ns: int, arena: NDArray[np.float64], hosts: Sequence[HostState], generation: int, moves: int
    ) -> bool:
        """Write the line of this second; false when it is written already. A clock that falls back begins anew.

        `generation` grows with every change of the hosts or of a layout; `moves` when a host is removed, or when the
        place in the arena of one that did not change is another: then nobody may go by the places of before.
        """
        self.seat(now_ns, hosts, generation, moves)
        if not self._lines.roll(now_ns // _SECOND):
            return False
        self._lines.write(now_ns, self._reader.read(now_ns, arena))
        return True

    @property
    def states(self) -> tuple[HostState, ...]:
        """The hosts that were admitted, by name; one tuple a census."""
        return self._reader.states

    @property
    def alive(self) -> NDArray[np.bool_]:
        """Which of `states` had something to say at the newest line."""
        return self._reader.alive

    def place_of(self, host: str) -> tuple[int, Places]:
        """The first row of a seated host, and which columns of its layout the rows are, in order."""
        seat = self._seating.of(host)
        if seat is None:
            raise KeyError(host)
        return seat.first, seat.offsets

    def windowed(self, layout: KnownLayout) -> Places:
        """Which columns of a layout have rows, in their order; from any thread."""
        return np.array(self._seating.chosen(layout), dtype=np.int64)

    def newest(self) -> Values:
        """The newest line."""
        return self._lines.newest()

    def means(self, horizon: int, rows: Places) -> NDArray[np.float64]:
        """The mean of some rows over one of `HORIZONS` that the window is long enough for."""
        return self._lines.means.means(horizon, rows)

    def counts(self, horizon: int, rows: Places) -> NDArray[np.int32]:
        """How many lines are behind each of them."""
        return self._lines.means.counts(horizon, rows)

    def select(self, metric: str) -> Rows:
        """Every row of a metric, host by host."""
        found = self._found.get(metric)
        if found is None:
            index = [np.empty(0, dtype=np.int64)]
            hosts: list[int] = []
            columns: list[Column] = []
            for number, state in enumerate(self.states):
                seat = self._seating.of(state.name)
                part = seat.slices.get(metric) if seat is not None else None
                if seat is None or part is None:
                    continue
                index.append(np.arange(seat.first + part.start, seat.first + part.stop))
                hosts.extend([number] * (part.stop - part.start))
                columns.extend(seat.columns[part])
            names = tuple(state.name for state in self.states)
            found = Rows(np.concatenate(index), np.array(hosts, dtype=np.int64), tuple(columns), names)
            self._found[metric] = found
        return found

    def take(self, rows: Places, seconds: int | None = None) -> tuple[Times, Values]:
        """The newest lines, oldest first: their times, and the values of the given rows, time × row."""
        lines, times = self._lines.known(seconds or self.seconds)
        return times, self._lines.matrix[np.ix_(lines, rows)]

    def recent(self, host: str, metric: str) -> tuple[Times, tuple[Column, ...], Values]:
        """One metric of one host: times, its columns, and values time × column; empty when it has no window."""
        seat = self._seating.of(host)
        part = seat.slices.get(metric) if seat is not None else None
        lines, times = self._lines.known(self.seconds)
        if seat is None or part is None:
            return times, (), np.empty((len(lines), 0), dtype=np.float32)
        rows = slice(seat.first + part.start, seat.first + part.stop)
        return times, seat.columns[part], self._lines.matrix[lines, rows]

    def seat(self, now_ns: int, hosts: Sequence[HostState], generation: int, moves: int) -> None:
        """Give hosts their rows, some a pass, and admit them; what a column said under the layout before stays."""
        if self._seated == (generation, moves):
            return
        present = {state.name: state for state in hosts if state.layout is not None}
        second = now_ns // _SECOND
        admits = moves != self._moves or self._may_admit(second)
        if admits:
            self._let_go(present)
        waiting = [state for state in present.values() if self._seating.waits(state)]
        for state in waiting[:SEATS_A_PASS]:
            self._sit(state)
        if waiting:
            self._seated_at = second
        if not admits and self._room.stands:
            return
        self._admit(present)
        self._moves, self._admitted = moves, second
        self._seated = (generation, moves) if len(waiting) <= SEATS_A_PASS else None

    def _may_admit(self, second: int) -> bool:
        """Whoever waits in a large fleet is admitted with those who come next, but not long after."""
        waited, calm = second - self._admitted, second - self._seated_at
        if len(self.states) < self._large_fleet or not 0 <= waited < FLOCK_SECONDS:
            return True
        return waited >= ADMIT_SECONDS and not 0 <= calm < _CALM_SECONDS

    def _let_go(self, present: Container[str]) -> None:
        """Take the rows from whom is there no more; others get them at once, so everybody must be admitted anew."""
        for name in [name for name in self._seating if name not in present]:
            self._unseat(name)
            self._reader.forget(name)
        self._seating.clear()

    def _admit(self, present: Mapping[str, HostState]) -> None:
        """From now on lines are written of everybody who sits here."""
        self._seating.clear()
        self._reader.admit(list(filter(self._seating.sits, present.values())), self._seating)
        self._found = {}
        self.census += 1

    def warm(
        self,
        state: HostState,
        layout: KnownLayout,
        corrected_ns: Times,
        values: NDArray[np.int64],
        valid: NDArray[np.bool_],
        now_ns: int,
    ) -> None:
        """Fill in stored rows of a host, in rising time, where nothing is known; calls go on where the last ended.

        Of the layout's columns the rows have those that are `windowed`.
        """
        self._sit(state)
        seat = self._seating.of(state.name)
        if seat is None or not len(corrected_ns):
            return
        if now_ns // _SECOND > self._lines.second + 2:  # nobody writes lines yet
            self._lines.roll(now_ns // _SECOND)
        offsets = self.windowed(layout)
        readings = np.where(valid, values / layout.scales[offsets], np.nan)
        own: Places = np.arange(len(seat.columns))
        if seat.layout.digest != layout.digest:
            own, theirs = matching(seat.columns, [layout.layout.columns[offset] for offset in offsets])
            readings = readings[:, theirs]
        counters, rows = seat.counters[own], seat.first + own
        before = self._reader.met(state.name)
        shown = readings.astype(np.float32)
        shown[:, counters] = rates_of(
            np.append(before, corrected_ns), np.vstack([self._reader.last[rows], readings])[:, counters], self._gap_ns
        )
        self._lines.fill(corrected_ns // _SECOND, rows, shown)
        if before < corrected_ns[-1]:
            self._reader.meet(state.name, int(corrected_ns[-1]))
            self._reader.last[rows] = readings[-1]

    def _sit(self, state: HostState) -> None:
        """Give one host rows for its layout, if it has not got them; nothing is written there until it is admitted."""
        layout = state.layout
        if layout is None or not self._seating.waits(state):
            return
        self._seated = None
        self._found.clear()
        offsets = self._seating.chosen(layout)
        first = self._allot(len(offsets))
        old = self._seating.of(state.name)
        if first is None:
            if old is not None:
                self._unseat(state.name)
            self._seating.leave_out(state.name)
            return
        seat = self._seating.offer(layout, first, offsets)
        self._lines.matrix[:, seat.rows] = np.nan
        self._reader.sit(seat)
        if old is not None:
            kept, before = matching(seat.columns, old.columns)
            for array in (self._lines.matrix.T, self._reader.last, self._reader.rates):
                array[first + kept] = array[old.first + before]
            self._unseat(state.name)
            self._lines.recount(seat.rows)
        else:
            self._lines.means.forget(seat.rows)
        self._seating.take(state.name, seat)

    def _allot(self, count: int) -> int | None:
        """Room for a host's rows, or nothing when the window is full."""
        if self._room.is_worth_packing(count):
            self._repack()
        return self._room.take(count)

    def _repack(self) -> None:
        """Close the gaps between seats, in place."""
        rows = self._seating.close_up()
        for line in (*self._lines.matrix, self._reader.last, self._reader.rates):
            line[: len(rows)] = line[rows]
        self._lines.recount(slice(0, len(rows)))

    def _unseat(self, name: str) -> None:
        self._seating.stand_up(name)
        self._seated = None
        self._found.clear()
