"""Memory estimates of many layouts, computed only for the rows that are needed."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from flyball_planner.layouts.layout import Layouts
from flyball_planner.memory.estimate import MemoryEstimate
from flyball_planner.memory.verdict import FITS, Fit, fits

Positions = NDArray[np.intp]

SAMPLED = 128  # evenly spaced rows that show whether most layouts fit
FEW = 2_000  # up to so many layouts, estimating all at once is the fastest


class LazyMemory:
    """Estimates rows on request, or all rows at once if there are few or if most of them do not fit."""

    def __init__(self, layouts: Layouts, estimate: Callable[[Layouts], MemoryEstimate]) -> None:
        self._layouts = layouts
        self._estimate = estimate
        self._all: MemoryEstimate | None = None
        every = np.arange(len(layouts))
        if len(every) <= FEW or self.surely_fit(every[:: len(every) // SAMPLED + 1]).mean() < 0.5:
            self._all = estimate(layouts)

    @property
    def complete(self) -> bool:
        """Return True if all rows were estimated at once."""
        return self._all is not None

    def of(self, rows: Positions) -> MemoryEstimate:
        """Estimate some rows."""
        return self._estimate(self._layouts.where(rows)) if self._all is None else self._all.where(rows)

    def of_each(self, parts: Sequence[Positions]) -> list[MemoryEstimate]:
        """Estimate several groups of rows in one pass."""
        if self._all is not None:
            return [self._all.where(part) for part in parts]
        joined, ends = self.of(np.concatenate(parts)), np.cumsum([len(part) for part in parts])
        return [joined.where(np.arange(end - len(part), end)) for part, end in zip(parts, ends, strict=True)]

    def surely_fit(self, rows: Positions) -> NDArray[np.bool_]:
        """Return which of some rows surely fit."""
        return _surely(self.of(rows)) if self._all is None else _surely(self._all)[rows]

    def probably_fit(self, rows: Positions) -> NDArray[np.bool_]:
        """Return which of some rows fit in the middle of their interval."""
        mask: NDArray[np.bool_] = fits(self.of(rows)).headroom >= 0
        return mask


def _surely(memory: MemoryEstimate) -> NDArray[np.bool_]:
    mask: NDArray[np.bool_] = fits(memory).positions == FITS.index(Fit.YES)
    return mask
