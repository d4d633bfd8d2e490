"""What rows did lately, finer for the last seconds and coarser for the last day: a few rings of lows and highs."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Values = NDArray[np.float32]
Places = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Stretch:
    """Consecutive slots, oldest first: lows and highs time × row; times the same for all rows, or time × row."""

    times: Floats
    low: Values
    high: Values


class Newest:
    """The newest readings of each row one by one, whenever they came."""

    def __init__(self, slots: int, rows: int) -> None:
        self.slots = slots
        self.count: Places = np.zeros(rows, dtype=np.int64)  # readings ever
        self.pace: Floats = np.full(rows, np.nan)  # seconds between the two newest
        self.latest: Values = np.full(rows, np.nan, dtype=np.float32)  # the newest
        self._newest: Floats = np.full(rows, np.nan)  # when it was taken
        self._times: Floats = np.full((slots, rows), np.nan)
        self._values: Values = np.full((slots, rows), np.nan, dtype=np.float32)

    def add(self, now: float, values: Values) -> None:
        """Take a reading of those rows that have one."""
        rows = np.flatnonzero(~np.isnan(values))
        slot = self.count[rows] % self.slots
        self._times[slot, rows] = now
        self._values[slot, rows] = values[rows]
        self.count[rows] += 1
        self.pace[rows] = now - self._newest[rows]
        self.latest[rows], self._newest[rows] = values[rows], now

    def last(self, count: int, rows: Places) -> Stretch:
        """The newest readings of some rows; unknown where a row has not had so many."""
        steps = self.count[rows] - count + np.arange(count)[:, None]
        slots = steps % self.slots
        values = np.where(steps >= 0, self._values[slots, rows], np.float32(np.nan))
        return Stretch(self._times[slots, rows], values, values)

    def back(self, count: int, rows: Places) -> tuple[Floats, Values]:
        """Time and value of the reading so many before the newest."""
        steps = self.count[rows] - 1 - count
        slots = steps % self.slots
        known = (steps >= 0) & (count < self.slots)
        return (
            np.where(known, self._times[slots, rows], np.nan),
            np.where(known, self._values[slots, rows], np.float32(np.nan)),
        )

    def highs_back(self, count: int, rows: Places) -> Values:
        """Its value alone."""
        return self.back(count, rows)[1]

    def lowest(self) -> Values:
        """Along all rows, of everything that is kept, and may be of before a row was another's: a bound."""
        return np.asarray(np.fmin.reduce(self._values, axis=0))

    def forget(self, rows: Places) -> None:
        """These rows are others from now on."""
        self.count[rows] = 0
        self.pace[rows] = self._newest[rows] = self.latest[rows] = np.nan

    def rearrange(self, source: Places) -> None:
        """Give each row what the row at `source` has; −1: nothing."""
        kept = source >= 0
        count: Places = np.zeros(len(source), dtype=np.int64)
        count[kept] = self.count[source[kept]]
        times = np.full((self.slots, len(source)), np.nan)
        times[:, kept] = self._times[:, source[kept]]
        self.count, self._times, self._values = count, times, _moved(self._values, source)
        self.pace, self._newest = (_moved(each[None], source)[0] for each in (self.pace, self._newest))
        self.latest = _moved(self.latest[None], source)[0]


