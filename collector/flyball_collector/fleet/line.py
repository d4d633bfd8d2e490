"""A second's line of the window: what the admitted hosts say now, gauges as they stand, counters as rates a second."""

from collections.abc import Sequence
from operator import attrgetter

import numpy as np
from numpy.typing import NDArray

from flyball_collector.fleet.host import HostState
from flyball_collector.fleet.seating import Places, Seat, Seating
from flyball_collector.tick import KnownLayout

Times = NDArray[np.int64]
Readings = NDArray[np.float64]
Values = NDArray[np.float32]

_SECOND = 10**9
_told = attrgetter("corrected_ns", "received_ns", "interval_ms")


class LineReader:
    """Reads lines from the arena, and remembers what counters said at the line before."""

    def __init__(self, max_rows: int, *, hold_seconds: float, hold_intervals: float, gap_seconds: float) -> None:
        """As the window's."""
        self.states: tuple[HostState, ...] = ()  # the admitted hosts
        self.alive: NDArray[np.bool_] = np.zeros(0, dtype=np.bool_)  # along them, at the newest line
        self.last: Readings = np.full(max_rows, np.nan)  # what counters said then
        self.rates: Values = np.full(max_rows, np.nan, dtype=np.float32)
        self._hold_ns = int(hold_seconds * _SECOND)
        self._hold_per_ms = int(hold_intervals * 1_000_000)
        self._gap_ns = int(gap_seconds * _SECOND)
        self._layouts: tuple[KnownLayout, ...] = ()  # along the hosts, what they were admitted with
        self._places: dict[str, int] = {}  # of the hosts
        self._met: Times = np.zeros(0, dtype=np.int64)  # along them, corrected time of the newest record that was read
        self._known: dict[str, int] = {}  # the same of others that sit
        self._place: Places = np.zeros(0, dtype=np.int64)  # along rows, in the arena
        self._owner: Places = np.zeros(0, dtype=np.int64)  # along rows, of the hosts
        self._free: Places = np.zeros(0, dtype=np.int64)  # rows that are nobody's
        self._counters: Places = np.zeros(0, dtype=np.int64)  # rows

    def met(self, host: str) -> int:
        """Corrected time of the newest record of a host that was read; 0 for none."""
        place = self._places.get(host)
        return self._known.get(host, 0) if place is None else int(self._met[place])

    def meet(self, host: str, corrected_ns: int) -> None:
        """What counters of a host said then is known from elsewhere."""
        place = self._places.get(host)
        if place is None:
            self._known[host] = corrected_ns
        else:
            self._met[place] = corrected_ns

    def forget(self, host: str) -> None:
        """A host is gone; whoever comes under its name is another one."""
        self.meet(host, 0)

    def sit(self, seat: Seat) -> None:
        """Nothing is known of these rows."""
        self.last[seat.rows] = np.nan
        self.rates[seat.rows] = np.nan

    def admit(self, states: Sequence[HostState], seating: Seating) -> None:
        """From now on lines are of these hosts, where they sit."""
        known = self._known | {name: int(self._met[place]) for name, place in self._places.items()}
        alive = {state.name for state, there in zip(self.states, self.alive.tolist(), strict=True) if there}
        self.states = tuple(states)
        self.alive = np.array([state.name in alive for state in states], dtype=np.bool_)
        self._places = {state.name: place for place, state in enumerate(states)}
        self._met = np.array([known.pop(state.name, 0) for state in states], dtype=np.int64)
        self._known = {name: met for name, met in known.items() if met and seating.of(name) is not None}
        self._index([seat for state in states if (seat := seating.of(state.name)) is not None], seating.room.used)

    def _index(self, seats: Sequence[Seat], used: int) -> None:
        """Which row reads which place of the arena, for which host."""
        self._layouts = tuple(seat.layout for seat in seats)
        self._place = np.zeros(used, dtype=np.int64)
        self._owner = np.full(used, len(seats), dtype=np.int64)
        counters = [np.empty(0, dtype=np.int64)]
        for number, (state, seat) in enumerate(zip(self.states, seats, strict=True)):
            self._place[seat.rows] = seat.offsets + state.start
            self._owner[seat.rows] = number
            counters.append(seat.first + np.flatnonzero(seat.counters))
        self._free = np.flatnonzero(self._owner == len(seats))
        self._counters = np.concatenate(counters)

    def read(self, now_ns: int, arena: Readings) -> Values:
        """This second's line. A host whose layout is another one since is silent until it is admitted with it."""
        told = np.array(list(map(_told, self.states)), dtype=np.int64).reshape(-1, 3)
        same = np.fromiter(map(_is_laid_out, self.states, self._layouts), dtype=np.bool_, count=len(self.states))
        met = np.where(same, told[:, 0], self._met)
        self._count(arena, met - self._met)
        self._met = met
        age = now_ns - np.maximum(told[:, 0], told[:, 1])
        self.alive = same & (age <= np.maximum(self._hold_ns, self._hold_per_ms * told[:, 2]))
        line: Values = arena[self._place].astype(np.float32)
        line[self._counters] = self.rates[self._counters]
        line[self._free] = np.nan
        if not self.alive.all():
            line[~np.append(self.alive, True)[self._owner]] = np.nan
        return line

    def _count(self, arena: Readings, passed: Times) -> None:
        """New rates of the counters whose hosts have said something new."""
        sound = (passed > 0) & (passed <= self._gap_ns)
        factors = np.full(len(passed), np.nan)
        np.divide(_SECOND, passed, out=factors, where=sound)
        rows, hosts = self._counters, self._owner[self._counters]
        if not passed.all():
            new = (passed != 0)[hosts]
            rows, hosts = rows[new], hosts[new]
        now = arena[self._place[rows]]
        grown = now - self.last[rows]
        grown[grown < 0] = np.nan
        self.rates[rows] = grown * factors[hosts]
        self.last[rows] = now


def _is_laid_out(state: HostState, layout: KnownLayout) -> bool:
    return state.layout is layout or (state.layout is not None and state.layout.digest == layout.digest)


def rates_of(times_ns: Times, counts: Readings, gap_ns: int) -> Readings:
    """Rates a second of counters, time × counter, one row fewer; unknown over resets and over gaps."""
    elapsed = np.broadcast_to(np.diff(times_ns)[:, None], (len(counts) - 1, counts.shape[1]))
    grown = np.diff(counts, axis=0)
    sound = (grown >= 0) & (elapsed > 0) & (elapsed <= gap_ns)
    rates = np.full(grown.shape, np.nan)
    np.divide(grown * _SECOND, elapsed, out=rates, where=sound)
    return rates
