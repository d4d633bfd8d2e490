"""The lines of the window: of each of the last seconds a value a row, in one matrix, with sliding means."""

import mmap
from contextlib import suppress

import numpy as np

from flyball_collector.fleet.line import Times, Values
from flyball_collector.fleet.means import HORIZONS, SlidingMeans
from flyball_collector.fleet.room import Room
from flyball_collector.fleet.seating import Places

FALL_BACK = 5
"""Seconds that a clock may fall back before the window begins anew; it waits for the clock until then."""

_SECOND = 10**9


class Lines:
    """Time × row. Who has which row is the window's affair; `room` says how many are in use."""

    def __init__(self, seconds: int, max_rows: int, room: Room) -> None:
        self.seconds = seconds
        self.second = -1  # of the newest line
        self.matrix = _reserve(seconds, max_rows)  # a row is filled when it is seated
        self.means = SlidingMeans(max_rows, [horizon for horizon in HORIZONS if horizon <= seconds])
        self._times: Times = np.zeros(seconds, dtype=np.int64)  # 0: no such line
        self._room = room

    def newest(self) -> Values:
        """The newest line."""
        return self.matrix[self.second % self.seconds, : self._room.used]

    def write(self, now_ns: int, values: Values) -> None:
        """Fill in the newest line, which has begun."""
        line = self.second % self.seconds
        self._times[line] = now_ns
        self.matrix[line, : len(values)] = values
        self.means.add(self.newest())

    def known(self, seconds: int) -> tuple[Places, Times]:
        """Which lines there are of so many seconds, oldest first, and their times."""
        newest = self.second + 1
        lines = np.arange(newest - min(seconds, self.seconds), newest) % self.seconds
        lines = lines[self._times[lines] > 0]
        return lines, self._times[lines]

    def roll(self, second: int) -> bool:
        """Begin the line of a second; lines that nobody wrote become unknown. False when it has begun already."""
        if 0 <= self.second - second <= FALL_BACK and self.second >= 0:
            return False
        if self.second < 0 or not self.second < second < self.second + self.seconds:
            self._times[:] = 0
            self.matrix[:, : self._room.used] = np.nan
            self.means.clear()
        else:
            for begun in range(self.second + 1, second + 1):
                self._begin(begun)
        self.second = second
        return True

    def fill(self, seconds: Times, rows: Places, lines: Values) -> None:
        """Set what is unknown in the lines of these seconds."""
        inside = (seconds > self.second - self.seconds) & (seconds <= self.second)
        slots, lines = seconds[inside] % self.seconds, lines[inside]
        times = self._times[slots]
        self._times[slots] = np.where(times > 0, times, seconds[inside] * _SECOND)
        if not len(rows):
            return
        span = slice(int(rows.min()), int(rows.max()) + 1)
        there, here = rows - span.start, self.matrix[slots, span]
        cells = here[:, there]
        here[:, there] = np.where(np.isnan(cells), lines, cells)
        self.matrix[slots, span] = here
        self.recount(span)

    def recount(self, rows: slice) -> None:
        """Begin the means of some rows anew: their lines have changed."""
        lines, _ = self.known(self.seconds)
        ages, values = (self.second - lines) % self.seconds, self.matrix[lines, rows]
        for horizon in self.means.horizons:
            self.means.recount(horizon, rows, values[ages < horizon])

    def _begin(self, second: int) -> None:
        """One line on: some leave the horizons of the means, and the oldest becomes this one."""
        for horizon in self.means.horizons:
            slot = (second - horizon) % self.seconds
            if self._times[slot]:
                self.means.leave(horizon, self.matrix[slot, : self._room.used])
        self._times[second % self.seconds] = 0
        self.matrix[second % self.seconds, : self._room.used] = np.nan


def _reserve(seconds: int, rows: int) -> Values:
    """A matrix that takes memory only where it is used: small pages, none of them touched.

    Growing it would copy some hundred megabytes at once on the event loop; NumPy would ask for huge pages.
    """
    memory = mmap.mmap(-1, seconds * rows * 4, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    with suppress(OSError):  # a kernel without huge pages
        memory.madvise(mmap.MADV_NOHUGEPAGE)
    return np.frombuffer(memory, dtype=np.float32).reshape(seconds, rows)
