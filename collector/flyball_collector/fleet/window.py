"""The window: five minutes of selected columns of every host, second by second, in one matrix of time × row.

A row is one column (metric × resource) of one host. Gauges are kept as they are, counters as rates a second, unknown
over a reset or a gap. One vectorised pass a second writes one line; readers ask for the rows of a metric.
"""

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flyball_collector.fleet.host import HostState
from flyball_collector.fleet.line_reader import LineReader, Times, Values, rates_of
from flyball_collector.fleet.row_assignments import Places, RowAssignments, matching
from flyball_collector.fleet.window_matrix import WindowMatrix
from flyball_collector.fleet.window_metrics import WINDOW_METRICS
from flyball_collector.tick import KnownLayout
from flyball_proto.layout import Column

MAX_ROWS = 2048 * 120
"""300 seconds of these are 295 MB. A host that does not fit has no window."""

HOSTS_A_PASS = 64
"""Hosts that get their rows in one pass: about 0.03 s of work, most of it in the kernel for fresh memory."""

LARGE_FLEET = 256
"""Number of hosts from which new hosts and changed layouts are admitted together every few seconds."""

ADMIT_SECONDS = 5
"""Seconds between two admissions to a large fleet. After each, all readers look up their rows again."""

MAX_ADMIT_SECONDS = 15
"""The same while hosts keep arriving: the half second that an admission costs is then needed for them."""

_SECOND = 10**9
_QUIET_SECONDS = 2  # without a new host: the fleet is complete


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of a metric over the fleet; `hosts` holds the position of each row's host in `names`."""

    index: Places
    hosts: Places
    columns: tuple[Column, ...]
    names: tuple[str, ...]


