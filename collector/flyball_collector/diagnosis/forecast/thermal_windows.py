"""The times over which the approach of a temperature to its rest is fitted, from minutes to seconds."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from flyball_collector.diagnosis.forecast.history import History, MinMaxRing, NewestReadings
from flyball_collector.diagnosis.forecast.thermal_approach import RISEN

Floats = NDArray[np.float64]
Places = NDArray[np.int64]

POINTS = 16
"""Single readings in a fit."""

MOST_ROWS = 256
"""Rows fitted in one view: a whole fleet that starts at once must not block the collector."""

COUNTS = (32, 16, 8)
"""Slots in a fit. The longest time that is a single approach to a rest is used."""


def warming(history: History, rows: Places, margin: Floats) -> Places:
    """Return the places in `rows` that warmed enough for a fit, the nearest to the limit if they are many."""
    before = np.fmax(history.rings[-1].highest(rows), history.newest.highest(rows))
    places = np.flatnonzero(before - margin >= np.maximum(RISEN * margin, 1.0))
    if len(places) > MOST_ROWS:
        places = places[np.argsort(margin[places])[:MOST_ROWS]]
    return places


def thermal_windows(history: History) -> Iterator[tuple[NewestReadings | MinMaxRing, int]]:
    """Yield the longest window first."""
    for ring in reversed(history.rings):
        for count in COUNTS:
            yield ring, count
    yield history.newest, POINTS


def read_window(
    source: NewestReadings | MinMaxRing, count: int, rows: Places, interval: Floats
) -> tuple[Floats, Floats]:
    """Return times and margins (time × row); of a ring its complete slots, by their middles."""
    if isinstance(source, NewestReadings):
        part = source.last(count, rows)
        return part.times, part.high.astype(np.float64)
    part = source.last(count, rows, skip=1)
    times = part.times[:, None] - np.maximum(source.period - np.fmax(interval, 1.0), 0.0) / 2
    return times, (part.low.astype(np.float64) + part.high) / 2
