"""The verdict on memory: whether a training fits, and with how much headroom."""

from enum import StrEnum

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from flyball_planner.layouts.layout import Column
from flyball_planner.memory.estimate import MemoryEstimate


class Fit(StrEnum):
    """Yes if even the upper end of the interval fits, no if not even the lower end fits."""

    YES = "yes"
    UNCERTAIN = "uncertain"
    NO = "no"


FITS = tuple(Fit)


class Verdict(Struct, frozen=True):
    """For each layout, whether it fits, and the bytes that remain."""

    positions: NDArray[np.intp]  # indices into FITS
    headroom: Column  # above the middle of the estimate; negative if it does not fit
    sure_headroom: Column  # above the upper end

    def __getitem__(self, row: int) -> Fit:
        return FITS[int(self.positions[row])]

    @property
    def may_fit(self) -> NDArray[np.bool_]:
        """Return the layouts that do not surely fail to fit."""
        mask: NDArray[np.bool_] = self.positions != FITS.index(Fit.NO)
        return mask


def fits(estimate: MemoryEstimate, share: float = 1.0) -> Verdict:
    """Compare an estimate with a share of the memory that the driver reports."""
    limit = share * estimate.usable_bytes
    positions = np.where(
        estimate.driver.high <= limit,
        FITS.index(Fit.YES),
        np.where(estimate.driver.low > limit, FITS.index(Fit.NO), FITS.index(Fit.UNCERTAIN)),
    )
    return Verdict(positions, limit - estimate.driver.middle, limit - estimate.driver.high)
