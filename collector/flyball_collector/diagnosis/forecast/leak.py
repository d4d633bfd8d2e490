"""Detects memory that grows steadily and is not released.

The minimum of five minutes or more is what a program keeps after garbage collection and cache eviction. A leak is a
trend of these minima with four properties: its lower bound is above zero, allowing for autocorrelated noise; both
halves rise alike; it reaches levels that were not used before; and it is found three times in a row.

The memory of a host may follow a daily cycle: a rise in the morning lasts for hours and looks like a leak. Until a host
has been watched for a day, only growth that lasts 18 hours is reported, or growth that no daily cycle explains.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flyball_collector.diagnosis.claims import Claims
from flyball_collector.diagnosis.forecast.day_cycle import may_be_a_day
from flyball_collector.diagnosis.forecast.history import MinMaxRing
from flyball_collector.diagnosis.forecast.memory import MemoryExhaustion
from flyball_collector.diagnosis.forecast.settings import ForecastSettings
from flyball_collector.diagnosis.forecast.trend import theil_sen, walk
from flyball_collector.diagnosis.kinds import BY_NAME
from flyball_collector.diagnosis.number_format import clauses
from flyball_collector.diagnosis.subject_arrays import SubjectArrays
from flyball_collector.diagnosis.view import View

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Places = NDArray[np.int64]

FINE, COARSE = 300.0, 1800.0  # slot lengths of the rings whose minima are used

POINTS = 18
"""Points of each fit: 90 minutes and 3 hours of the fine ring, 9 and 18 hours of the coarse ring."""

TIMES_IN_A_ROW = 3
ROWS_PER_VIEW = 400
"""Rows fitted in one view, which takes about 4 ms. All candidates of a fleet are done within five minutes."""

REACH = {(FINE, 1): 3.0, (FINE, 2): 6.0, (COARSE, 1): 12.0, (COARSE, 2): 12.0}
"""A leak must fill the memory within this multiple of the span in which it was seen. Longer spans are more certain."""

LONGEST = (COARSE, 2)
"""18 hours, longer than the rise of a daily cycle."""

CLEAR = 6.0
"""Growth must be at least this multiple of the scatter around it."""

DRIFT = 4.5
"""Growth must be at least this multiple of a random walk with the same steps."""

PATIENCE, MOST_PATIENCE = 0.5, 7200.0
"""A leak stays active for this share of its span after it was last seen, but not longer than this many seconds."""

RELEASED = 0.25
"""Share of the growth. Memory that fell this far below its minima was released."""

LEAST_GAIN = 0.005
"""Share of the capacity."""

LEAST_SPAN = POINTS * FINE
"""The shortest span in seconds. Each doubling makes a leak more certain."""


@dataclass(frozen=True, slots=True)
class LeakFit:
    """The result of one fit, along rows."""

    leaks: Flags
    grows: Flags  # like `leaks`, but also at levels that were used before: a known leak continues
    may_be_a_day: Flags  # the rise may be a daily cycle that levels off
    speed: Floats  # share of the capacity a second
    low: Floats
    high: Floats
    span: Floats


def fit_leaks(times: Floats, minima: Floats, earlier: Floats, room: Floats, reach: float) -> LeakFit:
    """Evaluate minima (time × row). `earlier` holds the minima from before, oldest first, as far as they are known."""
    trend = theil_sen(times, minima, z=2.576, correlated=True)
    half = len(times) // 2
    first, second = (theil_sen(times[part], minima[part], z=0.0).slope for part in (slice(0, half), slice(half, None)))
    span = np.full(len(room), times[-1] - times[0])
    gain = trend.slope * span
    leaks = (trend.low > 0) & (trend.points >= len(times) - 2)
    leaks &= (first >= 0.5 * trend.slope) & (first <= 2 * trend.slope)
    leaks &= (second >= 0.5 * trend.slope) & (second <= 2 * trend.slope)
    leaks &= gain > np.maximum(LEAST_GAIN, CLEAR * trend.spread)
    leaks &= gain * reach >= room
    leaks &= gain > DRIFT * walk(minima)
    grows = leaks
    highest, lowest = np.fmax.reduce(earlier, axis=0), np.fmin.reduce(earlier, axis=0)
    leaks = leaks & ~(minima[-1] - highest < 0.5 * gain) & ~(gain < highest - lowest)
    day = may_be_a_day(times, minima, trend, room)
    return LeakFit(leaks, grows, day, trend.slope, trend.low, trend.high, span)


class MemoryLeak:
    """Evaluates the history that the memory forecast keeps, every five minutes."""

    name = "memory_leak"
    kinds = (BY_NAME["memory_leak"],)
    needs = MemoryExhaustion.needs

    def __init__(self, memory: MemoryExhaustion, settings: ForecastSettings) -> None:
        self._memory = memory
        self._horizon = settings.leak_horizon_seconds
        self._slot = -1
        self._waiting: Places = np.empty(0, dtype=np.int64)
        self._kept = SubjectArrays(
            times=0, seen=-np.inf, least=np.nan, speed=np.nan, low=np.nan, high=np.nan, span=np.nan
        )

    def observe(self, view: View) -> Iterable[Claims]:
        """Fit a few hundred rows a second while any are waiting."""
        if self._kept.align(self._memory.subjects) is not None:
            self._waiting = np.empty(0, dtype=np.int64)
        self._forget_released(self._memory.use)
        fine = self._ring(FINE)
        if fine.number != self._slot:
            self._slot = fine.number
            self._waiting = self._candidates(self._memory.use)
        rows, self._waiting = self._waiting[:ROWS_PER_VIEW], self._waiting[ROWS_PER_VIEW:]
        if len(rows):
            self._judge(rows, view)
        return [self._claims(view)]

    def _forget_released(self, use: Floats) -> None:
        """Forget leaks at once if the memory was released: the process was killed or restarted."""
        kept = self._kept
        rows = np.flatnonzero(~np.isnan(kept["least"]))  # few have ever grown like a leak
        least, speed, span = (kept[name][rows] for name in ("least", "speed", "span"))
        released = rows[use[rows] < least - RELEASED * speed * span]
        kept["times"][released], kept["seen"][released] = 0, -np.inf

    def _ring(self, period: float) -> MinMaxRing:
        return next(ring for ring in self._memory.history.rings if ring.period == period)

    def _candidates(self, use: Floats) -> Places:
        """Return the rows that grew enough to be fitted. For the others, counting starts again."""
        room, every = 1 - use, np.arange(len(use))
        grown = np.zeros(len(use), dtype=bool)
        for ring in (self._ring(FINE), self._ring(COARSE)):
            for count in (POINTS, ring.slots - 2):
                oldest = ring.lows_back(count, every)
                grown |= (use - oldest) * 1.5 * max(REACH.values()) >= np.maximum(room, LEAST_GAIN)
        self._kept["times"][~grown & ~np.isnan(use)] = 0
        return np.flatnonzero(grown)

    def _may_cycle(self, rows: Places, gpus: int) -> Flags:
        """Return the rows whose rise may be a daily cycle: host memory that was watched for less than a day."""
        coarse = self._ring(COARSE)
        oldest = [coarse.lows_back(coarse.slots - back, rows) for back in (2, 3, 4)]  # single slots may be empty
        unknown: Flags = np.isnan(np.fmax.reduce(oldest, axis=0))
        return unknown & (rows >= gpus)

    def _judge(self, rows: Places, view: View) -> None:
        found = np.zeros(len(rows), dtype=bool)
        kept, room = self._kept, 1 - self._memory.use[rows]
        may_cycle, known_leak = self._may_cycle(rows, len(view.gpus)), self._active(rows, view.now)
        for scale, times, minima, earlier in self._scales(rows):
            fit = fit_leaks(times, minima, earlier, room, REACH[scale])
            with np.errstate(divide="ignore", invalid="ignore"):
                holds = np.where(known_leak, fit.grows, fit.leaks)
                holds &= ~(may_cycle & fit.may_be_a_day) | (scale == LONGEST) | known_leak
                new = holds & ~found & (room / fit.speed <= self._horizon)
            found |= new
            at = rows[new]
            kept["speed"][at], kept["low"][at], kept["high"][at] = fit.speed[new], fit.low[new], fit.high[new]
            kept["span"][at], kept["least"][at] = fit.span[new], minima[-1, new]
        kept["times"][rows] = np.where(found, kept["times"][rows] + 1, 0)
        kept["seen"][rows[kept["times"][rows] >= TIMES_IN_A_ROW]] = view.now

    def _active(self, rows: Places, now: float) -> Flags:
        """Return where a leak was found often enough and recently."""
        patience = np.fmin(PATIENCE * self._kept["span"][rows], MOST_PATIENCE)
        return np.asarray(now - self._kept["seen"][rows] <= patience)

    def _scales(self, rows: Places) -> Iterator[tuple[tuple[float, int], Floats, Floats, Floats]]:
        """Yield the minima of complete slots at each scale, longest first, with the minima from before."""
        coarse = self._ring(COARSE).last(0, rows, skip=1)
        for ring, together in ((COARSE, 2), (COARSE, 1), (FINE, 2), (FINE, 1)):
            part = coarse if ring == COARSE else self._ring(FINE).last(0, rows, skip=1)
            times, lows = _merge_slots(part.times, part.low.astype(np.float64), together)
            if len(times) < POINTS:
                continue
            long_ago = coarse.low[coarse.times < times[-POINTS] - ring * together]
            before = np.vstack([np.full((1, len(rows)), np.nan), long_ago, lows[:-POINTS]])
            yield (ring, together), times[-POINTS:], lows[-POINTS:], before

    def _claims(self, view: View) -> Claims:
        kept, use = self._kept, self._memory.use
        leaks, rows = kept["times"] >= TIMES_IN_A_ROW, np.flatnonzero((kept["times"] > 0) | (kept["seen"] > -np.inf))
        active = np.zeros(len(use), dtype=bool)
        active[rows] = self._active(rows, view.now)
        rows = rows[active[rows] | (kept["times"][rows] > 0)]
        left, low, high = (np.full(len(use), np.nan) for _ in range(3))
        room = np.maximum(1 - use[rows], 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            for seconds, name in ((left, "speed"), (low, "high"), (high, "low")):
                seconds[rows] = room / kept[name][rows]
        speed, span = kept["speed"].copy(), kept["span"].copy()
        long = np.flatnonzero(span > LEAST_SPAN)
        confidence = np.full(len(use), 0.6)
        confidence[long] = np.minimum(0.6 + 0.1 * np.log2(span[long] / LEAST_SPAN), 0.9)
        confidence[: len(view.gpus)] = 0.5

        def because(place: int) -> str:
            return clauses(
                ("{:.1f} % used", 100 * use[place]),
                ("the minimum has grown steadily by {:.2f} % of the capacity an hour", 360_000 * speed[place]),
            )

        return Claims(
            kind=self.kinds[0], subjects=kept.subjects, enters=leaks, stays=active, confidence=confidence,
            known=~np.isnan(use), level=use, seconds_left=left, seconds_left_low=low, seconds_left_high=high,
            because=because,
            evidence={"used_ratio": use, "growth_ratio_per_second": speed, "grown_seconds": span},
        )  # fmt: skip


def _merge_slots(times: Floats, values: Floats, count: int) -> tuple[Floats, Floats]:
    """Return the minima of `count` slots at a time, counted from the newest."""
    complete = len(times) // count * count
    if not complete:
        return times[:0], values[:0]
    times, values = times[-complete:], values[-complete:]
    grouped = values.reshape(complete // count, count, values.shape[1])
    return times[count - 1 :: count], np.asarray(np.fmin.reduce(grouped, axis=1))
