"""GPUs that are slowed down by heat, or will be within minutes: core against the device's own limit, and memory."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from flyball_collector.diagnosis.claims import Claims
from flyball_collector.diagnosis.forecast.rows import source_of
from flyball_collector.diagnosis.forecast.settings import ForecastSettings
from flyball_collector.diagnosis.forecast.trail import Newest, Ring, Trail
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

SURELY = 2.0
"""What the warming still promises, as a multiple of the degrees left."""

SURE_SHARE = 0.25
"""Of the newest slope: as much the lower bound and the slope before must be at least."""

LOOKS = 3
"""In a row that foresee the same."""

SENSOR = 0.3
"""Degrees by which a sensor that tells whole ones is off, as a rule."""

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

    Temperatures approach a rest exponentially: in each part of the time they go less far than in the part before. The
    slope's lower bound must be near the slope, and what the newest part still promises must cover the margin twice.
    """
    times = times if times.ndim == 2 else np.repeat(times[:, None], margins.shape[1], axis=1)
    trend = theil_sen(times, -margins)
    halves, thirds = _promise(times, margins, 2), _promise(times, margins, 3)
    early, late = halves.before, halves.newest
    rest = np.fmin(halves.rest, thirds.rest)
    margin = np.maximum(margins[-1], 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        left, low, high = margin / late, margin / np.fmax(trend.high, late), margin / np.fmin(trend.low, late)
        share = np.clip(margin / rest, 0, 0.99)
        high = np.where(share > 0, np.fmax(high, left * -np.log1p(-share) / share), high)  # slower towards a rest
    warms = (trend.low >= SURE_SHARE * late) & (late >= CLEARLY) & (early >= SURE_SHARE * late)
    warms &= (rest >= SURELY * margin) & (left <= horizon) & (margins[0] - margins[-1] >= 2.0)
    warms &= trend.points >= max(8, len(times) - 3)
    return Onset(*(np.where(warms, values, np.nan) for values in (left, np.fmin(low, left), np.fmax(high, left))))


class _Promise(NamedTuple):
    before: Floats  # slope of the part before the newest
    newest: Floats
    rest: Floats  # degrees that all parts to come add up to


def _promise(times: Floats, margins: Floats, parts: int) -> _Promise:
    """How the warming fades from one part of the time to the next, and where that would end.

    Noise might hide a fading: both slopes are taken a standard error to its side.
    """
    count = len(times)
    cuts = [count * part // parts for part in range(parts + 1)]
    last, before = slice(cuts[-2], None), slice(cuts[-3], cuts[-2] + 1)
    newest, earlier = (theil_sen(times[part], -margins[part], z=0.0) for part in (last, before))
    span = times[-1] - times[cuts[-2]]
    error = np.fmax(np.fmax(newest.spread, earlier.spread), SENSOR) * np.sqrt(12 / (count - cuts[-2])) / span
    with np.errstate(divide="ignore", invalid="ignore"):
        least = np.maximum(newest.slope - error, 0.0)
        fades = np.clip(least / (earlier.slope + error), 0.0, 1.0)
        rest = least * span * fades / (1 - fades)
    return _Promise(earlier.slope, newest.slope, rest)


def from_limit(margin: float) -> str:
    """Degrees left, in words."""
    if not np.isfinite(margin):
        return "limit unknown"
    degrees = round(abs(margin))
    return f"{degrees} °C {'below' if margin > 0 else 'above'} its limit" if degrees else "at its limit"


class ThermalSlowdown:
    """What the driver says now, and where the temperatures go."""

    name = "thermal_slowdown"
    kinds = (BY_NAME["thermal_slowdown"],)
    needs: Sequence[str] = (
        "gpu_temperature_margin_celsius", "gpu_slowdown_temperature_celsius", "gpu_memory_temperature_celsius",
        "gpu_throttle_active",
    )  # fmt: skip

    def __init__(self, settings: ForecastSettings) -> None:
        self._horizon = settings.thermal_seconds
        self._memory_limit = settings.memory_slowdown_celsius
        self._core, self._memory = Trail(RINGS, newest=POINTS), Trail(RINGS, newest=POINTS)
        self._kept = Kept(slowed_for=0.0, last=np.nan, until=-np.inf, looks=0, met=np.nan, low=np.nan, high=np.nan)

    def observe(self, view: View) -> Iterable[Claims]:
        """Margins to each limit, and what slows the clocks now."""
        gpus = view.gpus
        self._align(gpus)
        margin, memory = self._margins(view)
        slowed, hard, said = self._slowed(view)
        seen = np.zeros(len(gpus), dtype=bool)
        for trail, left in ((self._core, margin), (self._memory, memory)):
            trail.add(view.now, left)
            self._foresee(trail, left, seen, view.now)
        self._kept["looks"] = np.where(seen, self._kept["looks"] + 1, 0)
        yield self._claims(view, margin, memory, slowed, hard, said)

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

    def _slowed(self, view: View) -> tuple[Flags, Flags, Flags]:
        """Heat slows the clocks for seconds now, or did for much of the last minute."""
        kept = self._kept
        flags = [view.gpu("gpu_throttle_active", reason=reason) for reason in (HARDWARE, SOFTWARE)]
        hard, soft = (flag == 1 for flag in flags)
        said = ~np.isnan(flags[0]) | ~np.isnan(flags[1])
        passed = np.nan_to_num(view.now - kept["last"])
        kept["slowed_for"] = np.where(hard | soft, kept["slowed_for"] + passed, 0.0)
        kept["last"] = np.full(len(hard), view.now)
        return (hard | soft) & (kept["slowed_for"] >= 3.0), hard, said

    def _foresee(self, trail: Trail, margin: Floats, seen: Flags, now: float) -> None:
        """Fit those that are near their limit and have come as far as they have yet to go, at three scales."""
        near = np.flatnonzero(margin <= NEAR)
        sources: tuple[Newest | Ring, ...] = (trail.newest, *trail.rings)
        for source in sources:
            started = source.highs_back(POINTS - 1, near)
            rows_near = near[started - margin[near] >= np.maximum(margin[near], 1.0)]
            if not len(rows_near):
                continue
            stretch = source.last(POINTS, rows_near)
            span = stretch.times[-1] - stretch.times[0]
            found = onset(stretch.times, stretch.high.astype(np.float64), self._horizon)
            met = ~np.isnan(found.left) & (span >= 10.0)
            rows = rows_near[met]
            self._kept["until"][rows] = now + HOLD_SECONDS
            seen[rows] = True
            for name, seconds in (("met", found.left), ("low", found.low), ("high", found.high)):
                self._kept[name][rows] = now + seconds[met]

    def _claims(self, view: View, margin: Floats, memory: Floats, slowed: Flags, hard: Flags, said: Flags) -> Claims:
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
            degrees = from_limit(least[place])
            if slowed[place]:
                return f"the {'hardware' if hard[place] else 'driver'} slows its clocks for heat; {degrees}"
            if reached[place]:
                return "at the temperature at which the hardware slows down"
            part = "memory" if memory[place] < margin[place] or np.isnan(margin[place]) else "core"
            if left[place] < 1.0:
                return f"{part} {degrees} and warming: slowed down any moment"
            return (
                f"{part} {degrees} and warming: slowed down in {duration(left[place])} "
                f"({duration(low[place])} to {duration(high[place])})"
            )

        return Claims(
            kind=self.kinds[0], subjects=view.gpus, enters=slowed | reached | (foreseen & (kept["looks"] >= LOOKS)),
            stays=slowed | foreseen | ((kept["slowed_for"] > 0) | (margin < LEAVE)),
            confidence=confidence, known=~(np.isnan(margin) & np.isnan(memory)) | said, severity=severity,
            seconds_left=left, seconds_left_low=low, seconds_left_high=high, because=because,
            evidence={
                "temperature_celsius": view.gpu("gpu_temperature_celsius"),
                "margin_celsius": margin, "memory_margin_celsius": memory,
            },
        )  # fmt: skip
