"""Decides whether a rise of memory may be part of a daily cycle that will level off by itself.

If a sine-shaped daily cycle rises by some gain within some time, its range R has a lower limit: within a time of up to
half a day, it rises by at most R · sin(π · time / day), around its steepest point. Half of the rest of that range is
still to come. If there is less room than that, memory runs out even if the rise is a daily cycle. Over nine hours, even
the straightest part of a sine bends visibly: its outer thirds rise by only 0.7 of its middle third.

Limit: after the steepest point, less is still to come than is assumed here. So a cycle that leaves very little room at
its top (less than a fifth of its range) may then be taken for a memory that fills.
"""

import numpy as np
from numpy.typing import NDArray

from flyball_collector.diagnosis.forecast.trend import Trend, theil_sen

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

DAY_SECONDS = 86_400.0

LEAST_SECONDS = 10_000.0
"""Shorter rises are not judged: loading a data set takes less time."""

BEND_SECONDS = 8 * 3600.0
"""From this time on, a sine bends visibly."""

STRAIGHT = 0.85
"""In a straight rise, the slowest third rises by at least this share of the fastest third."""

SOON = 0.75
"""A straight rise that fills memory within this share of the time seen so far will hardly level off before."""


def may_be_a_day(times: Floats, minima: Floats, trend: Trend, room: Floats) -> Flags:
    """Return for each series of `minima` (time × series) whether its trend may be a daily cycle that levels off."""
    span = float(times[-1] - times[0])
    gain = trend.slope * span
    share = np.sin(np.pi * min(span, DAY_SECONDS / 2) / DAY_SECONDS)
    rest = gain * (1 / share - 1) / 2
    fills = (rest >= room) & (gain >= room) & (span >= LEAST_SECONDS)
    if span >= BEND_SECONDS:
        fills |= _straight(times, minima) & (SOON * gain >= room)
    return np.asarray(~fills)


def _straight(times: Floats, minima: Floats) -> Flags:
    """Return True if all thirds rise by about the same amount."""
    thirds = np.array_split(np.arange(len(times)), 3)
    slopes = np.array([theil_sen(times[third], minima[third], z=0.0).slope for third in thirds])
    return np.asarray(slopes.min(axis=0) >= STRAIGHT * slopes.max(axis=0))
