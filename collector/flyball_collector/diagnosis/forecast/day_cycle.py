"""Whether a rise of memory may be the morning's, and will be over by noon.

A day's cycle that rises by a gain within a time has at least a certain range: a sine of range R rises by no more than
R · sin(π · time / day) in a time of up to half a day, about its steepest moment. Beyond the gain, half of the rest of
that range is still to come. Where memory has no room for so much, it fills whatever rises there. Over nine hours even
the flattest piece of a sine bends: its outer thirds rise by 0.7 of its middle one.
"""

import numpy as np
from numpy.typing import NDArray

from flyball_collector.diagnosis.forecast.trend import Trend, theil_sen

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

DAY_SECONDS = 86_400.0

LEAST_SECONDS = 10_000.0
"""Loading a data set is over sooner."""

BEND_SECONDS = 8 * 3600.0
"""From here on a sine bends so that it shows."""

STRAIGHT = 0.85
"""The slowest third of what is straight rises by at least so much of the fastest."""

SOON = 0.75
"""A line that fills memory within so much of the time for which it was seen will hardly rest before."""


def may_be_a_day(times: Floats, minima: Floats, trend: Trend, room: Floats) -> Flags:
    """Along the series of `minima` (time × series) with this trend: a day's cycle may rise like this, and rest."""
    span = float(times[-1] - times[0])
    gain = trend.slope * span
    share = np.sin(np.pi * min(span, DAY_SECONDS / 2) / DAY_SECONDS)
    rest = gain * (1 / share - 1) / 2
    fills = (rest >= room) & (gain >= room) & (span >= LEAST_SECONDS)
    if span >= BEND_SECONDS:
        fills |= _straight(times, minima) & (SOON * gain >= room)
    return np.asarray(~fills)


def _straight(times: Floats, minima: Floats) -> Flags:
    """All thirds rise about alike."""
    thirds = np.array_split(np.arange(len(times)), 3)
    slopes = np.array([theil_sen(times[third], minima[third], z=0.0).slope for third in thirds])
    return np.asarray(slopes.min(axis=0) >= STRAIGHT * slopes.max(axis=0))
