"""Forecasts when a resource will be full, from steady growth at every scale from seconds to a day.

Growth alone does not justify an alarm: caches warm up, jobs start, and use may settle at any level. A forecast is made
if over some span the growth was several times the room that is left, the lower bound of its slope is above zero, it
does not slow down, and it reaches levels that were not used before. Growth that has lasted for a time D usually
continues for another D / 3. Nothing is extrapolated further.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from flyball_collector.diagnosis.forecast.fill_rules import FillRules
from flyball_collector.diagnosis.forecast.history import History, HistorySlice, MinMaxRing
from flyball_collector.diagnosis.forecast.straight_growth import StraightGrowth
from flyball_collector.diagnosis.forecast.trend import theil_sen, walk

Floats = NDArray[np.float64]
Places = NDArray[np.int64]
Flags = NDArray[np.bool_]

RINGS = ((10.0, 32), (60.0, 32), (300.0, 40), (1800.0, 48))
"""Slot length in seconds and number of slots: 5 minutes, half an hour, 3 hours, a day."""

COUNTS = (8, 16, 32)
"""Numbers of points in a fit: each scale doubles the one before."""

SPARSE_SECONDS = 10.0
"""From this time between readings on, a few readings already cover a long time."""

STAIRS = (8, 12, 16)
"""Numbers of ladder steps in a fit."""

LONGEST_WAIT = 2.0
"""The longest time between two ladder steps, as a multiple of the median."""

STAIRS_SPAN = 7200.0
"""Seconds of growth required where only the driver's figure is known: caches also grow in steps until they suffice."""

STAIRS_HORIZON = 4 * 3600.0
"""In seconds: until the next step of growth that was seen for most of a day."""

LEAST_ROOM = 1e-3
"""Share of the capacity. Growth is compared with at least this much room."""


class ScaleForecast(NamedTuple):
    """The forecast of one scale; the fields are those of `FillForecast`."""

    holds: Flags
    left: Floats
    left_low: Floats
    left_high: Floats
    span: Floats
    covered: Floats


@dataclass(slots=True)
class FillForecast:
    """The forecast of each row and the seconds until it is full; NaN where there is no forecast."""

    enters: Flags
    left: Floats
    left_low: Floats
    left_high: Floats
    span: Floats  # seconds of growth behind the forecast
    covered: Floats  # growth over that span, as a multiple of the room left


