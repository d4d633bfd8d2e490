"""Sliding means of every row of the window over several horizons, kept up to date line by line."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

HORIZONS = (10, 60, 300)
"""Seconds that a mean may reach back: what is going on, what condition a run is in, what it is used to."""

Line = NDArray[np.float32]
Places = NDArray[np.int64]


class SlidingMeans:
    """Sums and counts a row; what is unknown counts for nothing."""

    def __init__(self, rows: int, horizons: Sequence[int] = HORIZONS) -> None:
        self.horizons = tuple(horizons)
        self._sums = {horizon: np.zeros(rows) for horizon in horizons}
        self._counts = {horizon: np.zeros(rows, dtype=np.int32) for horizon in horizons}

    def clear(self) -> None:
        """Forget everything."""
        self.forget(slice(None))

    def forget(self, rows: slice) -> None:
        """Nothing is known of some rows."""
        for horizon in self.horizons:
            self._sums[horizon][rows] = 0
            self._counts[horizon][rows] = 0

    def add(self, line: Line) -> None:
        """A line has come."""
        known, values = _known(line)
        for horizon in self.horizons:
            self._sums[horizon][: len(line)] += values
            self._counts[horizon][: len(line)] += known

    def leave(self, horizon: int, line: Line) -> None:
        """A line is older than the horizon now."""
        known, values = _known(line)
        self._sums[horizon][: len(line)] -= values
        self._counts[horizon][: len(line)] -= known

    def recount(self, horizon: int, rows: slice, lines: NDArray[np.float32]) -> None:
        """Begin anew with the lines of the horizon, time × row, for some rows."""
        known = ~np.isnan(lines)
        self._sums[horizon][rows] = np.where(known, lines, np.float32(0)).sum(axis=0, dtype=np.float64)
        self._counts[horizon][rows] = known.sum(axis=0)

    def means(self, horizon: int, rows: Places) -> NDArray[np.float64]:
        """The mean of each of these rows; NaN where nothing is known."""
        counts = self._counts[horizon][rows]
        means = np.full(len(rows), np.nan)
        np.divide(self._sums[horizon][rows], counts, out=means, where=counts > 0)
        return means

    def counts(self, horizon: int, rows: Places) -> NDArray[np.int32]:
        """How many lines are behind each mean."""
        return self._counts[horizon][rows]


def _known(line: Line) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Which are known, and the values, 0 where not; of the types of the sums: adding unlike ones takes longer."""
    unknown = np.isnan(line)
    values = line.astype(np.float64)
    values[unknown] = 0
    return np.logical_not(unknown).astype(np.int32), values
