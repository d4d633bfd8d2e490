"""GPUs that are slowed down by heat, or will be within minutes: core against the device's own limit, and memory."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from flyball_collector.diagnosis.claims import Claims
from flyball_collector.diagnosis.forecast.rows import source_of
from flyball_collector.diagnosis.forecast.settings import ForecastSettings
from flyball_collector.diagnosis.forecast.trail import Trail
from flyball_collector.diagnosis.forecast.trend import theil_sen
from flyball_collector.diagnosis.forecast.words import duration
from flyball_collector.diagnosis.keeping import Kept
from flyball_collector.diagnosis.kinds import BY_NAME, Severity
from flyball_collector.diagnosis.subject import Subjects
from flyball_collector.diagnosis.view import View

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Places = NDArray[np.int64]

NEAR = 12.0
"""Degrees below the limit within which a forecast is made at all."""

POINTS = 16
RINGS = ((2.0, 16), (10.0, 16))
"""Half a minute and nearly three minutes: heat goes through a heat sink in tens of seconds."""

CLEARLY = 0.02
"""Degrees a second below which nothing is forecast: room temperature moves that fast."""

HOLD_SECONDS = 30.0
LEAVE = 5.0
"""Degrees below the limit at which a slowdown is over; and seconds for which the driver must say that it slows."""

THROTTLE_SHARE = 0.05
"""Of a minute; the driver's bits may flash when the clock changes."""

HARDWARE, SOFTWARE = "hw_thermal", "sw_thermal"


class Onset(NamedTuple):
    """Along rows: the seconds until the limit is met; NaN where it is not."""

    left: Floats
    low: Floats
    high: Floats


