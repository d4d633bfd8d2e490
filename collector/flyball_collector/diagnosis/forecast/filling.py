"""When something that fills will be full: steady growth, seen at every scale from seconds to a day.

Growth alone is no alarm: caches warm up, jobs start, and a plateau holds at any level. It is taken for a filling when
over some stretch of time it has covered several times the room that is left, the lower bound of its slope is above
zero, it does not slow down, and it reaches where this row has not been before. Who has grown for a time D goes on for
another D / 3 more often than not; nothing is extrapolated further.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from flyball_collector.diagnosis.forecast.trail import Ring, Stretch, Trail
from flyball_collector.diagnosis.forecast.trend import Trend, theil_sen, walk

Floats = NDArray[np.float64]
Places = NDArray[np.int64]
Flags = NDArray[np.bool_]

RINGS = ((10.0, 32), (60.0, 32), (300.0, 40), (1800.0, 48))
"""Five minutes, half an hour, three hours, a day."""

COUNTS = (8, 16, 32)
"""Points of a fit: each scale doubles the one before."""

SELDOM = 10.0
"""Seconds between readings from which on a few of them are a long time."""

STAIRS = (8, 12, 16)
"""Rungs of a fit."""

LONGEST_WAIT = 2.0
"""For a rung, as a multiple of the usual one."""

STAIRS_SPAN = 7200.0
"""Seconds of climbing, where only a driver's figure is known: caches grow in steps, too, until they suffice."""

STAIRS_HORIZON = 4 * 3600.0
"""Seconds: until the next step of what was seen to climb for the better part of a day."""

LEAST_ROOM = 1e-3
"""Of the capacity; growth is measured against at least so much."""


@dataclass(frozen=True, slots=True)
class Rules:
    """What counts as filling."""

    covered: float = 3.0  # growth, as a multiple of the room left
    level: float = 0.92  # use below which nothing is told …
    hasty_level: float = 0.92  # … unless it would be full after so few more readings …
    haste: float = 2.0  # … that one cannot wait for more certainty …
    hasty_even: bool = True  # … and its steps are alike, and do not become less
    few: int = 6  # readings of the shortest fit, which must all rise
    steady: float = 0.8  # the newer half grows at least so fast, relative to the older
    begun: float = 0.25  # the older half grows at least so fast, relative to the newer: no jump of a moment ago
    unslowed: float = 0.6  # the usual one of the newest steps, relative to the newest third: no last jump, no rest
    jump: float = 0.2  # the largest step, as a share of the growth
    drift: float = 3.5  # growth, as a multiple of what a random walk of the same steps would go
    novel: float = 1.0  # use above the highest of before, as a multiple of the room left
    least_gain: float = 0.01  # of the capacity
    horizon_seconds: float = 7200.0

    @property
    def least_level(self) -> float:
        """Nothing at all is told below."""
        return min(self.level, self.hasty_level)


class Forecast(NamedTuple):
    """The same of one scale."""

    holds: Flags
    left: Floats
    left_low: Floats
    left_high: Floats
    span: Floats
    covered: Floats


@dataclass(slots=True)
class Filling:
    """Along rows: whether each fills up, and the seconds until it is full; NaN where it does not."""

    enters: Flags
    left: Floats
    left_low: Floats
    left_high: Floats
    span: Floats  # seconds of growth that the forecast rests on
    covered: Floats  # growth over that span, as a multiple of the room left


