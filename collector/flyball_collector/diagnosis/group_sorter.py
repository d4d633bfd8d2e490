"""Sorts values within each of many groups. Groups of similar size are sorted together as one matrix, which is fast."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Places = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class _Sheet:
    """Groups of at most one width, as a matrix with one group in each row."""

    index: Places  # group × width: positions of the values; one past the last where a row has no more
    filled: Places  # the matrix cells that hold a value …
    places: Places  # … and the positions of these values


class GroupSorter:
    """Sorts within adjacent groups of the given sizes."""

    def __init__(self, sizes: Places) -> None:
        starts = np.cumsum(sizes) - sizes
        widths = 1 << np.ceil(np.log2(np.maximum(sizes, 1))).astype(np.int64)
        self._sheets = [
            _sheet(starts[widths == width], sizes[widths == width], int(width), int(sizes.sum()))
            for width in np.unique(widths)
        ]

    def sort(self, values: Floats) -> Floats:
        """Return the values in ascending order within each group, unknown values last."""
        padded = np.empty(len(values) + 1)
        padded[:-1], padded[-1] = values, np.nan
        found = np.empty(len(values))
        for sheet in self._sheets:
            rows = padded[sheet.index]
            rows.sort(axis=1)
            found[sheet.places] = rows.ravel()[sheet.filled]
        return found


def _sheet(starts: Places, sizes: Places, width: int, none: int) -> _Sheet:
    columns = np.arange(width)
    filled = columns < sizes[:, None]
    index = np.where(filled, starts[:, None] + columns, none)
    return _Sheet(index, np.flatnonzero(filled), index[filled])
