"""Reads the window's row of each second: gauges as they are, counters as rates a second."""

from collections.abc import Sequence
from operator import attrgetter

import numpy as np
from numpy.typing import NDArray

from flyball_collector.fleet.host import HostState
from flyball_collector.fleet.row_assignments import AssignedRows, Places, RowAssignments
from flyball_collector.tick import KnownLayout

Times = NDArray[np.int64]
Readings = NDArray[np.float64]
Values = NDArray[np.float32]

_SECOND = 10**9
_stamps_of = attrgetter("corrected_ns", "received_ns", "interval_ms")


class LineReader:
    """Reads rows from the fleet's array, and remembers the counters of the previous second."""

    def __init__(self, max_rows: int, *, hold_seconds: float, hold_intervals: float, gap_seconds: float) -> None:
        """Create a reader with the window's limits."""
        self.states: tuple[HostState, ...] = ()  # the admitted hosts
        self.alive: NDArray[np.bool_] = np.zeros(0, dtype=np.bool_)  # by host: reported recently
        self.last: Readings = np.full(max_rows, np.nan)  # the counters at the newest second
        self.rates: Values = np.full(max_rows, np.nan, dtype=np.float32)
        self._hold_ns = int(hold_seconds * _SECOND)
        self._hold_per_ms = int(hold_intervals * 1_000_000)
        self._gap_ns = int(gap_seconds * _SECOND)
        self._layouts: tuple[KnownLayout, ...] = ()  # by host: the layout at admission
        self._places: dict[str, int] = {}  # positions of the hosts
        self._used_ns: Times = np.zeros(0, dtype=np.int64)  # by host: corrected time of the newest used record
        self._known: dict[str, int] = {}  # the same for assigned hosts that are not admitted
        self._place: Places = np.zeros(0, dtype=np.int64)  # by row: position in the array
        self._owner: Places = np.zeros(0, dtype=np.int64)  # by row: position of the host
        self._free: Places = np.zeros(0, dtype=np.int64)  # rows without a host
        self._counters: Places = np.zeros(0, dtype=np.int64)  # rows of counters

    def last_used(self, host: str) -> int:
        """Return the corrected time of a host's newest record that was used, or 0."""
        place = self._places.get(host)
        return self._known.get(host, 0) if place is None else int(self._used_ns[place])

    def set_last_used(self, host: str, corrected_ns: int) -> None:
        """Set the time of a host's counters, which came from stored rows."""
        place = self._places.get(host)
        if place is None:
            self._known[host] = corrected_ns
        else:
            self._used_ns[place] = corrected_ns

    def forget(self, host: str) -> None:
        """Forget a host, because another one may use its name later."""
        self.set_last_used(host, 0)

    def clear(self, host_rows: AssignedRows) -> None:
        """Set these rows to unknown."""
        self.last[host_rows.rows] = np.nan
        self.rates[host_rows.rows] = np.nan

    def admit(self, states: Sequence[HostState], assignments: RowAssignments) -> None:
        """Read these hosts from now on, in their assigned rows."""
        known = self._known | {name: int(self._used_ns[place]) for name, place in self._places.items()}
        alive = {state.name for state, there in zip(self.states, self.alive.tolist(), strict=True) if there}
        self.states = tuple(states)
        self.alive = np.array([state.name in alive for state in states], dtype=np.bool_)
        self._places = {state.name: place for place, state in enumerate(states)}
        self._used_ns = np.array([known.pop(state.name, 0) for state in states], dtype=np.int64)
        self._known = {name: used_ns for name, used_ns in known.items() if used_ns and assignments.get(name)}
        assigned = [rows for state in states if (rows := assignments.get(state.name)) is not None]
        self._index(assigned, assignments.allocator.used)

    def _index(self, assigned: Sequence[AssignedRows], used: int) -> None:
        """Compute which row reads which position of the array for which host."""
        self._layouts = tuple(rows.layout for rows in assigned)
        self._place = np.zeros(used, dtype=np.int64)
        self._owner = np.full(used, len(assigned), dtype=np.int64)
        counters = [np.empty(0, dtype=np.int64)]
        for number, (state, rows) in enumerate(zip(self.states, assigned, strict=True)):
            self._place[rows.rows] = rows.offsets + state.start
            self._owner[rows.rows] = number
            counters.append(rows.first + np.flatnonzero(rows.counters))
        self._free = np.flatnonzero(self._owner == len(assigned))
        self._counters = np.concatenate(counters)

    def read(self, now_ns: int, arena: Readings) -> Values:
        """Return this second's row. A host that has changed its layout is unknown until it is admitted again."""
        stamps = np.array(list(map(_stamps_of, self.states)), dtype=np.int64).reshape(-1, 3)
        same = np.fromiter(map(_has_layout, self.states, self._layouts), dtype=np.bool_, count=len(self.states))
        used_ns = np.where(same, stamps[:, 0], self._used_ns)
        self._count(arena, used_ns - self._used_ns)
        self._used_ns = used_ns
        age = now_ns - np.maximum(stamps[:, 0], stamps[:, 1])
        self.alive = same & (age <= np.maximum(self._hold_ns, self._hold_per_ms * stamps[:, 2]))
        line: Values = arena[self._place].astype(np.float32)
        line[self._counters] = self.rates[self._counters]
        line[self._free] = np.nan
        if not self.alive.all():
            line[~np.append(self.alive, True)[self._owner]] = np.nan
        return line

    def _count(self, arena: Readings, passed: Times) -> None:
        """Compute new rates of counters whose hosts have a new record."""
        valid = (passed > 0) & (passed <= self._gap_ns)
        factors = np.full(len(passed), np.nan)
        np.divide(_SECOND, passed, out=factors, where=valid)
        rows, hosts = self._counters, self._owner[self._counters]
        if not passed.all():
            new = (passed != 0)[hosts]
            rows, hosts = rows[new], hosts[new]
        now = arena[self._place[rows]]
        increase = now - self.last[rows]
        increase[increase < 0] = np.nan
        self.rates[rows] = increase * factors[hosts]
        self.last[rows] = now


def _has_layout(state: HostState, layout: KnownLayout) -> bool:
    return state.layout is layout or (state.layout is not None and state.layout.digest == layout.digest)


def rates_of(times_ns: Times, counts: Readings, gap_ns: int) -> Readings:
    """Return rates a second of counters, time × counter, one row fewer; unknown over resets and gaps."""
    elapsed = np.broadcast_to(np.diff(times_ns)[:, None], (len(counts) - 1, counts.shape[1]))
    increase = np.diff(counts, axis=0)
    valid = (increase >= 0) & (elapsed > 0) & (elapsed <= gap_ns)
    rates = np.full(increase.shape, np.nan)
    np.divide(increase * _SECOND, elapsed, out=rates, where=valid)
    return rates
