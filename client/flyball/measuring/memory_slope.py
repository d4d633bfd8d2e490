"""The steady growth of memory in bytes a step, from one reading after each step."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

LEAST_STEPS = 20
_WARM_UP = 0.2  # the first part of the readings: caches and pools still grow
_DEVIATIONS = 3.0
_LEAST_GROWTH_BYTES = 128 * 1024  # in all; below, the allocator of the C library explains it
_NO_GROWTH_BYTES = 64.0  # a step; a kept graph node alone takes more


def steady_growth(readings: Sequence[int]) -> float | None:
    """Return the growth in bytes a step, 0.0 if there is certainly none, and None if neither is certain.

    Growth must exceed three times its error, and continue in both halves: a cache that fills is not a leak.
    """
    later = readings[int(len(readings) * _WARM_UP) :]
    if len(readings) < LEAST_STEPS:
        return None
    slope, error = line(later)
    if slope + _DEVIATIONS * error < _NO_GROWTH_BYTES:
        return 0.0
    middle = len(later) // 2
    halves = [line(half)[0] for half in (later[:middle], later[middle:])]
    certain = slope - _DEVIATIONS * error > 0 and min(halves) > slope / 3
    return slope if certain and slope * len(later) >= _LEAST_GROWTH_BYTES else None


def line(values: Sequence[float]) -> tuple[float, float]:
    """Return the slope of the least-squares line through readings at 0, 1, 2 …, and its standard error."""
    count = len(values)
    if count < 3:
        return 0.0, 0.0
    middle, mean = (count - 1) / 2, sum(values) / count
    spread = sum((index - middle) ** 2 for index in range(count))
    slope = sum((index - middle) * (value - mean) for index, value in enumerate(values)) / spread
    rest = sum((value - mean - slope * (index - middle)) ** 2 for index, value in enumerate(values))
    return slope, (rest / (count - 2) / spread) ** 0.5
