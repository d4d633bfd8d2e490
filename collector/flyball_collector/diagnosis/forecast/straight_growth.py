"""Finds memory that fills along a straight line, while half of the room is still free.

Growth alone does not justify an alarm: caches warm up, jobs start, and use may settle at any level. But growth that
began from a rest, comes evenly and does not bend shows no sign that it will end. It is reported once it has used up
nearly half of the room, though not long before the end: nobody acts on a word that comes hours before.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flyball_collector.diagnosis.forecast.history import History, MinMaxRing
from flyball_collector.diagnosis.forecast.straight_fit import StraightFit, may_have_grown, straight_fit

Floats = NDArray[np.float64]
Places = NDArray[np.int64]
Flags = NDArray[np.bool_]

LONGEST_PERIOD = 300.0
"""Growth over half a day that ends within `horizon_seconds` is almost at the limit, where other rules apply."""

MINUTE = 60.0

RECENT = 4
"""Slots over which growth must be fast enough to be looked at more closely."""

ROWS = 512
"""Rows fitted at a time, so that the arrays stay in the processor's cache."""


@dataclass(frozen=True, slots=True)
class StraightRules:
    """Thresholds for growth to count as straight and worth a word."""

    covered: float = 0.8  # growth, as a multiple of the room left: 1 is half of the room at the beginning
    least_gain: float = 0.08  # of the capacity
    sure: tuple[tuple[float, float], ...] = ((3.0, 0.36), (4.0, 0.2))  # the same of growth whose beginning is unknown
    horizon_seconds: float = 900.0  # ten minutes, and what noise may take away from them
    readings: int = 16  # least number of single readings of a growth
    slots: int = 12  # least number of complete slots of a growth; of minutes, two thirds are enough
    novel: float = 0.72  # use above the earlier maximum, as a multiple of the room left
    bend: float = 0.88  # least rate at the end, relative to the mean; a warm-up to 97 % has 0.78 by then
    error: float = 0.08  # largest error of that rate: what scatters more proves nothing
    uneven: float = 0.05
    uneven_fine: float = 0.11
    ragged: float = 0.2  # of single readings
    ragged_slots: float = 0.06
    behind: float = 0.1  # use below the line, as a share of the growth: growth that has just come to rest …
    behind_spreads: float = 2.0  # … or as a multiple of the spread of the readings


RULES = StraightRules()


@dataclass(frozen=True, slots=True)
class StraightForecast:
    """The forecasts of some rows."""

    rows: Places
    fit: StraightFit


class StraightGrowth:
    """Looks at the newest readings each time, and at a ring whenever it has completed a slot."""

    def __init__(self, history: History, rules: StraightRules = RULES) -> None:
        self._history = history
        self.rules = rules
        self._numbers = [-1] * len(history.rings)

    def judge(
        self, use: Floats, judged: Flags, interval: Floats, now: float, least_span: Floats
    ) -> Iterator[StraightForecast]:
        """Yield the forecasts of the rows in `judged`, shortest scale first. `interval`: seconds between readings."""
        rings = [ring for ring, number in zip(self._history.rings, self._numbers, strict=True) if ring.number != number]
        self._numbers = [ring.number for ring in self._history.rings]
        room = np.maximum(1 - use, 0.0)
        least = np.maximum(0.8 * self.rules.covered * room, self.rules.least_gain)
        newest = self._history.newest
        rows = np.flatnonzero(judged & (use - newest.least() >= least))
        rows = rows[use[rows] - newest.lowest(rows) >= least[rows]]
        for some in _parts(rows):
            part = newest.last(newest.slots, some)
            values = part.high.astype(np.float64)
            yield self._fit(some, part.times, values, use, self.rules.readings, self.rules.ragged, least_span, now)
        for ring in rings:
            if ring.period <= LONGEST_PERIOD:
                for some in _parts(self._candidates(ring, use, judged, room, least)):
                    yield self._fit_ring(ring, some, use, interval[some], least_span, now)

    def _candidates(self, ring: MinMaxRing, use: Floats, judged: Flags, room: Floats, least: Floats) -> Places:
        """Return the rows that grew enough within a ring, and recently fast enough."""
        rows = np.flatnonzero(judged & (use - ring.lowest_high() >= least))
        if not len(rows):
            return rows
        recently = use[rows] - ring.lows_back(RECENT, rows)
        return rows[~(recently < 0.5 * RECENT * ring.period * room[rows] / self.rules.horizon_seconds)]

    def _fit_ring(
        self, ring: MinMaxRing, rows: Places, use: Floats, interval: Floats, least_span: Floats, now: float
    ) -> StraightForecast:
        """Fit the complete slots of a ring, each by the middle of its lows and highs at the middle of its time."""
        part = ring.last(0, rows, skip=1)
        times = part.times[:, None] - np.maximum(ring.period - interval, 0.0) / 2
        middle = (part.low.astype(np.float64) + part.high) / 2
        slots = self.rules.slots * 2 // 3 if ring.period >= MINUTE else self.rules.slots
        return self._fit(rows, times, middle, use, slots, self.rules.ragged_slots, least_span, now)

    def _fit(
        self, rows: Places, times: Floats, values: Floats, use: Floats, points: int, ragged: float, least_span: Floats,
        now: float,
    ) -> StraightForecast:  # fmt: skip
        """Return the rows whose growth is straight, near its end and has not come to rest."""
        if len(values) <= points:
            return StraightForecast(rows[:0], straight_fit(np.zeros((4, 0)), np.zeros((4, 0)), 0.0))
        some = may_have_grown(values, points)  # most rows only scatter
        rows, times, values = rows[some], times[:, some], values[:, some]
        fit, rules = straight_fit(times, values, now), self.rules
        with np.errstate(invalid="ignore"):
            sure = np.zeros(len(rows), dtype=bool)
            for covered, gain in rules.sure:
                sure |= (fit.gain >= covered * fit.room) & (fit.gain >= gain)
            holds = (fit.points > points) & (fit.rested | sure) & (fit.slope_low > 0)
            holds &= (fit.gain >= rules.covered * fit.room) & (fit.gain >= rules.least_gain)
            holds &= (fit.left <= rules.horizon_seconds) & (fit.span >= least_span[rows])
            holds &= (
                (fit.bend - fit.bend_error >= rules.bend)
                & (fit.bend_error <= rules.error)
                & (fit.uneven <= rules.uneven)
            )
            near = np.fmax(rules.behind * fit.gain, rules.behind_spreads * fit.spread)
            holds &= fit.expected - use[rows] <= near
            holds &= (fit.ragged <= ragged) & ~(fit.uneven_fine > rules.uneven_fine)
        return StraightForecast(rows[holds], StraightFit._make(each[holds] for each in fit))


def _parts(rows: Places) -> Sequence[Places]:
    return [rows[begin : begin + ROWS] for begin in range(0, len(rows), ROWS)]
