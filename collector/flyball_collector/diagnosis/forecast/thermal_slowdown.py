"""Detects and forecasts thermal slowdown of GPUs, of the core against the device's own limit and of the memory."""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from flyball_collector.diagnosis.claims import Claims
from flyball_collector.diagnosis.forecast.history import History, MinMaxRing, NewestReadings
from flyball_collector.diagnosis.forecast.joined_subjects import source_of
from flyball_collector.diagnosis.forecast.settings import ForecastSettings
from flyball_collector.diagnosis.forecast.thermal_approach import LEAST_POINTS, Approach, approach
from flyball_collector.diagnosis.forecast.thermal_onset import CERTAIN, expected_warming, onset
from flyball_collector.diagnosis.forecast.thermal_windows import POINTS, read_window, thermal_windows, warming
from flyball_collector.diagnosis.kinds import BY_NAME, Severity
from flyball_collector.diagnosis.subject import Subjects
from flyball_collector.diagnosis.subject_arrays import SubjectArrays
from flyball_collector.diagnosis.unknown_values import known_or
from flyball_collector.diagnosis.view import View

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Places = NDArray[np.int64]

NEAR = 12.0
"""A forecast is made from this many degrees below the limit …"""

READINGS_NEAR = 3.0
"""… or, with long times between readings, if this many readings would reach the limit …"""

MOST_NEAR = 30.0
"""… but never further away than this."""

RINGS = ((3.0, 32), (10.0, 32))
"""A minute and a half, and five minutes. Heat passes through a heat sink in tens of seconds, or minutes."""

SURE, STILL_SURE = 0.99, 0.7
"""Least probability that the limit is reached, for a new forecast and for one that was made."""

SPARSE_SECONDS = 5.0
"""From this time between readings on, the fits in `FEW` are used too."""

FEW = ((4, 30.0), (6, np.inf), (10, np.inf))
"""Number of readings, and the longest time between them.

So few readings cover as long a time as the normal fit, and the rounding of a sensor is small compared with the warming.
If the time between them is longer, a heat sink reaches its final temperature in between, so they prove nothing.
"""

CONFIRMATIONS, CONFIRM_SECONDS = 3, 20.0
"""The number of forecasts in a row that are required. With long times between readings, as many as fit into
`CONFIRM_SECONDS` or into the time left, but at least one."""

LEAST_SECONDS = 10.0
"""Seconds from the first to the last point of a fit."""

FADE_SECONDS = 180.0
"""Readings over this time, three times as long as most heat sinks need, show whether the warming levels off."""

HOLD_SECONDS, HOLD_READINGS = 30.0, 1.5
"""A forecast is kept for this many seconds, or for the time of this many readings."""

MOST_SECONDS = 3600.0
"""The upper bound of a time that may be infinite: a rest may be at the limit."""

SPIKE = 1.0
"""A reading at the limit counts if the one before was at most this many degrees below."""

LEAVE = 5.0
"""Degrees below the limit at which a slowdown is over."""

CORE, MEMORY, PARTS = 0, 1, 2

HARDWARE, SOFTWARE = "hw_thermal", "sw_thermal"


def from_limit(margin: float) -> str:
    """Describe the degrees left."""
    if not np.isfinite(margin):
        return "hot"
    degrees = round(abs(margin))
    return f"{degrees} °C {'below' if margin > 0 else 'above'} its limit" if degrees else "at its limit"


