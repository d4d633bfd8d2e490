"""When something that fills will be full: steady growth, seen at every scale from seconds to a day.

Growth alone is no alarm: caches warm up, jobs start, and a plateau holds at any level. It is taken for a filling when
over some stretch of time it has covered several times the room that is left, the lower bound of its slope is above
zero, it does not slow down, and it reaches where this row has not been before. Who has grown for a time D goes on for
another D / 3 more often than not; nothing is extrapolated further.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flyball_collector.diagnosis.forecast.trail import Stretch, Trail
from flyball_collector.diagnosis.forecast.trend import theil_sen

Floats = NDArray[np.float64]
Places = NDArray[np.int64]
Flags = NDArray[np.bool_]

RINGS = ((10.0, 32), (60.0, 32), (300.0, 36), (1800.0, 48))
"""Five minutes, half an hour, three hours, a day."""

COUNTS = (8, 16, 32)
"""Points of a fit: each scale doubles the one before."""

FEW = 5
"""The shortest fit, of readings that all rise."""


@dataclass(frozen=True, slots=True)
class Rules:
    """What counts as filling."""

    covered: float = 3.0  # growth, as a multiple of the room left
    level: float = 0.9  # use below which nothing is told …
    hasty_level: float = 0.75  # … unless it would be full before one could look a few more times
    hasty_covered: float = 2.5
    hasty_seconds: float = 10.0
    hasty_readings: float = 3.0
    steady: float = 0.5  # the newest third grows at least so fast, relative to the whole
    novel: float = 1.0  # use above the highest of before, as a multiple of the room left
    least_gain: float = 0.01  # of the capacity
    horizon_seconds: float = 7200.0


@dataclass(slots=True)
class Filling:
    """Along rows: whether each fills up, and the seconds until it is full; NaN where it does not."""

    enters: Flags
    left: Floats
    left_low: Floats
    left_high: Floats
    span: Floats  # seconds of growth that the forecast rests on
    covered: Floats  # growth over that span, as a multiple of the room left


def filling(trail: Trail, use: Floats, now: float, rules: Rules, *, least_span: Floats | None = None) -> Filling:
    """Judge every row by its newest use (a share of the capacity; NaN is unknown) and its trail.

    `least_span`: seconds of growth that each row must show.
    """
    told = Filling(np.zeros(len(use), dtype=bool), *(np.full(len(use), np.nan) for _ in range(5)))
    rows = np.flatnonzero(use >= min(rules.level, rules.hasty_level))
    if not len(rows):
        return told
    before, _ = trail.newest.back(1, rows)
    pace = now - before  # a row's own interval between readings
    spans = np.zeros(len(rows)) if least_span is None else least_span[rows]
    for stretch, chosen in _stretches(trail, rows, use, rules, spans):
        _judge(told, stretch, rows[chosen], use, pace[chosen], trail, rules)
    return told


def _stretches(
    trail: Trail, rows: Places, use: Floats, rules: Rules, spans: Floats
) -> Iterator[tuple[Stretch, Places]]:
    """Each scale with the rows that have covered enough within it: few, so that only few are fitted."""
    room = np.maximum(1 - use[rows], 0.0)
    enough = np.maximum(min(rules.covered, rules.hasty_covered) * room, rules.least_gain)
    for count in (FEW, *COUNTS):
        times, values = trail.newest.back(count - 1, rows)
        newest, _ = trail.newest.back(0, rows)
        chosen = np.flatnonzero((use[rows] - values >= enough) & (newest - times >= spans))
        if len(chosen):
            yield trail.newest.last(count, rows[chosen]), chosen
    for ring in trail.rings:
        for count in COUNTS:
            oldest = ring.slot_back(count - 1)
            if oldest is None:
                continue
            long = ring.period * (count - 1) >= spans
            chosen = np.flatnonzero((use[rows] - oldest[rows] >= enough) & long)
            if len(chosen):
                yield ring.last(count, rows[chosen]), chosen


def _judge(
    told: Filling, stretch: Stretch, rows: Places, use: Floats, pace: Floats, trail: Trail, rules: Rules
) -> None:
    """Fit one scale and note where it makes the nearest forecast."""
    times = stretch.times if stretch.times.ndim == 2 else np.repeat(stretch.times[:, None], len(rows), axis=1)
    values = stretch.high.astype(np.float64)
    count = len(values)
    trend = theil_sen(times, values, z=1.96 if count < 8 else 2.576)
    first = np.take_along_axis(times, np.argmax(~np.isnan(values), axis=0)[None], axis=0)[0]
    base = np.take_along_axis(values, np.argmax(~np.isnan(values), axis=0)[None], axis=0)[0]
    level = use[rows]
    room = np.maximum(1 - level, 0.0)
    third = count - max(2, count // 3 + 1)
    late = (values[-1] - values[third]) / (times[-1] - times[third])
    slope = np.fmin(trend.slope, late)
    with np.errstate(divide="ignore", invalid="ignore"):
        left = room / slope
        low, high = room / np.fmax(trend.high, slope), room / trend.low
    span, gain = times[-1] - first, level - base
    hasty = (left <= np.maximum(rules.hasty_seconds, rules.hasty_readings * pace)) & (level >= rules.hasty_level)
    covered = np.where(hasty, rules.hasty_covered, rules.covered)
    ok = (trend.low > 0) & (trend.points >= min(count, max(FEW, count * 3 // 4))) & (late >= rules.steady * trend.slope)
    ok &= (gain >= np.maximum(covered * room, rules.least_gain)) & (left * covered <= span * 1.5)
    ok &= (hasty | (level >= rules.level)) & (left <= rules.horizon_seconds)
    ok &= gain >= 5 * trend.spread
    ok &= _is_new(trail, rows, first, level, room, rules)
    nearer = ok & ~(told.left[rows] <= left)
    at = rows[nearer]
    told.enters[at] = True
    for array, numbers in (
        (told.left, left), (told.left_low, low), (told.left_high, high), (told.span, span),
        (told.covered, gain / np.maximum(room, 1e-6)),
    ):  # fmt: skip
        array[at] = numbers[nearer]


def _is_new(trail: Trail, rows: Places, since: Floats, level: Floats, room: Floats, rules: Rules) -> Flags:
    """Whether use has left behind by enough what it was at its highest before the growth began."""
    highest = np.full(len(rows), -np.inf)
    for ring in trail.rings:
        stretch = ring.last(ring.slots, rows)
        before = np.where(stretch.times[:, None] < since, stretch.high, -np.inf)
        if len(before):
            highest = np.fmax(highest, np.fmax.reduce(before, axis=0))
    return np.asarray(level - highest >= rules.novel * room)