class Window:
    """The matrix and the assignment of its rows. Only the event loop uses it."""

    def __init__(
        self,
        metrics: Sequence[str] = WINDOW_METRICS,
        *,
        seconds: int = 300,
        max_rows: int = MAX_ROWS,
        hold_seconds: float = 2.5,
        hold_intervals: float = 2.5,
        gap_seconds: float = 10.0,
        large_fleet: int = LARGE_FLEET,
    ) -> None:
        """Create an empty window.

        A host's newest reading is valid for `hold_seconds` (longer than agents' sending interval), or for
        `hold_intervals` of its sampling intervals if they are longer. A counter has no rate over `gap_seconds` or more.
        """
        self.seconds = seconds
        self.admissions = 0  # grows with each admission; positions of rows are valid for one
        self._gap_ns = int(gap_seconds * _SECOND)
        self._large_fleet = large_fleet
        self._assigned: tuple[int, int] | None = None  # generation and moves for which all hosts have rows
        self._moves = 0  # at the last admission
        self._admitted = -MAX_ADMIT_SECONDS  # second of the last admission
        self._assigned_at = -MAX_ADMIT_SECONDS  # second in which a host last got rows
        self._assignments = RowAssignments(metrics, max_rows)
        self._allocator = self._assignments.allocator
        self._matrix = WindowMatrix(seconds, max_rows, self._allocator)
        self._reader = LineReader(
            max_rows, hold_seconds=hold_seconds, hold_intervals=hold_intervals, gap_seconds=gap_seconds
        )
        self._rows_of_metric: dict[str, Rows] = {}

    @property
    def bytes(self) -> int:
        """Return the memory of the rows."""
        return self._allocator.used * (self.seconds * 4 + 36)

    @property
    def rows(self) -> int:
        """Return the number of rows in use."""
        return self._allocator.taken

    def advance(
        self, now_ns: int, arena: NDArray[np.float64], hosts: Sequence[HostState], generation: int, moves: int
    ) -> bool:
        """Write the line of this second. Return False if it was written before.

        A clock that steps far back clears the window. `generation` grows with every change of hosts or layouts. `moves`
        grows when a host is removed or an unchanged host's position in the array changes: old positions are then
        invalid.
        """
        self.assign_rows(now_ns, hosts, generation, moves)
        if not self._matrix.roll(now_ns // _SECOND):
            return False
        self._matrix.write(now_ns, self._reader.read(now_ns, arena))
        return True

    @property
    def states(self) -> tuple[HostState, ...]:
        """Return the admitted hosts by name, as one tuple for each admission."""
        return self._reader.states

    @property
    def alive(self) -> NDArray[np.bool_]:
        """Return which of `states` reported recently enough at the newest line."""
        return self._reader.alive

    def place_of(self, host: str) -> tuple[int, Places]:
        """Return the first row of a host, and the positions of its columns in its layout. Raises `KeyError`."""
        host_rows = self._assignments.get(host)
        if host_rows is None:
            raise KeyError(host)
        return host_rows.first, host_rows.offsets

    def window_columns(self, layout: KnownLayout) -> Places:
        """Return the positions of a layout's columns that have rows. Any thread may call this."""
        return np.array(self._assignments.window_columns(layout), dtype=np.int64)

    def newest(self) -> Values:
        """Return the newest line."""
        return self._matrix.newest()

    def means(self, horizon: int, rows: Places) -> NDArray[np.float64]:
        """Return the mean of some rows over one of `HORIZONS` that the window covers."""
        return self._matrix.means.means(horizon, rows)

    def counts(self, horizon: int, rows: Places) -> NDArray[np.int32]:
        """Return the number of lines in each mean."""
        return self._matrix.means.counts(horizon, rows)

    def select(self, metric: str) -> Rows:
        """Return every row of a metric, host by host."""
        found = self._rows_of_metric.get(metric)
        if found is None:
            index = [np.empty(0, dtype=np.int64)]
            hosts: list[int] = []
            columns: list[Column] = []
            for number, state in enumerate(self.states):
                host_rows = self._assignments.get(state.name)
                part = host_rows.slices.get(metric) if host_rows is not None else None
                if host_rows is None or part is None:
                    continue
                index.append(np.arange(host_rows.first + part.start, host_rows.first + part.stop))
                hosts.extend([number] * (part.stop - part.start))
                columns.extend(host_rows.columns[part])
            names = tuple(state.name for state in self.states)
            found = Rows(np.concatenate(index), np.array(hosts, dtype=np.int64), tuple(columns), names)
            self._rows_of_metric[metric] = found
        return found

    def take(self, rows: Places, seconds: int | None = None) -> tuple[Times, Values]:
        """Return the newest lines, oldest first: their times, and the values of the given rows, time × row."""
        lines, times = self._matrix.known(seconds or self.seconds)
        return times, self._matrix.matrix[np.ix_(lines, rows)]

    def recent(self, host: str, metric: str) -> tuple[Times, tuple[Column, ...], Values]:
        """Return times, columns and values, time × column, of one metric of one host; empty if it has no window."""
        host_rows = self._assignments.get(host)
        part = host_rows.slices.get(metric) if host_rows is not None else None
        lines, times = self._matrix.known(self.seconds)
        if host_rows is None or part is None:
            return times, (), np.empty((len(lines), 0), dtype=np.float32)
        rows = slice(host_rows.first + part.start, host_rows.first + part.stop)
        return times, host_rows.columns[part], self._matrix.matrix[lines, rows]

    def assign_rows(self, now_ns: int, hosts: Sequence[HostState], generation: int, moves: int) -> None:
        """Give rows to hosts, some a pass, and admit them. A column keeps its history across layouts."""
        if self._assigned == (generation, moves):
            return
        present = {state.name: state for state in hosts if state.layout is not None}
        second = now_ns // _SECOND
        admits = moves != self._moves or self._may_admit(second)
        if admits:
            self._release_absent(present)
        waiting = [state for state in present.values() if self._assignments.needs_rows(state)]
        for state in waiting[:HOSTS_A_PASS]:
            self._assign_rows(state)
        if waiting:
            self._assigned_at = second
        if not admits and self._allocator.unmoved:
            return
        self._admit(present)
        self._moves, self._admitted = moves, second
        self._assigned = (generation, moves) if len(waiting) <= HOSTS_A_PASS else None

    def _may_admit(self, second: int) -> bool:
        """Return True if hosts may be admitted now: in a large fleet together with those that follow, but soon."""
        waited, quiet = second - self._admitted, second - self._assigned_at
        if len(self.states) < self._large_fleet or not 0 <= waited < MAX_ADMIT_SECONDS:
            return True
        return waited >= ADMIT_SECONDS and not 0 <= quiet < _QUIET_SECONDS

    def _release_absent(self, present: Container[str]) -> None:
        """Release the rows of hosts that are gone. They may be reused at once, so an admission must follow."""
        for name in [name for name in self._assignments if name not in present]:
            self._release_rows(name)
            self._reader.forget(name)
        self._assignments.reclaim()

    def _admit(self, present: Mapping[str, HostState]) -> None:
        """Write lines of all hosts that have rows from now on."""
        self._assignments.reclaim()
        self._reader.admit(list(filter(self._assignments.is_current, present.values())), self._assignments)
        self._rows_of_metric = {}
        self.admissions += 1

    def fill(
        self,
        state: HostState,
        layout: KnownLayout,
        corrected_ns: Times,
        values: NDArray[np.int64],
        valid: NDArray[np.bool_],
        now_ns: int,
    ) -> None:
        """Fill in stored rows of a host, in rising time, where values are unknown. Further calls continue after them.

        The rows have the layout's columns of `window_columns`.
        """
        self._assign_rows(state)
        host_rows = self._assignments.get(state.name)
        if host_rows is None or not len(corrected_ns):
            return
        if now_ns // _SECOND > self._matrix.second + 2:  # no lines are written yet
            self._matrix.roll(now_ns // _SECOND)
        offsets = self.window_columns(layout)
        readings = np.where(valid, values / layout.scales[offsets], np.nan)
        own: Places = np.arange(len(host_rows.columns))
        if host_rows.layout.digest != layout.digest:
            own, theirs = matching(host_rows.columns, [layout.layout.columns[offset] for offset in offsets])
            readings = readings[:, theirs]
        counters, rows = host_rows.counters[own], host_rows.first + own
        before = self._reader.last_used(state.name)
        shown = readings.astype(np.float32)
        shown[:, counters] = rates_of(
            np.append(before, corrected_ns),
            np.vstack([self._reader.last[rows], readings])[:, counters],
            self._gap_ns,
        )
        self._matrix.fill(corrected_ns // _SECOND, rows, shown)
        if before < corrected_ns[-1]:
            self._reader.set_last_used(state.name, int(corrected_ns[-1]))
            self._reader.last[rows] = readings[-1]

    def _assign_rows(self, state: HostState) -> None:
        """Give a host rows for its layout, if it has none. They stay unknown until it is admitted."""
        layout = state.layout
        if layout is None or not self._assignments.needs_rows(state):
            return
        self._assigned = None
        self._rows_of_metric.clear()
        offsets = self._assignments.window_columns(layout)
        first = self._allocate(len(offsets))
        old = self._assignments.get(state.name)
        if first is None:
            if old is not None:
                self._release_rows(state.name)
            self._assignments.leave_out(state.name)
            return
        host_rows = self._assignments.new_rows(layout, first, offsets)
        self._matrix.matrix[:, host_rows.rows] = np.nan
        self._reader.clear(host_rows)
        if old is not None:
            kept, before = matching(host_rows.columns, old.columns)
            for array in (self._matrix.matrix.T, self._reader.last, self._reader.rates):
                array[first + kept] = array[old.first + before]
            self._release_rows(state.name)
            self._matrix.recount(host_rows.rows)
        else:
            self._matrix.means.forget(host_rows.rows)
        self._assignments.assign(state.name, host_rows)

    def _allocate(self, count: int) -> int | None:
        """Return the first of `count` rows, or `None` if the window is full."""
        if self._allocator.is_worth_packing(count):
            self._compact()
        return self._allocator.take(count)

    def _compact(self) -> None:
        """Close the gaps between rows, in place."""
        rows = self._assignments.compact()
        for line in (*self._matrix.matrix, self._reader.last, self._reader.rates):
            line[: len(rows)] = line[rows]
        self._matrix.recount(slice(0, len(rows)))

    def _release_rows(self, name: str) -> None:
        self._assignments.release(name)
        self._assigned = None
        self._rows_of_metric.clear()
