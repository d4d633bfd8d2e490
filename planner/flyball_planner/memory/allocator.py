"""How much a caching allocator takes from the driver for tensors of given sizes (PyTorch's CUDACachingAllocator)."""

import numpy as np

from flyball_planner.layouts.columns import Column
from flyball_planner.memory.constants import MIB

SMALL = 1 * MIB  # up to this, tensors share segments of 2 MiB (kSmallSize, kSmallBuffer)
SMALL_SEGMENT = 2 * MIB
LARGE = 10 * MIB  # below this they share segments of 20 MiB (kMinLargeAlloc, kLargeBuffer)
MIDDLE_SEGMENT = 20 * MIB
LARGE_STEP = 2 * MIB  # above, each has a segment of its own in steps of this (kRoundLarge)


def reserved_bytes(sizes: Column, counts: Column) -> Column:
    """Segments for `counts` tensors of `sizes` bytes; both have a row for each tensor and a column for each layout.

    A count may be a fraction: of tensors that come and go, what is not placed where others just left.
    """
    small, large = sizes <= SMALL, sizes >= LARGE
    wanted = sizes * counts
    own = np.ceil(sizes / LARGE_STEP) * LARGE_STEP * counts
    total: Column = (
        _whole((wanted * small).sum(axis=0), SMALL_SEGMENT)
        + _whole((wanted * ~(small | large)).sum(axis=0), MIDDLE_SEGMENT)
        + (own * large).sum(axis=0)
    )
    return total


def _whole(amount: Column, segment: float) -> Column:
    whole: Column = np.ceil(amount / segment) * segment
    return whole