class FillForecaster:
    """Evaluates rows by their newest use (a share of the capacity; NaN is unknown) and their history.

    The newest readings are evaluated each time, a ring only when it begins a slot.
    """

    def __init__(
        self,
        history: History,
        rules: FillRules,
        sparse_rules: FillRules | None = None,
        straight: StraightGrowth | None = None,
    ) -> None:
        """Set the rules. `sparse_rules` applies to rows with long times between readings, `straight` to the others."""
        self._history = history
        self.rules, self.sparse_rules = rules, sparse_rules or rules
        self._straight = straight
        self._stairs = replace(rules, horizon_seconds=STAIRS_HORIZON)
        self._rings = tuple(ring for ring in history.rings if ring.period >= RINGS[0][0])
        self._numbers = [-1] * len(self._rings)

    def judge(
        self, use: Floats, now: float, least_span: Floats | None = None, straight_span: Floats | None = None
    ) -> FillForecast:
        """Forecast after the history has taken this use.

        `least_span`: seconds of growth required for each row; `straight_span`: the same for straight growth.
        """
        result = FillForecast(np.zeros(len(use), dtype=bool), *(np.full(len(use), np.nan) for _ in range(5)))
        high = use >= min(self.rules.least_level, self.sparse_rules.least_level)
        rings = [ring for ring, number in zip(self._rings, self._numbers, strict=True) if ring.number != number]
        self._numbers = [ring.number for ring in self._rings]
        self._judge_ladder(result, high, use, now, least_span)
        some = np.flatnonzero(high & self._may_fill(use, rings))
        interval = now - self._history.newest.back(1, some)[0]  # between the readings of each row
        sparse = interval >= SPARSE_SECONDS
        for rules, chosen in ((self.rules, ~sparse), (self.sparse_rules, sparse)):
            rows = some[chosen]
            spans = np.zeros(len(rows)) if least_span is None else least_span[rows]
            for part, places in self._scales(rows, use[rows], spans, rings, rules) if len(rows) else ():
                found = _fit(part, use[rows[places]], interval[chosen][places], rules)
                self._note(result, rows[places], found, use, now, rules)
        if self._straight is not None:
            self._judge_straight(self._straight, result, use, now, straight_span)
        return result

    def _judge_straight(
        self, straight: StraightGrowth, result: FillForecast, use: Floats, now: float, span: Floats | None
    ) -> None:
        """Add the forecasts of straight growth. They know their own error, so they replace those of other rules."""
        interval = self._history.newest.interval
        judged = (interval < SPARSE_SECONDS) | (self.sparse_rules is self.rules)
        spans = np.zeros(len(use)) if span is None else span
        for found in straight.judge(use, judged, interval, now, spans):
            new = self._is_new(found.rows, use[found.rows], now - found.fit.span, straight.rules.novel)
            at, fit = found.rows[new], found.fit
            result.enters[at] = True
            room = np.maximum(1 - use[found.rows], 0.0)
            for into, numbers in (
                (result.left, room / fit.slope), (result.left_low, room / fit.slope_high),
                (result.left_high, room / fit.slope_low), (result.span, fit.span),
                (result.covered, fit.gain / np.maximum(fit.room, LEAST_ROOM)),
            ):  # fmt: skip
                into[at] = numbers[new]

    def _may_fill(self, use: Floats, rings: Sequence[MinMaxRing]) -> Flags:
        """Return the rows that grew enough since their lowest reading. This cheap check covers all rows."""
        lowest = self._history.newest.least()
        for ring in rings:
            lowest = np.fmin(lowest, ring.lowest_high())
        both = (self.rules, self.sparse_rules)
        covered, least_gain = min(rules.covered for rules in both), min(rules.least_gain for rules in both)
        return np.asarray(use - lowest >= _enough(use, covered, least_gain))

    def _judge_ladder(
        self, result: FillForecast, high: Flags, use: Floats, now: float, least_span: Floats | None
    ) -> None:
        """Evaluate rows that reach another ladder step at this moment.

        How long they rested in between does not matter.
        """
        ladder = self._history.ladder
        if ladder is None:
            return
        rows = np.flatnonzero(high & ladder.climbing(now))
        if not len(rows):
            return
        least = np.zeros(len(rows)) if least_span is None else np.where(least_span[rows] > 0, STAIRS_SPAN, 0.0)
        for count in STAIRS:
            times, values = ladder.steps.back(count - 1, rows)
            room = np.maximum(1 - use[rows], 0.0)
            chosen = rows[(use[rows] - values >= self.rules.covered * room) & (now - times >= least)]
            if len(chosen):
                part = ladder.steps.last(count, chosen)
                found = _fit(part, use[chosen], np.zeros(len(chosen)), self._stairs)
                found = found._replace(holds=found.holds & _regular(part.times))
                self._note(result, chosen, found, use, now, self._stairs)

    def _scales(
        self, rows: Places, use: Floats, spans: Floats, rings: Sequence[MinMaxRing], rules: FillRules
    ) -> Iterator[tuple[HistorySlice, Places]]:
        """Yield each scale with the rows that grew enough within it. These are few, so only few are fitted."""
        newest = self._history.newest
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

    def _note(
        self, result: FillForecast, rows: Places, found: ScaleForecast, use: Floats, now: float, rules: FillRules
    ) -> None:
        """Keep the nearest forecast of all scales."""
        nearer = np.flatnonzero(found.holds & ~(result.left[rows] <= found.left))
        new = self._is_new(rows[nearer], use[rows[nearer]], now - found.span[nearer], rules.novel)
        nearer = nearer[new]
        at = rows[nearer]
        result.enters[at] = True
        result.left[at], result.left_low[at], result.left_high[at] = (
            numbers[nearer] for numbers in (found.left, found.left_low, found.left_high)
        )
        result.span[at], result.covered[at] = found.span[nearer], found.covered[nearer]

    def _is_new(self, rows: Places, use: Floats, since: Floats, novel: float) -> Flags:
        """Return True if use is far enough above its maximum from before the growth began."""
        highest = np.full(len(rows), -np.inf)
        for ring in self._history.rings if len(rows) else ():
            part = ring.last(ring.slots, rows)
            before = np.where(part.times[:, None] < since - 1, part.high, -np.inf)
            highest = np.fmax(highest, np.fmax.reduce(before, axis=0, initial=-np.inf))
        return np.asarray(use - highest >= novel * np.maximum(1 - use, 0.0))


def _enough(use: Floats, covered: float, least_gain: float) -> Floats:
    """Return the growth that is required for a forecast."""
    return np.asarray(np.maximum(covered * np.maximum(1 - use, 0.0), least_gain))