class ThermalSlowdown:
    """Reports what slows the clocks now, and forecasts the temperatures."""

    name = "thermal_slowdown"
    kinds = (BY_NAME["thermal_slowdown"],)
    needs: Sequence[str] = (
        "gpu_temperature_margin_celsius", "gpu_slowdown_temperature_celsius", "gpu_memory_temperature_celsius",
        "gpu_throttle_active",
    )  # fmt: skip

    def __init__(self, settings: ForecastSettings) -> None:
        self._horizon = settings.thermal_seconds
        self._memory_limit = settings.memory_slowdown_celsius
        self._core, self._memory = History(RINGS, newest=POINTS), History(RINGS, newest=POINTS)
        self._kept = SubjectArrays(
            slowing=False, slowed_for=0.0, last=np.nan, confirmations=0, enough=CONFIRMATIONS,
            until=((PARTS,), -np.inf), reached=((PARTS,), np.nan), low=((PARTS,), np.nan), high=((PARTS,), np.nan),
        )  # fmt: skip

    def observe(self, view: View) -> Iterable[Claims]:
        """Compare each temperature with its limit, and read what slows the clocks now."""
        gpus = view.gpus
        self._align(gpus)
        margin, memory = self._margins(view)
        slowed, hard, known = self._slowed(view)
        forecast = np.zeros(len(gpus), dtype=bool)
        for part, history, left in ((CORE, self._core, margin), (MEMORY, self._memory, memory)):
            history.add(view.now, left)
            self._forecast(part, history, left, forecast, view.now)
        unknown = np.isnan(margin) & np.isnan(memory)  # between two readings nothing changes
        confirmations = self._kept["confirmations"]
        self._kept["confirmations"] = np.where(forecast, confirmations + 1, np.where(unknown, confirmations, 0))
        yield self._claims(view, margin, memory, slowed, hard, known)

    def _align(self, gpus: Subjects) -> None:
        before = self._kept.align(gpus)
        if before is not None:
            source = source_of(gpus, before)
            self._core.rearrange(source)
            self._memory.rearrange(source)

    def _margins(self, view: View) -> tuple[Floats, Floats]:
        """Return the degrees left of core and memory.

        The driver's own margin is preferred to limit minus temperature.
        """
        reported = view.gpu("gpu_temperature_margin_celsius")
        computed = view.gpu("gpu_slowdown_temperature_celsius") - view.gpu("gpu_temperature_celsius")
        memory = self._memory_limit - view.gpu("gpu_memory_temperature_celsius")
        return np.where(np.isnan(reported), computed, reported), memory

    def _slowed(self, view: View) -> tuple[Flags, Flags, Flags]:
        """Return which GPUs heat slows down, which of these are slowed by hardware, and where this is known."""
        kept = self._kept
        flags = [view.gpu("gpu_throttle_active", reason=reason) for reason in (HARDWARE, SOFTWARE)]
        hard, soft = (flag == 1 for flag in flags)
        known = ~np.isnan(flags[0]) | ~np.isnan(flags[1])
        passed = known_or(0.0, view.now - kept["last"])
        kept["slowing"] = hard | soft
        kept["slowed_for"] = np.where(hard | soft, kept["slowed_for"] + passed, 0.0)
        kept["last"] = np.full(len(hard), view.now)
        return (hard | soft) & (kept["slowed_for"] >= 3.0), hard, known

    def _forecast(self, part: int, history: History, margin: Floats, forecast: Flags, now: float) -> None:
        """Fit, at several scales, the rows that are near their limit and have warmed by as much as is left."""
        rows, interval = self._near(history.newest, margin)
        rows, interval = self._not_fading(history.newest, rows, interval, margin)
        sparse = interval >= SPARSE_SECONDS
        for count, longest in FEW if sparse.any() else ():
            some = sparse & (interval <= longest)
            self._fit(part, history.newest, count, rows[some], interval[some], margin, forecast, now)
        sources: tuple[NewestReadings | MinMaxRing, ...] = (history.newest, *history.rings)
        for source in sources if sparse.any() else ():
            self._fit(part, source, POINTS, rows[sparse], interval[sparse], margin, forecast, now)
        dense = np.flatnonzero(~sparse)
        dense = dense[warming(history, rows[dense], margin[rows[dense]])]
        self._approach(part, history, rows[dense], interval[dense], forecast, now)

    def _near(self, newest: NewestReadings, margin: Floats) -> tuple[Places, Floats]:
        """Return the rows near their limit, and the seconds between their readings."""
        near = margin <= NEAR
        wide = np.flatnonzero((margin <= MOST_NEAR) & ~near & (newest.interval >= SPARSE_SECONDS))
        if len(wide):
            near[wide] = margin[wide] <= READINGS_NEAR * (newest.back(1, wide)[1] - margin[wide])
        rows = np.flatnonzero(near)
        return rows, known_or(0.0, newest.interval[rows])

    def _not_fading(
        self, newest: NewestReadings, rows: Places, interval: Floats, margin: Floats
    ) -> tuple[Places, Floats]:
        """Leave out rows with sparse readings over minutes that show the warming levelling off below the limit."""
        long = interval * (POINTS - 1) >= FADE_SECONDS
        if not long.any():
            return rows, interval
        part = newest.last(POINTS, rows[long])
        warming = expected_warming(part.times, part.high.astype(np.float64))
        fades = warming < CERTAIN * np.maximum(margin[rows[long]], 0.0)
        kept = np.ones(len(rows), dtype=bool)
        kept[np.flatnonzero(long)[fades]] = False
        return rows[kept], interval[kept]

    def _approach(
        self, part: int, history: History, rows: Places, interval: Floats, forecast: Flags, now: float
    ) -> None:
        """Fit the approach to a rest over the longest time that shows one and no other load."""
        for source, count in thermal_windows(history):
            if not len(rows):
                return
            times, margins = read_window(source, count, rows, interval)
            if len(margins) < LEAST_POINTS:
                continue
            found = approach(times, margins, now)
            fits = ~np.isnan(found.reaches)
            self._note(part, rows[fits], Approach(*(each[fits] for each in found)), forecast, now)
            rows, interval = rows[~fits], interval[~fits]

    def _note(self, part: int, rows: Places, found: Approach, forecast: Flags, now: float) -> None:
        """Keep the forecasts that are sure enough."""
        kept = self._kept
        least = np.where(kept["until"][rows, part] >= now, STILL_SURE, SURE)
        new = (found.reaches >= least) & (found.left <= self._horizon)
        at = rows[new]
        kept["enough"][at] = CONFIRMATIONS
        kept["until"][at, part] = now + HOLD_SECONDS
        forecast[at] = True
        for name, seconds in (("reached", found.left), ("low", found.low), ("high", found.high)):
            known = np.where(np.isfinite(seconds), seconds, MOST_SECONDS)
            kept[name][at, part] = now + known[new]

    def _fit(
        self,
        part: int,
        source: NewestReadings | MinMaxRing,
        count: int,
        rows: Places,
        interval: Floats,
        margin: Floats,
        forecast: Flags,
        now: float,
    ) -> None:
        """Fit one scale of one part."""
        started = source.highs_back(count - 1, rows)
        far = started - margin[rows] >= np.maximum(margin[rows], 1.0)
        if not far.any():
            return
        rows, interval = rows[far], interval[far]
        points = source.last(count, rows)
        found = onset(points.times, points.high.astype(np.float64), np.fmax(self._horizon, READINGS_NEAR * interval))
        least = LEAST_SECONDS if count == POINTS else SPARSE_SECONDS * (count - 1)
        new = ~np.isnan(found.left) & (points.times[-1] - points.times[0] >= least)
        rows = rows[new]
        self._kept["enough"][rows] = _enough(interval[new], found.left[new])
        self._kept["until"][rows, part] = now + np.fmax(HOLD_SECONDS, HOLD_READINGS * interval[new])
        forecast[rows] = True
        for name, seconds in zip(("reached", "low", "high"), found, strict=True):
            self._kept[name][rows, part] = now + seconds[new]

    def _soonest(self, now: float) -> tuple[Flags, Places, list[Floats]]:
        """Return whether a slowdown is forecast, which part reaches its limit first, and the times with bounds."""
        part_forecast = self._kept["until"] >= now
        forecast = part_forecast[:, CORE] | part_forecast[:, MEMORY]
        rows = np.flatnonzero(forecast)  # few of a fleet
        part = np.zeros(len(forecast), dtype=np.int64)
        part[rows] = np.argmin(np.where(part_forecast[rows], self._kept["reached"][rows], np.inf), axis=1)
        times = [np.full(len(forecast), np.nan) for _ in range(3)]
        for seconds, name in zip(times, ("reached", "low", "high"), strict=True):
            seconds[rows] = self._kept[name][rows, part[rows]]
        return forecast, part, times

    def _at_limit(self, margin: Floats) -> Flags:
        """Return True at the limit, unless a single reading is there for the scatter of the sensor."""
        newest, there = self._core.newest, margin <= 0
        rows = np.flatnonzero(there)
        there[rows] = ~(newest.highs_back(1, rows) > SPIKE) | (newest.interval[rows] >= SPARSE_SECONDS)
        return there

    def _claims(self, view: View, margin: Floats, memory: Floats, slowed: Flags, hard: Flags, known: Flags) -> Claims:
        kept = self._kept
        forecast, part, times = self._soonest(view.now)
        reached = self._at_limit(margin)
        enters = slowed | reached | (forecast & (kept["confirmations"] >= kept["enough"]))
        stays = slowed | forecast | kept["slowing"] | (margin < LEAVE)
        slowed = slowed | (kept["slowing"] & ~forecast)  # a condition from before a restart is not a forecast
        left, low, high = (
            np.where(slowed | reached, 0.0, np.where(forecast, np.maximum(time - view.now, 0.0), np.nan))
            for time in times
        )
        confidence = np.where(slowed, 0.95, np.where(reached, 0.8, 0.6))
        least = np.fmin(margin, memory)
        mild = (slowed & ~hard) | ~(enters | stays)
        severity = np.where(mild, Severity.WARNING, Severity.CRITICAL).astype(np.int8)

        def because(place: int) -> str:
            degrees = from_limit(least[place])
            if slowed[place]:
                return f"the {'hardware' if hard[place] else 'driver'} throttles its clocks because of heat; {degrees}"
            if reached[place]:
                return "at the temperature at which the hardware throttles"
            if not forecast[place]:
                return f"{degrees}, no longer warming"
            name, degrees = ("core", "memory")[part[place]], from_limit((margin, memory)[part[place]][place])
            return f"{name} {degrees} and warming; it will be throttled"

        return Claims(
            kind=self.kinds[0], subjects=view.gpus, enters=enters, stays=stays, confidence=confidence,
            known=~(np.isnan(margin) & np.isnan(memory)) | known, severity=severity,
            seconds_left=left, seconds_left_low=low, seconds_left_high=high, because=because,
            evidence={
                "temperature_celsius": view.gpu("gpu_temperature_celsius"),
                "margin_celsius": margin, "memory_margin_celsius": memory,
            },
        )  # fmt: skip


def _enough(interval: Floats, left: Floats) -> Places:
    """Return how many forecasts in a row are required."""
    seconds = np.where(interval >= SPARSE_SECONDS, np.fmin(left, CONFIRM_SECONDS), CONFIRM_SECONDS)
    return np.clip(seconds / np.maximum(interval, 1.0), 1, CONFIRMATIONS).astype(np.int64)