def onset(times: Floats, margins: Floats, horizon: float) -> Onset:
    """When margins (time × row; degrees left) reach zero, if an approach to a rest does not end before.

    Temperatures approach a rest exponentially: each half of the time they go less far than in the half before. The
    slope's lower bound must be above zero, and what the newest half still promises must cover the margin.
    """
    trend = theil_sen(times, -margins)
    half = len(times) // 2
    early = theil_sen(times[: half + 1], -margins[: half + 1], z=0.0).slope
    late = theil_sen(times[half:], -margins[half:], z=0.0).slope
    span = (times[-1] - times[0]) / 2
    margin = np.maximum(margins[-1], 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        fades = np.clip(late / early, 0.0, 1.0)  # from one half to the next
        rest = np.where(fades < 1, late * span * fades / (1 - fades), np.inf)  # sum of all halves to come
        rest = np.where(fades > 0.95, np.inf, rest)  # no fading that could be told from noise
        left = margin / late
        share = np.clip(margin / rest, 0.0, 0.999)
        left = np.where(np.isfinite(rest) & (share > 0), left * -np.log1p(-share) / np.maximum(share, 1e-9), left)
        low, high = margin / np.fmax(trend.high, late), margin / np.fmin(trend.low, late)
    falls = (trend.low > 0) & (late >= CLEARLY) & (early > 0) & (rest > margin) & (left <= horizon)
    falls &= (trend.points >= len(times) - 3) & (late * span >= 1.0)  # a sensor tells whole degrees
    return Onset(*(np.where(falls, values, np.nan) for values in (left, np.fmin(low, left), np.fmax(high, left))))


class ThermalSlowdown:
    """What the driver says now, and where the temperatures go."""

    name = "thermal_slowdown"
    kinds = (BY_NAME["thermal_slowdown"],)

    def __init__(self, settings: ForecastSettings) -> None:
        self._horizon = settings.thermal_seconds
        self._memory_limit = settings.memory_slowdown_celsius
        self._core, self._memory = Trail(RINGS, newest=POINTS), Trail(RINGS, newest=POINTS)
        self._kept = Kept(slowed_for=0.0, last=np.nan, until=-np.inf, met=np.nan, low=np.nan, high=np.nan)

    def observe(self, view: View) -> Iterable[Claims]:
        """Margins to each limit, and what slows the clocks now."""
        gpus = view.gpus
        self._align(gpus)
        margin, memory = self._margins(view)
        slowed, hard = self._slowed(view)
        for trail, left in ((self._core, margin), (self._memory, memory)):
            trail.add(view.now, left)
            self._foresee(trail, left, view.now)
        yield self._claims(view, margin, memory, slowed, hard)

    def _align(self, gpus: Subjects) -> None:
        before = self._kept.align(gpus)
        if before is not None:
            source = source_of(gpus, before)
            self._core.rearrange(source)
            self._memory.rearrange(source)

    def _margins(self, view: View) -> tuple[Floats, Floats]:
        """Degrees left of core and memory. The driver's own margin counts before a threshold less the temperature."""
        told = view.gpu("gpu_temperature_margin_celsius")
        reckoned = view.gpu("gpu_slowdown_temperature_celsius") - view.gpu("gpu_temperature_celsius")
        return np.where(np.isnan(told), reckoned, told), self._memory_limit - view.gpu("gpu_memory_temperature_celsius")

    def _slowed(self, view: View) -> tuple[Flags, Flags]:
        """Heat slows the clocks for seconds now, or did for much of the last minute."""
        kept = self._kept
        hard = view.gpu("gpu_throttle_active", reason=HARDWARE) == 1
        soft = view.gpu("gpu_throttle_active", reason=SOFTWARE) == 1
        passed = np.nan_to_num(view.now - kept["last"])
        kept["slowed_for"] = np.where(hard | soft, kept["slowed_for"] + passed, 0.0)
        kept["last"] = np.full(len(hard), view.now)
        return (hard | soft) & (kept["slowed_for"] >= 3.0), hard

    def _foresee(self, trail: Trail, margin: Floats, now: float) -> None:
        """Fit those that are near their limit, at three scales."""
        near = np.flatnonzero(margin <= NEAR)
        if not len(near):
            return
        stretches = [trail.newest.last(POINTS, near), *(ring.last(POINTS, near) for ring in trail.rings)]
        for stretch in stretches:
            if len(stretch.high) < POINTS:
                continue
            span = stretch.times[-1] - stretch.times[0]
            found = onset(stretch.times, stretch.high.astype(np.float64), self._horizon)
            met = ~np.isnan(found.left) & (span >= 10.0)
            rows = near[met]
            self._kept["until"][rows] = now + HOLD_SECONDS
            for name, seconds in (("met", found.left), ("low", found.low), ("high", found.high)):
                self._kept[name][rows] = now + seconds[met]

    def _claims(self, view: View, margin: Floats, memory: Floats, slowed: Flags, hard: Flags) -> Claims:
        kept, now = self._kept, view.now
        foreseen = kept["until"] >= now
        reached = margin <= 0
        left, low, high = (
            np.where(slowed | reached, 0.0, np.where(foreseen, np.maximum(kept[name] - now, 0.0), np.nan))
            for name in ("met", "low", "high")
        )
        confidence = np.where(slowed, 0.95, np.where(reached, 0.8, 0.6))
        least = np.fmin(margin, memory)
        severity = np.where(slowed & ~hard, Severity.WARNING, Severity.CRITICAL).astype(np.int8)

        def because(place: int) -> str:
            degrees = f"{least[place]:.0f} °C below its limit" if np.isfinite(least[place]) else "limit unknown"
            if slowed[place]:
                return f"the {'hardware' if hard[place] else 'driver'} slows its clocks for heat; {degrees}"
            if reached[place]:
                return "at the temperature at which the hardware slows down"
            part = "memory" if memory[place] < margin[place] or np.isnan(margin[place]) else "core"
            return (
                f"{part} {degrees} and warming: slowed down in {duration(left[place])} "
                f"({duration(low[place])} to {duration(high[place])})"
            )

        return Claims(
            kind=self.kinds[0], subjects=view.gpus, enters=slowed | reached | foreseen,
            stays=slowed | foreseen | ((kept["slowed_for"] > 0) | (margin < LEAVE)),
            confidence=confidence, known=~(np.isnan(margin) & np.isnan(memory)) | slowed, severity=severity,
            seconds_left=left, seconds_left_low=low, seconds_left_high=high, because=because,
            evidence={
                "temperature_celsius": view.gpu("gpu_temperature_celsius"),
                "margin_celsius": margin, "memory_margin_celsius": memory,
            },
        )  # fmt: skip
