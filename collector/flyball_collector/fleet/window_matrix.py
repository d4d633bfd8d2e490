"""The matrix of the window: one row of values for each of the last seconds, with sliding means."""

import mmap
from contextlib import suppress

import numpy as np

from flyball_collector.fleet.line_reader import Times, Values
from flyball_collector.fleet.row_allocator import RowAllocator
from flyball_collector.fleet.row_assignments import Places
from flyball_collector.fleet.sliding_means import HORIZONS, SlidingMeans

MAX_STEP_BACK = 5
"""Seconds that the clock may step back before the window is cleared. Until then it waits for the clock."""

_SECOND = 10**9


class WindowMatrix:
    """Time × row. The window assigns the rows; `allocator` knows how many are used."""

    def __init__(self, seconds: int, max_rows: int, allocator: RowAllocator) -> None:
        self.seconds = seconds
        self.second = -1  # of the newest line
        self.matrix = _reserve(seconds, max_rows)  # a row is set to unknown when it is assigned
        self.means = SlidingMeans(max_rows, [horizon for horizon in HORIZONS if horizon <= seconds])
        self._times: Times = np.zeros(seconds, dtype=np.int64)  # 0: the line does not exist
        self._allocator = allocator

    def newest(self) -> Values:
        """Return the newest line."""
        return self.matrix[self.second % self.seconds, : self._allocator.used]

    def write(self, now_ns: int, values: Values) -> None:
        """Write the newest line, which `roll` has begun."""
        line = self.second % self.seconds
        self._times[line] = now_ns
        self.matrix[line, : len(values)] = values
        self.means.add(self.newest())

    def known(self, seconds: int) -> tuple[Places, Times]:
        """Return the existing lines of the last `seconds`, oldest first, and their times."""
        newest = self.second + 1
        lines = np.arange(newest - min(seconds, self.seconds), newest) % self.seconds
        lines = lines[self._times[lines] > 0]
        return lines, self._times[lines]

    def roll(self, second: int) -> bool:
        """Begin the line of a second. Skipped lines become unknown. Return False if it has begun before."""
        if 0 <= self.second - second <= MAX_STEP_BACK and self.second >= 0:
            return False
        if self.second < 0 or not self.second < second < self.second + self.seconds:
            self._times[:] = 0
            self.matrix[:, : self._allocator.used] = np.nan
            self.means.clear()
        else:
            for begun in range(self.second + 1, second + 1):
                self._begin(begun)
        self.second = second
        return True

    def fill(self, seconds: Times, rows: Places, lines: Values) -> None:
        """Set unknown cells in the lines of these seconds."""
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
        """Compute the means of some rows again, because their lines have changed."""
        lines, _ = self.known(self.seconds)
        ages, values = (self.second - lines) % self.seconds, self.matrix[lines, rows]
        for horizon in self.means.horizons:
            self.means.recount(horizon, rows, values[ages < horizon])

    def _begin(self, second: int) -> None:
        """Begin the next line: subtract lines that leave a horizon from the means, and reuse the oldest line."""
        for horizon in self.means.horizons:
            slot = (second - horizon) % self.seconds
            if self._times[slot]:
                self.means.leave(horizon, self.matrix[slot, : self._allocator.used])
        self._times[second % self.seconds] = 0
        self.matrix[second % self.seconds, : self._allocator.used] = np.nan


def _reserve(seconds: int, rows: int) -> Values:
    """Reserve a matrix that uses memory only where it is written: small pages, none of them touched.

    Growing a matrix would copy hundreds of megabytes at once on the event loop, and NumPy would ask for huge pages.
    """
    memory = mmap.mmap(-1, seconds * rows * 4, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    with suppress(OSError):  # the kernel has no huge pages
        memory.madvise(mmap.MADV_NOHUGEPAGE)
    return np.frombuffer(memory, dtype=np.float32).reshape(seconds, rows)
