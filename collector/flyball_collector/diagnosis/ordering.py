"""Values in order within each of many groups: sorted as matrices of groups of about one size, which is fast."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Places = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class _Sheet:
    """Groups of up to one width, one a row."""

    index: Places  # group × width: places of the values; one past the last where a row has no more
    filled: Places  # where it has one, of all its places in a row …
    places: Places  # … and the places of the values there


class Ordering:
    """For groups that lie one after the other, of these sizes."""

    def __init__(self, sizes: Places) -> None:
        starts = np.cumsum(sizes) - sizes
        widths = 1 << np.ceil(np.log2(np.maximum(sizes, 1))).astype(np.int64)
        self._sheets = [
            _sheet(starts[widths == width], sizes[widths == width], int(width), int(sizes.sum()))
            for width in np.unique(widths)
        ]

    def ordered(self, values: Floats) -> Floats:
        """The values, in rising order within each group; unknown ones last."""
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
