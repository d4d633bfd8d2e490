"""Whether a training fits, and by how much."""

from enum import StrEnum

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from flyball_planner.layouts.columns import Column
from flyball_planner.memory.estimate import MemoryEstimate


class Fit(StrEnum):
    """Yes where even the upper end of the interval fits, no where not even the lower end does."""

    YES = "yes"
    UNCERTAIN = "uncertain"
    NO = "no"


FITS = tuple(Fit)


class Verdict(Struct, frozen=True):
    """For each layout whether it fits, and the bytes that are left."""

    positions: NDArray[np.intp]  # in FITS
    headroom: Column  # to the middle of the estimate; negative where that does not fit
    sure_headroom: Column  # to its upper end

    def __getitem__(self, row: int) -> Fit:
        return FITS[int(self.positions[row])]

    @property
    def may_fit(self) -> NDArray[np.bool_]:
        """All layouts that are not out of the question."""
        mask: NDArray[np.bool_] = self.positions != FITS.index(Fit.NO)
        return mask


def fits(estimate: MemoryEstimate, share: float = 1.0) -> Verdict:
    """Judge against a share of the memory that the driver shows."""
    limit = share * estimate.usable_bytes
    positions = np.where(
        estimate.driver.high <= limit,
        FITS.index(Fit.YES),
        np.where(estimate.driver.low > limit, FITS.index(Fit.NO), FITS.index(Fit.UNCERTAIN)),
    )
    return Verdict(positions, limit - estimate.driver.middle, limit - estimate.driver.high)
