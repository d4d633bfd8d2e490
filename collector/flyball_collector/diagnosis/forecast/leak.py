"""Memory that grows steadily and is not given back.

The minima of five minutes and longer are what a program keeps after its collectors and caches have let go. A leak is a
trend of these minima whose lower bound is above zero with the autocorrelation of noise allowed for, that runs through
both halves of its time alike, leads where memory has not been before, and is found three times in a row.

Use of a host may follow the day: a morning's rise lasts for hours and looks like a leak. So little is said of a host's
memory before it was watched for a day: growth for longer than half a day's cycle, and growth for hours that no day's
cycle explains.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flyball_collector.diagnosis.claims import Claims
from flyball_collector.diagnosis.figures import duration, share, time_left
from flyball_collector.diagnosis.forecast.day_cycle import may_be_a_day
from flyball_collector.diagnosis.forecast.memory import MemoryExhaustion
from flyball_collector.diagnosis.forecast.settings import ForecastSettings
from flyball_collector.diagnosis.forecast.trail import Ring
from flyball_collector.diagnosis.forecast.trend import theil_sen, walk
from flyball_collector.diagnosis.keeping import Kept
from flyball_collector.diagnosis.kinds import BY_NAME
from flyball_collector.diagnosis.view import View

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Places = NDArray[np.int64]

FINE, COARSE = 300.0, 1800.0  # periods of the rings whose minima are looked at

POINTS = 18
"""Of each fit: 90 minutes and 3 hours of the fine ring, 9 and 24 hours of the coarse one."""

TIMES_IN_A_ROW = 3
ROWS_A_VIEW = 400
"""Fitted in one view: some 4 ms; a fleet's candidates are through within the five minutes."""

REACH = {(FINE, 1): 3.0, (FINE, 2): 6.0, (COARSE, 1): 12.0, (COARSE, 2): 12.0}
"""A leak is told when it fills memory within so many times the span in which it was seen: the longer, the surer."""

LONGEST = (COARSE, 2)
"""18 hours: longer than the rise of a day's cycle."""

CLEAR = 6.0
"""Growth must be so many times the scatter about it …"""

DRIFT = 4.5
"""… and so many times what a random walk of the same steps would go, as a rule, in that time."""

PATIENCE, MOST_PATIENCE = 0.5, 7200.0
"""What was told stands for so much of its span, and so many seconds at most, though noise hides it meanwhile."""

GIVEN_BACK = 0.25
"""Of the growth that was seen: memory that fell by so much below its minima was given back."""

LEAST_GAIN = 0.005
"""Of the capacity."""

LEAST_SPAN = POINTS * FINE
"""The shortest that is looked at, in seconds: with each doubling what is seen is surer."""


@dataclass(frozen=True, slots=True)
class Leaking:
    """Along rows."""

    leaks: Flags
    grows: Flags  # all of that except that it leads where memory has not been before: a leak that is known goes on
    may_be_a_day: Flags  # that rises like this, and will rest
    speed: Floats  # of the capacity a second
    low: Floats
    high: Floats
    span: Floats


def leaking(times: Floats, minima: Floats, earlier: Floats, room: Floats, reach: float) -> Leaking:
    """Judge minima (time × row); `earlier`: the minima of before, oldest first, as far as they are known."""
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
    return Leaking(leaks, grows, day, trend.slope, trend.low, trend.high, span)


