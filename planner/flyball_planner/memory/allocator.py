"""A model of the caching allocator: the segments that PyTorch's CUDACachingAllocator takes for tensors of given
sizes."""

import numpy as np

from flyball_planner.layouts.layout import Column
from flyball_planner.memory.constants import MIB

SMALL = 1 * MIB  # tensors up to this size share segments of 2 MiB (kSmallSize, kSmallBuffer)
SMALL_SEGMENT = 2 * MIB
LARGE = 10 * MIB  # tensors below this size share segments of 20 MiB (kMinLargeAlloc, kLargeBuffer)
MIDDLE_SEGMENT = 20 * MIB
LARGE_STEP = 2 * MIB  # larger tensors have their own segments, rounded up to this (kRoundLarge)


def reserved_bytes(sizes: Column, counts: Column) -> Column:
    """Return the bytes of the segments for `counts` tensors of `sizes` bytes, by tensor and layout.

    A count may be a fraction: the part of short-lived tensors that does not reuse freed blocks.
    """
    small, large = sizes <= SMALL, sizes >= LARGE
    wanted = sizes * counts
    separate = np.ceil(sizes / LARGE_STEP) * LARGE_STEP * counts
    total: Column = (
        _rounded_up((wanted * small).sum(axis=0), SMALL_SEGMENT)
        + _rounded_up((wanted * ~(small | large)).sum(axis=0), MIDDLE_SEGMENT)
        + (separate * large).sum(axis=0)
    )
    return total


def _rounded_up(amount: Column, segment: float) -> Column:
    rounded: Column = np.ceil(amount / segment) * segment
    return rounded
