"""The latest reports of every rank one by one: of each quantity a ring a row of the table of ranks."""

from collections.abc import Mapping
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.int64]
Floats = NDArray[np.float64]
Values = NDArray[np.float32]

RECENT = 64
"""Reports remembered one by one; those of one second count as one."""

RINGS = ("step_seconds", "data_wait_seconds", "tokens", "samples", "own_seconds", "waiting_seconds")

_RARE = 0.1
"""Reports that `steady_mean` leaves out: a pause for rubbish, a file written, a scheduler's whim."""

_Array = TypeVar("_Array", bound=NDArray[Any])


class Rings:
    """Means a step of each report; NaN is unknown. Whoever asks names the rows, and gets columns in their order.

    The reports of a row lie together: rows are read, sorted and added up one by one.
    """

    def __init__(self) -> None:
        self.counts: Rows = np.zeros(0, dtype=np.int64)  # reports ever, along all rows
        self._rings: dict[str, Values] = {name: np.zeros((0, RECENT), dtype=np.float32) for name in RINGS}
        self._times: Floats = np.zeros((0, RECENT))

    def grow(self, room: int) -> None:
        """Have so many rows."""
        self._rings = {name: wider(ring, room) for name, ring in self._rings.items()}
        self._times, self.counts = wider(self._times, room), wider(self.counts, room)

    def clear(self, row: int) -> None:
        """This row is another rank's from now on."""
        self.counts[row] = 0
        for ring in self._rings.values():
            ring[row] = np.nan

    def remember(self, rows: Rows, at: Floats, means: Mapping[str, Floats]) -> None:
        """One entry a row, with its time in seconds."""
        slots = self.counts[rows] % RECENT
        for name, values in means.items():
            self._rings[name][rows, slots] = values
        self._times[rows, slots] = at
        self.counts[rows] += 1

    def ring(self, name: str, reports: int, rows: Rows) -> Values:
        """The latest reports, report × row, oldest first; unknown where there were not so many."""
        return _latest(self._rings[name], self.counts[rows], reports, rows)

    def times(self, reports: int, rows: Rows) -> Floats:
        """When these were made, in seconds."""
        return _latest(self._times, self.counts[rows], reports, rows)

    def mean(self, name: str, rows: Rows) -> Floats:
        """The mean over the latest `RECENT` reports; unknown where none said so."""
        values = self._rings[name][rows]
        unknown = np.isnan(values)
        known = RECENT - np.count_nonzero(unknown, axis=1)
        np.copyto(values, 0, where=unknown)
        return _over(np.add.reduce(values, axis=1, dtype=np.float64), known)

    def steady_mean(self, name: str, rows: Rows) -> Floats:
        """The same without the largest tenth: rare long ones say nothing about how long it usually takes."""
        values = self._rings[name][rows]
        values.sort(axis=1)  # what is unknown comes last
        known = RECENT - np.count_nonzero(np.isnan(values), axis=1)
        kept = known - (_RARE * known).astype(np.int64)
        np.copyto(values, 0, where=np.arange(RECENT) >= kept[:, None])
        return _over(np.add.reduce(values, axis=1, dtype=np.float64), kept)


def _latest(ring: _Array, counts: Rows, reports: int, rows: Rows) -> _Array:
    """Report × row: the latest entries, oldest first."""
    numbers = counts[:, None] - np.arange(reports, 0, -1)
    found = ring.reshape(-1).take(rows[:, None] * RECENT + numbers % RECENT)  # faster than by two indices
    if (counts < reports).any():
        found[numbers < 0] = np.nan
    return found.T  # type: ignore[return-value]  # of the same type


def _over(sums: Floats, counts: Rows) -> Floats:
    """Means; unknown where nothing is."""
    found: Floats = np.divide(sums, counts, out=np.full(len(counts), np.nan), where=counts > 0)
    return found


def wider(array: _Array, room: int) -> _Array:
    """The same with so many places along its first axis; the new ones hold zero."""
    more = np.zeros((room - len(array), *array.shape[1:]), dtype=array.dtype)
    return np.concatenate([array, more])  # type: ignore[return-value]  # of the same type
