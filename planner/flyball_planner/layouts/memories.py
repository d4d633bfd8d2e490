"""Memory of many layouts, estimated of no more of them than anybody asks for."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from flyball_planner.layouts.columns import Layouts
from flyball_planner.memory.estimate import MemoryEstimate
from flyball_planner.memory.verdict import FITS, Fit, fits

Positions = NDArray[np.intp]

SAMPLED = 128  # rows, spread over all, that tell whether most of them fit
FEW = 2_000  # layouts of which it costs no more to estimate all at once than some of them in three calls


class Memories:
    """Of rows as they are asked for; of all at once where they are few, or where most do not fit and will be asked."""

    def __init__(self, layouts: Layouts, estimate: Callable[[Layouts], MemoryEstimate]) -> None:
        self._layouts = layouts
        self._estimate = estimate
        self._whole: MemoryEstimate | None = None
        every = np.arange(len(layouts))
        if len(every) <= FEW or self.surely_fit(every[:: len(every) // SAMPLED + 1]).mean() < 0.5:
            self._whole = estimate(layouts)

    @property
    def complete(self) -> bool:
        """Whether all of them were estimated."""
        return self._whole is not None

    def of(self, rows: Positions) -> MemoryEstimate:
        """Of some rows."""
        return self._estimate(self._layouts.where(rows)) if self._whole is None else self._whole.where(rows)

    def of_each(self, parts: Sequence[Positions]) -> list[MemoryEstimate]:
        """Of several groups of rows, in one pass."""
        if self._whole is not None:
            return [self._whole.where(part) for part in parts]
        whole, ends = self.of(np.concatenate(parts)), np.cumsum([len(part) for part in parts])
        return [whole.where(np.arange(end - len(part), end)) for part, end in zip(parts, ends, strict=True)]

    def surely_fit(self, rows: Positions) -> NDArray[np.bool_]:
        """Which of some rows do."""
        return _surely(self.of(rows)) if self._whole is None else _surely(self._whole)[rows]


def _surely(memory: MemoryEstimate) -> NDArray[np.bool_]:
    mask: NDArray[np.bool_] = fits(memory).positions == FITS.index(Fit.YES)
    return mask