class Fillings:
    """Judges every row by its newest use (a share of the capacity; NaN is unknown) and its trail.

    The newest readings are looked at each time, a ring when it begins a slot.
    """

    def __init__(self, trail: Trail, rules: Rules, seldom: Rules | None = None) -> None:
        """`seldom`: for rows whose readings are far apart."""
        self._trail = trail
        self.rules, self.seldom = rules, seldom or rules
        self._stairs = replace(rules, horizon_seconds=STAIRS_HORIZON)
        self._numbers = [-1] * len(trail.rings)

    def judge(self, use: Floats, now: float, least_span: Floats | None = None) -> Filling:
        """Call it after the trail has taken this use. `least_span`: seconds of growth that each row must show."""
        told = Filling(np.zeros(len(use), dtype=bool), *(np.full(len(use), np.nan) for _ in range(5)))
        high = use >= min(self.rules.least_level, self.seldom.least_level)
        rings = [ring for ring, number in zip(self._trail.rings, self._numbers, strict=True) if ring.number != number]
        self._numbers = [ring.number for ring in self._trail.rings]
        self._judge_stairs(told, high, use, now, least_span)
        some = np.flatnonzero(high & self._may_fill(use, rings))
        pace = now - self._trail.newest.back(1, some)[0]  # a row's own interval between readings
        slow = pace >= SELDOM
        for rules, chosen in ((self.rules, ~slow), (self.seldom, slow)):
            rows = some[chosen]
            spans = np.zeros(len(rows)) if least_span is None else least_span[rows]
            for stretch, places in self._stretches(rows, use[rows], spans, rings, rules) if len(rows) else ():
                found = _fit(stretch, use[rows[places]], pace[chosen][places], rules)
                self._note(told, rows[places], found, use, now, rules)
        return told

    def _may_fill(self, use: Floats, rings: Sequence[Ring]) -> Flags:
        """Whether rows have covered enough since their lowest reading: looked at for all, to look closer at few."""
        lowest = self._trail.newest.lowest()
        for ring in rings:
            lowest = np.fmin(lowest, ring.lowest_high())
        both = (self.rules, self.seldom)
        covered, least_gain = min(rules.covered for rules in both), min(rules.least_gain for rules in both)
        return np.asarray(use - lowest >= _enough(use, covered, least_gain))

    def _judge_stairs(self, told: Filling, high: Flags, use: Floats, now: float, least_span: Floats | None) -> None:
        """Those that climb another rung at this moment: how fast they stand still meanwhile does not matter."""
        ladder = self._trail.ladder
        if ladder is None:
            return
        rows = np.flatnonzero(high & ladder.climbs(now))
        if not len(rows):
            return
        least = np.zeros(len(rows)) if least_span is None else np.where(least_span[rows] > 0, STAIRS_SPAN, 0.0)
        for count in STAIRS:
            times, values = ladder.rungs.back(count - 1, rows)
            room = np.maximum(1 - use[rows], 0.0)
            chosen = rows[(use[rows] - values >= self.rules.covered * room) & (now - times >= least)]
            if len(chosen):
                stretch = ladder.rungs.last(count, chosen)
                found = _fit(stretch, use[chosen], np.zeros(len(chosen)), self._stairs)
                found = found._replace(holds=found.holds & _regular(stretch.times))
                self._note(told, chosen, found, use, now, self._stairs)

    def _stretches(
        self, rows: Places, use: Floats, spans: Floats, rings: Sequence[Ring], rules: Rules
    ) -> Iterator[tuple[Stretch, Places]]:
        """Each scale with the rows that have covered enough within it: few, so that only few are fitted."""
        newest = self._trail.newest
        enough = _enough(use, rules.covered, rules.least_gain)
        last, _ = newest.back(0, rows)
        for count in (rules.few, *COUNTS):
            times, values = newest.back(count - 1, rows)
            chosen = np.flatnonzero((use - values >= enough) & (last - times >= spans))
            if len(chosen):
                yield newest.last(count, rows[chosen]), chosen
        for ring in rings:
            for count in COUNTS:
                oldest = ring.highs_back(count - 1, rows)
                chosen = np.flatnonzero((use - oldest >= enough) & (ring.period * (count - 1) >= spans))
                if len(chosen):
                    yield ring.last(count, rows[chosen]), chosen

    def _note(self, told: Filling, rows: Places, found: Forecast, use: Floats, now: float, rules: Rules) -> None:
        """Of several scales the nearest forecast counts."""
        nearer = np.flatnonzero(found.holds & ~(told.left[rows] <= found.left))
        new = self._is_new(rows[nearer], use[rows[nearer]], now - found.span[nearer], rules)
        nearer = nearer[new]
        at = rows[nearer]
        told.enters[at] = True
        told.left[at], told.left_low[at], told.left_high[at] = (
            numbers[nearer] for numbers in (found.left, found.left_low, found.left_high)
        )
        told.span[at], told.covered[at] = found.span[nearer], found.covered[nearer]

    def _is_new(self, rows: Places, use: Floats, since: Floats, rules: Rules) -> Flags:
        """Whether use has left behind by enough what it was at its highest before the growth began."""
        highest = np.full(len(rows), -np.inf)
        for ring in self._trail.rings if len(rows) else ():
            stretch = ring.last(ring.slots, rows)
            before = np.where(stretch.times[:, None] < since - 1, stretch.high, -np.inf)
            highest = np.fmax(highest, np.fmax.reduce(before, axis=0, initial=-np.inf))
        return np.asarray(use - highest >= rules.novel * np.maximum(1 - use, 0.0))