class Ring:
    """Slots of one length; slots without a reading are unknown.

    A slot's time is that of the newest reading in it.
    """

    def __init__(self, period: float, slots: int, rows: int) -> None:
        self.period = period
        self.slots = slots
        self.number = -1  # of the newest slot, ever rising
        self._bucket = -1
        self._times: Floats = np.full(slots, np.nan)
        self._low: Values = np.full((slots, rows), np.nan, dtype=np.float32)
        self._high: Values = np.full((slots, rows), np.nan, dtype=np.float32)

    def add(self, now: float, values: Values) -> bool:
        """Take one reading a row; true when it began a new slot."""
        bucket = int(now // self.period)
        new = bucket != self._bucket
        if new:
            self._open(bucket)
        slot = self.number % self.slots
        self._times[slot] = now
        np.fmin(self._low[slot], values, out=self._low[slot])
        np.fmax(self._high[slot], values, out=self._high[slot])
        return new

    def recall(self, times: Floats, row: int, low: Floats, high: Floats) -> None:
        """Unite stored readings of one row with the slots of their times; what is older than the ring is left out."""
        back = self._bucket - (times // self.period).astype(np.int64)
        inside = (back >= 0) & (back < self.slots)
        slots = (self.number - back[inside]) % self.slots
        known = np.where(np.isnan(self._times[slots]), times[inside], np.fmax(self._times[slots], times[inside]))
        np.fmax.at(self._times, slots, known)
        np.fmin.at(self._low[:, row], slots, low[inside].astype(np.float32))
        np.fmax.at(self._high[:, row], slots, high[inside].astype(np.float32))

    def last(self, count: int, rows: Places | None = None, *, skip: int = 0) -> Stretch:
        """The newest `count` slots that anything was read in, without the `skip` newest of all."""
        numbers = np.arange(max(0, self.number + 1 - self.slots), self.number + 1 - skip)
        places = (numbers % self.slots)[-count:] if count else numbers % self.slots
        places = places[~np.isnan(self._times[places])]
        where = places if rows is None else np.ix_(places, rows)
        return Stretch(self._times[places], self._low[where], self._high[where])

    def highs_back(self, count: int, rows: Places) -> Values:
        """Highs of the slot so many before the newest; unknown where the ring does not reach so far."""
        return self._back(self._high, count, rows)

    def lowest_high(self) -> Values:
        """The lowest of all highs, along all rows."""
        return np.asarray(np.fmin.reduce(self._high, axis=0))

    def lows_back(self, count: int, rows: Places) -> Values:
        """The same of the lows."""
        return self._back(self._low, count, rows)

    def _back(self, matrix: Values, count: int, rows: Places) -> Values:
        if count >= min(self.slots, self.number + 1):
            return np.full(len(rows), np.nan, dtype=np.float32)
        return np.asarray(matrix[(self.number - count) % self.slots, rows])

    def forget(self, rows: Places) -> None:
        """These rows are others from now on."""
        self._low[:, rows] = np.nan
        self._high[:, rows] = np.nan

    def rearrange(self, source: Places) -> None:
        """Give each row what the row at `source` has; −1: nothing."""
        self._low, self._high = _moved(self._low, source), _moved(self._high, source)

    def _open(self, bucket: int) -> None:
        """Begin a slot; a clock that went back begins anew."""
        step = bucket - self._bucket if self.number >= 0 else 0
        if not 0 < step < self.slots:
            self._times[:] = np.nan
            self._low[:] = np.nan
            self._high[:] = np.nan
            step = self.slots
        for number in range(self.number + 1, self.number + step + 1):
            slot = number % self.slots
            self._times[slot] = np.nan
            self._low[slot] = np.nan
            self._high[slot] = np.nan
        self.number += step
        self._bucket = bucket


class Ladder:
    """When each row reached a level for the first time since it last fell, rung by rung: by its rungs a row that grows
    in steps, with hours of rest between them, looks like one that grows evenly."""

    def __init__(self, rung: float, count: int, rows: int) -> None:
        """`rung`: from one level to the next, at least; who falls by as much begins anew."""
        self.rungs = Newest(count, rows)
        self._rung = np.float32(rung)
        self._top: Values = np.full(rows, np.nan, dtype=np.float32)  # the newest rung
        self._climbed: Floats = np.full(rows, np.nan)  # and when

    def add(self, now: float, values: Values) -> None:
        """Take one reading a row."""
        moved = np.abs(values - self._top) >= self._rung
        moved |= np.isnan(self._top) & ~np.isnan(values)
        rows = np.flatnonzero(moved)
        if not len(rows):
            return
        self.rungs.forget(rows[values[rows] < self._top[rows]])
        self._top[rows], self._climbed[rows] = values[rows], now
        self.rungs.add(now, np.where(moved, values, np.float32(np.nan)))

    def climbs(self, now: float) -> NDArray[np.bool_]:
        """Which rows reached a rung at this moment."""
        return np.asarray(self._climbed == now)

    def forget(self, rows: Places) -> None:
        """These rows are others from now on."""
        self.rungs.forget(rows)
        self._top[rows] = np.nan

    def rearrange(self, source: Places) -> None:
        """Give each row what the row at `source` has; −1: nothing."""
        self.rungs.rearrange(source)
        self._top, self._climbed = _moved(self._top[None], source)[0], _moved(self._climbed[None], source)[0]


class Trail:
    """Rings side by side over the same rows."""

    def __init__(
        self, rings: tuple[tuple[float, int], ...], rows: int = 0, *, newest: int = 32, ladder: Ladder | None = None
    ) -> None:
        """`rings`: period in seconds and number of slots of each; `newest`: readings of a row that are kept whole."""
        self.rows = rows
        self.ladder = ladder
        self.newest = Newest(newest, rows)
        self.rings = tuple(Ring(period, slots, rows) for period, slots in rings)

    @property
    def bytes(self) -> int:
        """Memory of the rings."""
        return (sum(8 * ring.slots for ring in self.rings) + 12 * self.newest.slots + 28) * self.rows

    def add(self, now: float, values: Floats) -> None:
        """Take one reading a row."""
        narrow = values.astype(np.float32)
        self.newest.add(now, narrow)
        for ring in self.rings:
            ring.add(now, narrow)
        if self.ladder is not None:
            self.ladder.add(now, narrow)

    def recall(self, times: Floats, row: int, low: Floats, high: Floats) -> None:
        """Unite stored readings of one row with what its rings have."""
        for ring in self.rings:
            ring.recall(times, row, low, high)

    def forget(self, rows: Places) -> None:
        """These rows are others from now on."""
        for each in self._every():
            each.forget(rows)

    def rearrange(self, source: Places) -> None:
        """Give each row what the row at `source` has; −1: nothing."""
        self.rows = len(source)
        for each in self._every():
            each.rearrange(source)

    def _every(self) -> Iterator[Newest | Ring | Ladder]:
        yield self.newest
        yield from self.rings
        if self.ladder is not None:
            yield self.ladder


_Array = TypeVar("_Array", Floats, Values)


def _moved(matrix: _Array, source: Places) -> _Array:
    moved = np.full((len(matrix), len(source)), np.nan, dtype=matrix.dtype)
    kept = source >= 0
    moved[:, kept] = matrix[:, source[kept]]
    return moved
