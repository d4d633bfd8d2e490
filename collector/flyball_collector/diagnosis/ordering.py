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
    filled: NDArray[np.bool_]  # where it has one


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
        padded = np.append(values, np.nan)
        found = np.empty(len(values))
        for sheet in self._sheets:
            found[sheet.index[sheet.filled]] = np.sort(padded[sheet.index], axis=1)[sheet.filled]
        return found


def _sheet(starts: Places, sizes: Places, width: int, none: int) -> _Sheet:
    places = np.arange(width)
    filled = places < sizes[:, None]
    return _Sheet(np.where(filled, starts[:, None] + places, none), filled)
