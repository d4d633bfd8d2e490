"""The latest reports of every rank: for each quantity a ring per row of the table of ranks."""

from collections.abc import Mapping
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.int64]
Floats = NDArray[np.float64]
Values = NDArray[np.float32]

RECENT = 64
"""Reports kept one by one; a power of two. Those of one second count as one."""

RINGS = ("step_seconds", "data_wait_seconds", "tokens", "samples", "own_seconds", "waiting_seconds")

_RARE = 0.1
"""Share of reports that `steady_mean` leaves out: garbage collection, a checkpoint, the scheduler."""

_Array = TypeVar("_Array", bound=NDArray[Any])


class Rings:
    """Means per step of each report; NaN is unknown. Callers pass rows and get columns in the same order.

    The reports of a row are adjacent, because rows are read, sorted and summed one by one.
    """

    def __init__(self) -> None:
        self.counts: Rows = np.zeros(0, dtype=np.int64)  # reports ever, by row
        self._rings: dict[str, Values] = {name: np.zeros((0, RECENT), dtype=np.float32) for name in RINGS}
        self._times: Floats = np.zeros((0, RECENT))

    def grow(self, room: int) -> None:
        """Extend the rings to so many rows."""
        self._rings = {name: wider(ring, room) for name, ring in self._rings.items()}
        self._times, self.counts = wider(self._times, room), wider(self.counts, room)

    def clear(self, row: int) -> None:
        """Clear a row for another rank."""
        self.counts[row] = 0
        for ring in self._rings.values():
            ring[row] = np.nan

    def remember(self, rows: Rows, at: Floats, means: Mapping[str, Floats]) -> None:
        """Add one entry to each of these rows, with its time in seconds."""
        slots = self.counts[rows] % RECENT
        for name, values in means.items():
            self._rings[name][rows, slots] = values
        self._times[rows, slots] = at
        self.counts[rows] += 1

    def ring(self, name: str, reports: int, rows: Rows) -> Values:
        """Return the latest reports, report × row, oldest first; unknown where there are fewer."""
        return _latest(self._rings[name], self.counts[rows], reports, rows)

    def times(self, reports: int, rows: Rows) -> Floats:
        """Return the times of these reports in seconds."""
        return _latest(self._times, self.counts[rows], reports, rows)

    def mean(self, name: str, rows: Rows) -> Floats:
        """Return the mean over the latest `RECENT` reports; unknown where none has the value."""
        values = self._rings[name][rows]
        unknown = np.isnan(values)
        known = RECENT - np.count_nonzero(unknown, axis=1)
        np.copyto(values, 0, where=unknown)
        return _mean(np.add.reduce(values, axis=1, dtype=np.float64), known)

    def steady_mean(self, name: str, rows: Rows) -> Floats:
        """Return the mean without the largest tenth, because rare long steps do not show the usual duration."""
        values = self._rings[name][rows]
        values.sort(axis=1)  # unknown values sort last
        known = RECENT - np.count_nonzero(np.isnan(values), axis=1)
        kept = known - (_RARE * known).astype(np.int64)
        np.copyto(values, 0, where=np.arange(RECENT) >= kept[:, None])
        return _mean(np.add.reduce(values, axis=1, dtype=np.float64), kept)


def _latest(ring: _Array, counts: Rows, reports: int, rows: Rows) -> _Array:
    """Return the latest entries, report × row, oldest first."""
    numbers = counts[:, None] - np.arange(reports, 0, -1)
    slots = numbers & (RECENT - 1)  # the remainder, in a tenth of the time
    slots += rows[:, None] * RECENT
    found = ring.reshape(-1).take(slots)  # faster than two indices
    if (counts < reports).any():
        found[numbers < 0] = np.nan
    return found.T  # type: ignore[return-value]  # of the same type


def _mean(sums: Floats, counts: Rows) -> Floats:
    """Return the means, unknown where the count is 0."""
    found: Floats = np.divide(sums, counts, out=np.full(len(counts), np.nan), where=counts > 0)
    return found


def wider(array: _Array, room: int) -> _Array:
    """Return the array extended to so many entries along its first axis; the new ones are zero."""
    more = np.zeros((room - len(array), *array.shape[1:]), dtype=array.dtype)
    return np.concatenate([array, more])  # type: ignore[return-value]  # of the same type