class MemoryLeak:
    """Looks at the trails that the exhaustion keeps, whenever another five minutes are over."""

    name = "memory_leak"
    kinds = (BY_NAME["memory_leak"],)
    needs = MemoryExhaustion.needs

    def __init__(self, memory: MemoryExhaustion, settings: ForecastSettings) -> None:
        self._memory = memory
        self._horizon = settings.leak_horizon_seconds
        self._slot = -1
        self._waiting: Places = np.empty(0, dtype=np.int64)
        self._kept = Kept(times=0, seen=-np.inf, least=np.nan, speed=np.nan, low=np.nan, high=np.nan, span=np.nan)

    def observe(self, view: View) -> Iterable[Claims]:
        """A few hundred rows a second, while any wait."""
        if self._kept.align(self._memory.subjects) is not None:
            self._waiting = np.empty(0, dtype=np.int64)
        self._forget_given_back(self._memory.use)
        fine = self._ring(FINE)
        if fine.number != self._slot:
            self._slot = fine.number
            self._waiting = self._candidates(self._memory.use)
        rows, self._waiting = self._waiting[:ROWS_A_VIEW], self._waiting[ROWS_A_VIEW:]
        if len(rows):
            self._judge(rows, view)
        return [self._claims(view)]

    def _forget_given_back(self, use: Floats) -> None:
        """At once, not at the next look: what was killed or restarted does not leak any more."""
        kept = self._kept
        given_back = use < kept["least"] - GIVEN_BACK * kept["speed"] * kept["span"]
        kept["times"][given_back], kept["seen"][given_back] = 0, -np.inf

    def _ring(self, period: float) -> Ring:
        return next(ring for ring in self._memory.trail.rings if ring.period == period)

    def _candidates(self, use: Floats) -> Places:
        """Rows that have grown at all by enough; the others begin their count anew."""
        room, every = 1 - use, np.arange(len(use))
        grown = np.zeros(len(use), dtype=bool)
        for ring in (self._ring(FINE), self._ring(COARSE)):
            for count in (POINTS, ring.slots - 2):
                oldest = ring.lows_back(count, every)
                grown |= (use - oldest) * 1.5 * max(REACH.values()) >= np.maximum(room, LEAST_GAIN)
        self._kept["times"][~grown & ~np.isnan(use)] = 0
        return np.flatnonzero(grown)

    def _may_cycle(self, rows: Places, gpus: int) -> Flags:
        """Memory of hosts that was not watched for a day; what a GPU holds follows its job, not the day."""
        coarse = self._ring(COARSE)
        oldest = [coarse.lows_back(coarse.slots - back, rows) for back in (2, 3, 4)]  # it may be silent at times
        unknown: Flags = np.isnan(np.fmax.reduce(oldest, axis=0))
        return unknown & (rows >= gpus)

    def _judge(self, rows: Places, view: View) -> None:
        found = np.zeros(len(rows), dtype=bool)
        kept, room = self._kept, 1 - self._memory.use[rows]
        may_cycle, told = self._may_cycle(rows, len(view.gpus)), self._stands(view.now)[rows]
        for scale, times, minima, earlier in self._scales(rows):
            said = leaking(times, minima, earlier, room, REACH[scale])
            with np.errstate(divide="ignore", invalid="ignore"):
                holds = np.where(told, said.grows, said.leaks)
                holds &= ~(may_cycle & said.may_be_a_day) | (scale == LONGEST) | told
                new = holds & ~found & (room / said.speed <= self._horizon)
            found |= new
            at = rows[new]
            kept["speed"][at], kept["low"][at], kept["high"][at] = said.speed[new], said.low[new], said.high[new]
            kept["span"][at], kept["least"][at] = said.span[new], minima[-1, new]
        kept["times"][rows] = np.where(found, kept["times"][rows] + 1, 0)
        kept["seen"][rows[kept["times"][rows] >= TIMES_IN_A_ROW]] = view.now

    def _stands(self, now: float) -> Flags:
        """What was found as often as it must be, not long ago."""
        kept = self._kept
        patience = np.fmin(PATIENCE * kept["span"], MOST_PATIENCE)
        return np.asarray(now - kept["seen"] <= patience)

    def _scales(self, rows: Places) -> Iterator[tuple[tuple[float, int], Floats, Floats, Floats]]:
        """Minima of whole slots at each scale, longest first, and those of before."""
        coarse = self._ring(COARSE).last(0, rows, skip=1)
        for ring, together in ((COARSE, 2), (COARSE, 1), (FINE, 2), (FINE, 1)):
            stretch = coarse if ring == COARSE else self._ring(FINE).last(0, rows, skip=1)
            times, lows = _together(stretch.times, stretch.low.astype(np.float64), together)
            if len(times) < POINTS:
                continue
            long_ago = coarse.low[coarse.times < times[-POINTS] - ring * together]
            before = np.vstack([np.full((1, len(rows)), np.nan), long_ago, lows[:-POINTS]])
            yield (ring, together), times[-POINTS:], lows[-POINTS:], before

    def _claims(self, view: View) -> Claims:
        kept, use = self._kept, self._memory.use
        leaks, stands = kept["times"] >= TIMES_IN_A_ROW, self._stands(view.now)
        room = np.where(stands | (kept["times"] > 0), np.maximum(1 - use, 0.0), np.nan)
        with np.errstate(divide="ignore", invalid="ignore"):
            left, low, high = room / kept["speed"], room / kept["high"], room / kept["low"]
        speed, span = kept["speed"].copy(), kept["span"].copy()
        gpus = np.arange(len(use)) < len(view.gpus)
        long = np.flatnonzero(span > LEAST_SPAN)
        confidence = np.full(len(use), 0.6)
        confidence[long] = np.minimum(0.6 + 0.1 * np.log2(span[long] / LEAST_SPAN), 0.9)
        confidence[gpus] = 0.5

        def because(place: int) -> str:
            return (
                f"the least of {share(use[place])} used has grown by {share(speed[place] * 3600, 2)} of the capacity "
                f"an hour for {duration(span[place])}; at this rate full in "
                f"{time_left(left[place], low[place], high[place])}"
            )

        return Claims(
            kind=self.kinds[0], subjects=kept.subjects, enters=leaks, stays=stands, confidence=confidence,
            known=~np.isnan(use), level=use, seconds_left=left, seconds_left_low=low, seconds_left_high=high,
            because=because,
            evidence={"used_ratio": use, "growth_ratio_per_second": speed, "grown_seconds": span},
        )  # fmt: skip


def _together(times: Floats, values: Floats, count: int) -> tuple[Floats, Floats]:
    """Minima of so many slots at a time, counted from the newest."""
    whole = len(times) // count * count
    if not whole:
        return times[:0], values[:0]
    times, values = times[-whole:], values[-whole:]
    grouped = values.reshape(whole // count, count, values.shape[1])
    return times[count - 1 :: count], np.asarray(np.fmin.reduce(grouped, axis=1))