def _enough(use: Floats, covered: float, least_gain: float) -> Floats:
    """How much growth may be a filling."""
    return np.asarray(np.maximum(covered * np.maximum(1 - use, 0.0), least_gain))


def _fit(stretch: Stretch, use: Floats, pace: Floats, rules: Rules) -> Forecast:
    """One scale of rows whose oldest point is known."""
    times = stretch.times if stretch.times.ndim == 2 else np.repeat(stretch.times[:, None], len(use), axis=1)
    values = stretch.high.astype(np.float64)
    trend = theil_sen(times, values, z=1.96 if len(values) < COUNTS[0] else 2.576)
    span, gain, room = times[-1] - times[0], use - values[0], np.maximum(1 - use, 0.0)
    third = _tail(times, values, max(2, len(values) // 3))
    newest = _usual(times, values, max(3, len(values) // 8))
    slope = np.fmin(trend.slope, third)
    with np.errstate(divide="ignore", invalid="ignore"):
        left = room / slope
        low, high = np.fmin(room / trend.high, left), np.fmax(room / trend.low, left)
        covered = gain / np.maximum(room, LEAST_ROOM)
    halves = _halves(times, values)
    hasty = (left <= rules.haste * pace) & (use >= rules.hasty_level)
    hasty &= (not rules.hasty_even) | _even(values, halves, gain)
    holds = (
        (slope > 0) & (hasty | (use >= rules.level)) & (covered >= rules.covered) & (left * rules.covered <= 1.5 * span)
    )
    holds &= (left <= rules.horizon_seconds) & (gain >= rules.least_gain) & (newest >= rules.unslowed * third)
    holds &= _steady(values, halves, trend, gain, rules)
    return Forecast(holds, left, low, high, span, covered)


def _regular(times: Floats) -> Flags:
    """Whether no step let wait much longer than they usually do: what has come to rest takes none."""
    waits = np.diff(times, axis=0)
    return np.asarray(np.max(waits, axis=0) <= LONGEST_WAIT * np.median(waits, axis=0))


def _tail(times: Floats, values: Floats, steps: int) -> Floats:
    """The slope of the newest steps."""
    return np.asarray((values[-1] - values[-1 - steps]) / (times[-1] - times[-1 - steps]))


def _usual(times: Floats, values: Floats, steps: int) -> Floats:
    """The median slope of the newest steps: one jump among them does not count."""
    with np.errstate(invalid="ignore"):
        slopes = np.diff(values[-1 - steps :], axis=0) / np.diff(times[-1 - steps :], axis=0)
    return np.asarray(np.median(slopes, axis=0))


def _halves(times: Floats, values: Floats) -> tuple[Floats, Floats]:
    """The slope of the older half, and of the newer one."""
    half = len(values) // 2
    first = (values[half] - values[0]) / (times[half] - times[0])
    second = (values[-1] - values[half]) / (times[-1] - times[half])
    return first, second


def _even(values: Floats, halves: tuple[Floats, Floats], gain: Floats) -> Flags:
    """No step is less than half of the usual one, and neither the newest nor the newer ones become less."""
    steps = np.diff(values, axis=0) * (len(values) - 1)
    alike = (np.fmin.reduce(steps, axis=0) >= 0.5 * gain) & (steps[-1] >= 0.9 * gain)
    return np.asarray(alike & (halves[1] >= 0.95 * halves[0]))


def _steady(values: Floats, halves: tuple[Floats, Floats], trend: Trend, gain: Floats, rules: Rules) -> Flags:
    """Growth that is sure, keeps to its line, and does not slow down."""
    first, second = halves
    sure = (trend.low > 0) & (trend.points >= np.minimum(len(values), max(5, len(values) * 3 // 4)))
    largest = np.fmax.reduce(np.diff(values, axis=0), axis=0)
    even = (
        (largest <= max(rules.jump, 2.5 / (len(values) - 1)) * gain)
        & (second >= rules.steady * first)
        & (first >= rules.begun * second)
    )
    return np.asarray(sure & even & (gain >= 5 * trend.spread) & (gain >= rules.drift * walk(values)))
