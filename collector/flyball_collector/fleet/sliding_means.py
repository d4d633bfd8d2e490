"""Sliding means of every row of the window over several horizons, updated with each line."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

HORIZONS = (10, 60, 300)
"""Horizons in seconds: what happens now, the current state of a run, and its usual state."""

Line = NDArray[np.float32]
Places = NDArray[np.int64]


class SlidingMeans:
    """Sums and counts for each row. Unknown values are not counted."""

    def __init__(self, rows: int, horizons: Sequence[int] = HORIZONS) -> None:
        self.horizons = tuple(horizons)
        self._sums = {horizon: np.zeros(rows) for horizon in horizons}
        self._counts = {horizon: np.zeros(rows, dtype=np.int32) for horizon in horizons}

    def clear(self) -> None:
        """Clear all sums."""
        self.forget(slice(None))

    def forget(self, rows: slice) -> None:
        """Clear the sums of some rows."""
        for horizon in self.horizons:
            self._sums[horizon][rows] = 0
            self._counts[horizon][rows] = 0

    def add(self, line: Line) -> None:
        """Add a line."""
        known, values = _known(line)
        for horizon in self.horizons:
            self._sums[horizon][: len(line)] += values
            self._counts[horizon][: len(line)] += known

    def leave(self, horizon: int, line: Line) -> None:
        """Subtract a line that is now older than the horizon."""
        known, values = _known(line)
        self._sums[horizon][: len(line)] -= values
        self._counts[horizon][: len(line)] -= known

    def recount(self, horizon: int, rows: slice, lines: NDArray[np.float32]) -> None:
        """Compute the sums of some rows again from the lines of the horizon, time × row."""
        known = ~np.isnan(lines)
        self._sums[horizon][rows] = np.where(known, lines, np.float32(0)).sum(axis=0, dtype=np.float64)
        self._counts[horizon][rows] = known.sum(axis=0)

    def means(self, horizon: int, rows: Places) -> NDArray[np.float64]:
        """Return the mean of each of these rows; NaN if all values are unknown."""
        counts = self._counts[horizon][rows]
        means = np.full(len(rows), np.nan)
        np.divide(self._sums[horizon][rows], counts, out=means, where=counts > 0)
        return means

    def counts(self, horizon: int, rows: Places) -> NDArray[np.int32]:
        """Return the number of lines in each mean."""
        return self._counts[horizon][rows]


def _known(line: Line) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Return which values are known, and the values with 0 for unknown, in the types of the sums, which is faster."""
    unknown = np.isnan(line)
    values = line.astype(np.float64)
    values[unknown] = 0
    return np.logical_not(unknown).astype(np.int32), values
