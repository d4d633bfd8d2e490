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
    span: slice | None  # of the values, if the groups are adjacent and equally large: then nothing has to be moved


class GroupSorter:
    """Sorts within adjacent groups of the given sizes."""

    def __init__(self, sizes: Places) -> None:
        starts = np.cumsum(sizes) - sizes
        widths = 1 << np.ceil(np.log2(np.maximum(sizes, 1))).astype(np.int64)
        self._sheets = [
            _sheet(starts[widths == width], sizes[widths == width], int(sizes.sum())) for width in np.unique(widths)
        ]

    def sort(self, values: Floats) -> Floats:
        """Return the values in ascending order within each group, unknown values last."""
        found = np.array(values, dtype=np.float64)
        padded = None
        for sheet in self._sheets:
            if sheet.span is not None:
                found[sheet.span].reshape(sheet.index.shape).sort(axis=1)
                continue
            if padded is None:
                padded = np.append(values, np.nan)
            rows = padded[sheet.index]
            rows.sort(axis=1)
            found[sheet.places] = rows.ravel()[sheet.filled]
        return found


def _sheet(starts: Places, sizes: Places, none: int) -> _Sheet:
    width = int(sizes.max())
    columns = np.arange(width)
    filled = columns < sizes[:, None]
    index = np.where(filled, starts[:, None] + columns, none)
    adjacent = bool(filled.all()) and bool((np.diff(starts) == width).all())
    span = slice(int(starts[0]), int(starts[-1]) + width) if adjacent else None
    return _Sheet(index, np.flatnonzero(filled), index[filled], span)