def _fit(part: HistorySlice, use: Floats, interval: Floats, rules: FillRules) -> ScaleForecast:
    """Fit one scale of rows whose oldest point is known. Most rows only scatter, which shows without a fit."""
    times = part.times if part.times.ndim == 2 else np.repeat(part.times[:, None], len(use), axis=1)
    values = part.high.astype(np.float64)
    found = ScaleForecast(np.zeros(len(use), dtype=bool), *(np.full(len(use), np.nan) for _ in range(5)))
    rows = np.flatnonzero(_may_hold(times, values, use, rules))
    if len(rows):
        drifts = rules.drift * walk(values)[rows]
        fitted = _fit_rows(times[:, rows], values[:, rows], use[rows], interval[rows], drifts, rules)
        for every, some in zip(found, fitted, strict=True):
            every[rows] = some
    return found


def _may_hold(times: Floats, values: Floats, use: Floats, rules: FillRules) -> Flags:
    """Return the rows that grew enough, still grow and follow a line, as far as this costs little."""
    gain, covered = use - values[0], _covered(use, values[0])
    third, (first, second) = _tail(times, values, max(2, len(values) // 3)), _halves(times, values)
    largest = np.fmax.reduce(np.diff(values, axis=0), axis=0)
    may = (third > 0) & (use >= rules.least_level) & (gain >= rules.least_gain) & (covered >= rules.covered)
    may &= largest <= max(rules.jump, 2.5 / (len(values) - 1)) * gain
    return np.asarray(may & (second >= rules.steady * first) & (first >= rules.begun * second))


def _covered(use: Floats, began: Floats) -> Floats:
    """Return the growth as a multiple of the room left."""
    return np.asarray((use - began) / np.maximum(np.maximum(1 - use, 0.0), LEAST_ROOM))


def _fit_rows(
    times: Floats, values: Floats, use: Floats, interval: Floats, drifts: Floats, rules: FillRules
) -> ScaleForecast:
    """Fit rows that may hold. `drifts`: the growth that a random walk may have."""
    trend = theil_sen(times, values, z=1.96 if len(values) < COUNTS[0] else 2.576)
    span, gain, room = times[-1] - times[0], use - values[0], np.maximum(1 - use, 0.0)
    third = _tail(times, values, max(2, len(values) // 3))
    newest = _usual(times, values, max(3, len(values) // 8))
    slope = np.fmin(trend.slope, third)
    with np.errstate(divide="ignore", invalid="ignore"):
        left = room / slope
        low, high = np.fmin(room / trend.high, left), np.fmax(room / trend.low, left)
    hasty = (left <= rules.haste * interval) & (use >= rules.hasty_level)
    hasty &= np.isinf(rules.hasty_spread) | _even(values, _halves(times, values), gain, rules.hasty_spread)
    holds = (slope > 0) & (hasty | (use >= rules.level)) & (left * rules.covered <= 1.5 * span)
    holds &= (left <= rules.horizon_seconds) & (newest >= rules.unslowed * third)
    holds &= (trend.low > 0) & (trend.points >= np.minimum(len(values), max(5, len(values) * 3 // 4)))
    holds &= (gain >= 5 * trend.spread) & (gain >= drifts)
    return ScaleForecast(holds, left, low, high, span, _covered(use, values[0]))


def _regular(times: Floats) -> Flags:
    """Return True if no wait for a step was much longer than the median. Growth that has stopped makes no steps."""
    waits = np.diff(times, axis=0)
    return np.asarray(np.max(waits, axis=0) <= LONGEST_WAIT * np.median(waits, axis=0))


def _tail(times: Floats, values: Floats, steps: int) -> Floats:
    """Return the slope of the newest steps."""
    return np.asarray((values[-1] - values[-1 - steps]) / (times[-1] - times[-1 - steps]))


def _usual(times: Floats, values: Floats, steps: int) -> Floats:
    """Return the median slope of the newest steps, which ignores a single jump."""
    with np.errstate(invalid="ignore"):
        slopes = np.diff(values[-1 - steps :], axis=0) / np.diff(times[-1 - steps :], axis=0)
    return np.asarray(np.median(slopes, axis=0))


def _halves(times: Floats, values: Floats) -> tuple[Floats, Floats]:
    """Return the slopes of the older and the newer half."""
    half = len(values) // 2
    first = (values[half] - values[0]) / (times[half] - times[0])
    second = (values[-1] - values[half]) / (times[-1] - times[half])
    return first, second


def _even(values: Floats, halves: tuple[Floats, Floats], gain: Floats, most: float) -> Flags:
    """Return True if no step differs by more than this share from the mean step and the newest do not get smaller."""
    steps = np.diff(values, axis=0) * (len(values) - 1)
    alike = (np.fmax.reduce(np.abs(steps - gain), axis=0) <= most * gain) & (steps[-1] >= 0.9 * gain)
    return np.asarray(alike & (halves[1] >= 0.95 * halves[0]))
