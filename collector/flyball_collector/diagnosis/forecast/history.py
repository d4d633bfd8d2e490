"""Keeps the recent values of many rows: fine for the last seconds, coarse for the last day."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Values = NDArray[np.float32]
Places = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class HistorySlice:
    """Consecutive slots, oldest first: lows and highs (time × row); times for all rows, or time × row."""

    times: Floats
    low: Values
    high: Values


class NewestReadings:
    """The newest single readings of each row, at whatever times they came."""

    def __init__(self, slots: int, rows: int) -> None:
        self.slots = slots
        self.count: Places = np.zeros(rows, dtype=np.int64)  # readings in total
        self.interval: Floats = np.full(rows, np.nan)  # seconds between the two newest readings
        self.latest: Values = np.full(rows, np.nan, dtype=np.float32)  # the newest value
        self._newest: Floats = np.full(rows, np.nan)  # when it was taken
        self._times: Floats = np.full((slots, rows), np.nan)
        self._values: Values = np.full((slots, rows), np.nan, dtype=np.float32)
        self._round: Values = np.full((2, rows), np.nan, dtype=np.float32)  # lowest since slot 0, and before

    def add(self, now: float, values: Values) -> None:
        """Add a reading for the rows that have one."""
        known = ~np.isnan(values)
        slots = self._slots(self.count)
        at = _common(slots, known)
        if at is None:
            rows = np.flatnonzero(known)
            places = self._at(slots[rows], rows)
            self._times.reshape(-1)[places] = now
            self._values.reshape(-1)[places] = values[rows]
        else:  # the usual case: all rows that have a reading have had as many
            np.copyto(self._times[at], now, where=known)
            np.copyto(self._values[at], values, where=known)
        self._note_lowest(values, known & (slots == 0))
        self.count += known
        np.subtract(now, self._newest, out=self.interval, where=known)
        np.copyto(self.latest, values, where=known)
        np.copyto(self._newest, now, where=known)

    def _note_lowest(self, values: Values, begins: Flags) -> None:
        """Note the lowest reading of the present round through the slots and of the one before."""
        lowest, before = self._round
        if begins.any():
            np.copyto(before, lowest, where=begins)
            np.copyto(lowest, np.float32(np.nan), where=begins)
        np.fmin(lowest, values, out=lowest)

    def last(self, count: int, rows: Places) -> HistorySlice:
        """Return the newest readings of some rows. Earlier ones than a row has are unknown."""
        steps = self.count[rows] - count + np.arange(count)[:, None]
        at = self._at(self._slots(steps), rows)
        values = np.where(steps >= 0, self._values.reshape(-1).take(at), np.float32(np.nan))
        return HistorySlice(self._times.reshape(-1).take(at), values, values)

    def back(self, count: int, rows: Places) -> tuple[Floats, Values]:
        """Return time and value of the reading `count` before the newest."""
        steps = self.count[rows] - 1 - count
        at = self._at(self._slots(steps), rows)
        known = (steps >= 0) & (count < self.slots)
        return (
            np.where(known, self._times.reshape(-1).take(at), np.nan),
            np.where(known, self._values.reshape(-1).take(at), np.float32(np.nan)),
        )

    def highs_back(self, count: int, rows: Places) -> Values:
        """Return the value of the reading `count` before the newest."""
        return self.back(count, rows)[1]

    def least(self) -> Values:
        """Return a value that no reading of `lowest` is below. It costs little, but may be from earlier readings."""
        return np.asarray(np.fmin(*self._round))

    def lowest(self, rows: Places) -> Values:
        """Return the lowest reading of some rows. It may be from before a row was reused."""
        return np.asarray(np.fmin.reduce(self._values[:, rows], axis=0))

    def highest(self, rows: Places) -> Values:
        """Return an upper bound of some rows. It may include values from before a row was reused."""
        return np.asarray(np.fmax.reduce(self._values[:, rows], axis=0))

    def _slots(self, numbers: Places) -> Places:
        """Return the slots of readings with these numbers. For a power of two, this takes a tenth of the time."""
        return numbers % self.slots if self.slots & (self.slots - 1) else numbers & (self.slots - 1)

    def _at(self, slots: Places, rows: Places) -> Places:
        """Return where these slots of rows are in the flat arrays: one index takes half the time of two."""
        return slots * len(self.count) + rows

    def forget(self, rows: Places) -> None:
        """Clear these rows."""
        self.count[rows] = 0
        self.interval[rows] = self._newest[rows] = self.latest[rows] = np.nan
        self._round[0, rows] = np.fmin(*self._round[:, rows])  # old readings stay until they are replaced

    def rearrange(self, source: Places) -> None:
        """Give each row the values of the row at `source`; −1 means none."""
        kept = source >= 0
        count: Places = np.zeros(len(source), dtype=np.int64)
        count[kept] = self.count[source[kept]]
        times = np.full((self.slots, len(source)), np.nan)
        times[:, kept] = self._times[:, source[kept]]
        self.count, self._times, self._values = count, times, _moved(self._values, source)
        self.interval, self._newest = (_moved(each[None], source)[0] for each in (self.interval, self._newest))
        self.latest = _moved(self.latest[None], source)[0]
        self._round = _moved(self._round, source)


class MinMaxRing:
    """Lows and highs in slots of one length. Slots without a reading are unknown.

    A slot's time is that of the newest reading in it.
    """

    def __init__(self, period: float, slots: int, rows: int) -> None:
        self.period = period
        self.slots = slots
        self.number = -1  # of the newest slot; only increases
        self._bucket = -1
        self._times: Floats = np.full(slots, np.nan)
        self._low: Values = np.full((slots, rows), np.nan, dtype=np.float32)
        self._high: Values = np.full((slots, rows), np.nan, dtype=np.float32)
        self._lowest_high: Values | None = None  # as long as nothing is added

    def add(self, now: float, values: Values) -> bool:
        """Add one reading for each row. Return True if this began a new slot."""
        self._lowest_high = None
        bucket = int(now // self.period)
        new = bucket != self._bucket
        if new:
            self._open(bucket)
        slot = self.number % self.slots
        self._times[slot] = now
        np.fmin(self._low[slot], values, out=self._low[slot])
        np.fmax(self._high[slot], values, out=self._high[slot])
        return new

    def merge(self, times: Floats, row: int, low: Floats, high: Floats) -> None:
        """Merge stored readings of one row into the slots of their times. Readings older than the ring are dropped."""
        self._lowest_high = None
        back = self._bucket - (times // self.period).astype(np.int64)
        inside = (back >= 0) & (back < self.slots)
        slots = (self.number - back[inside]) % self.slots
        known = np.where(np.isnan(self._times[slots]), times[inside], np.fmax(self._times[slots], times[inside]))
        np.fmax.at(self._times, slots, known)
        np.fmin.at(self._low[:, row], slots, low[inside].astype(np.float32))
        np.fmax.at(self._high[:, row], slots, high[inside].astype(np.float32))

    def last(self, count: int, rows: Places | None = None, *, skip: int = 0) -> HistorySlice:
        """Return the newest `count` slots that have a reading, leaving out the `skip` newest slots."""
        numbers = np.arange(max(0, self.number + 1 - self.slots), self.number + 1 - skip)
        places = (numbers % self.slots)[-count:] if count else numbers % self.slots
        places = places[~np.isnan(self._times[places])]
        where = places if rows is None else np.ix_(places, rows)
        return HistorySlice(self._times[places], self._low[where], self._high[where])

    def highs_back(self, count: int, rows: Places) -> Values:
        """Return the highs of the slot `count` before the newest; unknown beyond the ring."""
        return self._back(self._high, count, rows)

    def lowest_high(self) -> Values:
        """Return the lowest of all highs of each row."""
        if self._lowest_high is None:
            self._lowest_high = np.asarray(np.fmin.reduce(self._high, axis=0))
        return self._lowest_high

    def highest(self, rows: Places) -> Values:
        """Return the highest of all highs of some rows."""
        return np.asarray(np.fmax.reduce(self._high[:, rows], axis=0))

    def lows_back(self, count: int, rows: Places) -> Values:
        """Return the lows of the slot `count` before the newest; unknown beyond the ring."""
        return self._back(self._low, count, rows)

    def _back(self, matrix: Values, count: int, rows: Places) -> Values:
        if count >= min(self.slots, self.number + 1):
            return np.full(len(rows), np.nan, dtype=np.float32)
        return np.asarray(matrix[(self.number - count) % self.slots, rows])

    def forget(self, rows: Places) -> None:
        """Clear these rows."""
        self._lowest_high = None
        self._low[:, rows] = np.nan
        self._high[:, rows] = np.nan

    def rearrange(self, source: Places) -> None:
        """Give each row the values of the row at `source`; −1 means none."""
        self._low, self._high = _moved(self._low, source), _moved(self._high, source)
        self._lowest_high = None

    def _open(self, bucket: int) -> None:
        """Begin a slot. If the clock went back, start again."""
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
    """Notes when each row first reached each step of a ladder of levels since it last fell.

    Seen by these steps, a row that grows in jumps, with hours of rest between them, looks like one that grows evenly.
    """

    def __init__(self, rung: float, count: int, rows: int) -> None:
        """Set the least distance between two steps. A row that falls by this much starts again."""
        self.steps = NewestReadings(count, rows)
        self._rung = np.float32(rung)
        self._top: Values = np.full(rows, np.nan, dtype=np.float32)  # the newest step …
        self._reached: Floats = np.full(rows, np.nan)  # … and when it was reached

    def add(self, now: float, values: Values) -> None:
        """Add one reading for each row."""
        moved = np.abs(values - self._top) >= self._rung
        moved |= np.isnan(self._top) & ~np.isnan(values)
        rows = np.flatnonzero(moved)
        if not len(rows):
            return
        self.steps.forget(rows[values[rows] < self._top[rows]])
        self._top[rows], self._reached[rows] = values[rows], now
        self.steps.add(now, np.where(moved, values, np.float32(np.nan)))

    def climbing(self, now: float) -> NDArray[np.bool_]:
        """Return the rows that reached a step at this moment."""
        return np.asarray(self._reached == now)

    def forget(self, rows: Places) -> None:
        """Clear these rows."""
        self.steps.forget(rows)
        self._top[rows] = np.nan

    def rearrange(self, source: Places) -> None:
        """Give each row the values of the row at `source`; −1 means none."""
        self.steps.rearrange(source)
        self._top, self._reached = _moved(self._top[None], source)[0], _moved(self._reached[None], source)[0]


class History:
    """The newest readings, rings of different slot lengths and an optional ladder, all over the same rows."""

    def __init__(
        self, rings: tuple[tuple[float, int], ...], rows: int = 0, *, newest: int = 32, ladder: Ladder | None = None
    ) -> None:
        """Set period in seconds and number of slots of each ring, and how many single readings of a row are kept."""
        self.rows = rows
        self.ladder = ladder
        self.newest = NewestReadings(newest, rows)
        self.rings = tuple(MinMaxRing(period, slots, rows) for period, slots in rings)

    @property
    def bytes(self) -> int:
        """The memory of the history."""
        return (sum(8 * ring.slots for ring in self.rings) + 12 * self.newest.slots + 36) * self.rows

    def add(self, now: float, values: Floats) -> None:
        """Add one reading for each row."""
        narrow = values.astype(np.float32)
        self.newest.add(now, narrow)
        for ring in self.rings:
            ring.add(now, narrow)
        if self.ladder is not None:
            self.ladder.add(now, narrow)

    def merge(self, times: Floats, row: int, low: Floats, high: Floats) -> None:
        """Merge stored readings of one row into its rings."""
        for ring in self.rings:
            ring.merge(times, row, low, high)

    def forget(self, rows: Places) -> None:
        """Clear these rows."""
        for each in self._parts():
            each.forget(rows)

    def rearrange(self, source: Places) -> None:
        """Give each row the values of the row at `source`; −1 means none."""
        self.rows = len(source)
        for each in self._parts():
            each.rearrange(source)

    def _parts(self) -> Iterator[NewestReadings | MinMaxRing | Ladder]:
        yield self.newest
        yield from self.rings
        if self.ladder is not None:
            yield self.ladder


def _common(slots: Places, known: Flags) -> int | None:
    """Return the slot of all known rows, or None if it differs."""
    if not known.any():
        return None
    slot = int(slots[np.argmax(known)])
    return None if (known & (slots != slot)).any() else slot


_Array = TypeVar("_Array", Floats, Values)


def _moved(matrix: _Array, source: Places) -> _Array:
    moved = np.full((len(matrix), len(source)), np.nan, dtype=matrix.dtype)
    kept = source >= 0
    moved[:, kept] = matrix[:, source[kept]]
    return moved
