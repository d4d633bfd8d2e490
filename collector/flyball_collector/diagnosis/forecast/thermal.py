"""GPUs that are slowed down by heat, or will be within minutes: core against the device's own limit, and memory."""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from flyball_collector.diagnosis.claims import Claims
from flyball_collector.diagnosis.figures import time_left
from flyball_collector.diagnosis.forecast.rows import source_of
from flyball_collector.diagnosis.forecast.settings import ForecastSettings
from flyball_collector.diagnosis.forecast.thermal_onset import SURELY, onset, to_come
from flyball_collector.diagnosis.forecast.trail import Newest, Ring, Trail
from flyball_collector.diagnosis.keeping import Kept
from flyball_collector.diagnosis.kinds import BY_NAME, Severity
from flyball_collector.diagnosis.subject import Subjects
from flyball_collector.diagnosis.unknown import known_or
from flyball_collector.diagnosis.view import View

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Places = NDArray[np.int64]

NEAR = 12.0
"""Degrees below the limit within which a forecast is made at all …"""

READINGS_NEAR = 3.0
"""… or as far as so many readings lead, where they are seldom …"""

MOST_NEAR = 30.0
"""… but no further."""

POINTS = 16
RINGS = ((3.0, 16), (10.0, 16))
"""A minute and nearly three minutes: heat goes through a heat sink in tens of seconds."""

SELDOM = 5.0
"""Seconds between readings from which on …"""

FEW = ((4, 30.0), (6, np.inf), (10, np.inf))
"""… so many of them may do: they are as long a time, and a sensor's whole degrees are little of what it warms.
Where they are further apart than the second figure, a heat sink comes to rest meanwhile: they prove nothing."""

LOOKS, LOOKS_SECONDS = 3, 20.0
"""In a row that foresee the same; where readings are seldom as many as come in so many seconds, or before the limit is
met, at least one."""

LEAST_SECONDS = 10.0
"""From the first to the last point."""

FADES_SECONDS = 180.0
"""Readings that reach back so far, three times as long as most heat sinks take, show whether the warming fades."""

HOLD_SECONDS, HOLD_READINGS = 30.0, 1.5
"""What was foreseen stands so long, or as long as so many readings take."""

LEAVE = 5.0
"""Degrees below the limit at which a slowdown is over; and seconds for which the driver must say that it slows."""

CORE, MEMORY, PARTS = 0, 1, 2

HARDWARE, SOFTWARE = "hw_thermal", "sw_thermal"


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
        self._kept = Kept(
            slowing=False, slowed_for=0.0, last=np.nan, looks=0, enough=LOOKS,
            until=((PARTS,), -np.inf), met=((PARTS,), np.nan), low=((PARTS,), np.nan), high=((PARTS,), np.nan),
        )  # fmt: skip

    def observe(self, view: View) -> Iterable[Claims]:
        """Margins to each limit, and what slows the clocks now."""
        gpus = view.gpus
        self._align(gpus)
        margin, memory = self._margins(view)
        slowed, hard, said = self._slowed(view)
        seen = np.zeros(len(gpus), dtype=bool)
        for part, trail, left in ((CORE, self._core, margin), (MEMORY, self._memory, memory)):
            trail.add(view.now, left)
            self._foresee(part, trail, left, seen, view.now)
        unread = np.isnan(margin) & np.isnan(memory)  # between two readings nothing is foreseen, and nothing is over
        self._kept["looks"] = np.where(seen, self._kept["looks"] + 1, np.where(unread, self._kept["looks"], 0))
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
        passed = known_or(0.0, view.now - kept["last"])
        kept["slowing"] = hard | soft
        kept["slowed_for"] = np.where(hard | soft, kept["slowed_for"] + passed, 0.0)
        kept["last"] = np.full(len(hard), view.now)
        return (hard | soft) & (kept["slowed_for"] >= 3.0), hard, said

    def _foresee(self, part: int, trail: Trail, margin: Floats, seen: Flags, now: float) -> None:
        """Fit those that are near their limit and have come as far as they have yet to go, at several scales."""
        rows, pace = self._near(trail.newest, margin)
        rows, pace = self._unfaded(trail.newest, rows, pace, margin)
        seldom = pace >= SELDOM
        for count, longest in FEW if seldom.any() else ():
            some = seldom & (pace <= longest)
            self._fit(part, trail.newest, count, rows[some], pace[some], margin, seen, now)
        sources: tuple[Newest | Ring, ...] = (trail.newest, *trail.rings)
        for source in sources:
            self._fit(part, source, POINTS, rows, pace, margin, seen, now)

    def _near(self, newest: Newest, margin: Floats) -> tuple[Places, Floats]:
        """Rows that are near their limit, and the seconds between two readings of each."""
        near = margin <= NEAR
        wide = np.flatnonzero((margin <= MOST_NEAR) & ~near & (newest.pace >= SELDOM))
        if len(wide):
            near[wide] = margin[wide] <= READINGS_NEAR * (newest.back(1, wide)[1] - margin[wide])
        rows = np.flatnonzero(near)
        return rows, known_or(0.0, newest.pace[rows])

    def _unfaded(self, newest: Newest, rows: Places, pace: Floats, margin: Floats) -> tuple[Places, Floats]:
        """Without those whose seldom readings, looked at for minutes, come to rest below the limit."""
        long = pace * (POINTS - 1) >= FADES_SECONDS
        if not long.any():
            return rows, pace
        stretch = newest.last(POINTS, rows[long])
        rests = to_come(stretch.times, stretch.high.astype(np.float64)) < SURELY * np.maximum(margin[rows[long]], 0.0)
        kept = np.ones(len(rows), dtype=bool)
        kept[np.flatnonzero(long)[rests]] = False
        return rows[kept], pace[kept]

    def _fit(
        self,
        part: int,
        source: Newest | Ring,
        count: int,
        rows: Places,
        pace: Floats,
        margin: Floats,
        seen: Flags,
        now: float,
    ) -> None:
        """One scale of one part."""
        started = source.highs_back(count - 1, rows)
        far = started - margin[rows] >= np.maximum(margin[rows], 1.0)
        if not far.any():
            return
        rows, pace = rows[far], pace[far]
        stretch = source.last(count, rows)
        found = onset(stretch.times, stretch.high.astype(np.float64), np.fmax(self._horizon, READINGS_NEAR * pace))
        long = stretch.times[-1] - stretch.times[0] >= (LEAST_SECONDS if count == POINTS else SELDOM * (count - 1))
        met = ~np.isnan(found.left) & long
        rows = rows[met]
        self._kept["enough"][rows] = _enough(pace[met], found.left[met])
        self._kept["until"][rows, part] = now + np.fmax(HOLD_SECONDS, HOLD_READINGS * pace[met])
        seen[rows] = True
        for name, seconds in zip(("met", "low", "high"), found, strict=True):
            self._kept[name][rows, part] = now + seconds[met]

    def _soonest(self, now: float) -> tuple[Flags, Places, list[Floats]]:
        """Whether a slowdown is foreseen, of which part first, and when, with its bounds."""
        foreseen = self._kept["until"] >= now
        part = np.argmin(np.where(foreseen, self._kept["met"], np.inf), axis=1)
        rows = np.arange(len(part))
        return np.asarray(foreseen.any(axis=1)), part, [self._kept[name][rows, part] for name in ("met", "low", "high")]

    def _claims(self, view: View, margin: Floats, memory: Floats, slowed: Flags, hard: Flags, said: Flags) -> Claims:
        kept = self._kept
        foreseen, part, times = self._soonest(view.now)
        reached = margin <= 0
        enters = slowed | reached | (foreseen & (kept["looks"] >= kept["enough"]))
        stays = slowed | foreseen | kept["slowing"] | (margin < LEAVE)
        slowed = slowed | (kept["slowing"] & ~foreseen)  # what stood before a restart is no forecast
        left, low, high = (
            np.where(slowed | reached, 0.0, np.where(foreseen, np.maximum(time - view.now, 0.0), np.nan))
            for time in times
        )
        confidence = np.where(slowed, 0.95, np.where(reached, 0.8, 0.6))
        least = np.fmin(margin, memory)
        mild = (slowed & ~hard) | ~(enters | stays)
        severity = np.where(mild, Severity.WARNING, Severity.CRITICAL).astype(np.int8)

        def because(place: int) -> str:
            degrees = from_limit(least[place])
            if slowed[place]:
                return f"the {'hardware' if hard[place] else 'driver'} slows its clocks for heat; {degrees}"
            if reached[place]:
                return "at the temperature at which the hardware slows down"
            if not foreseen[place]:
                return f"{degrees}, and no longer seen to warm"
            name, degrees = ("core", "memory")[part[place]], from_limit((margin, memory)[part[place]][place])
            if left[place] < 1.0:
                return f"{name} {degrees} and warming: slowed down any moment"
            return f"{name} {degrees} and warming: slowed down in {time_left(left[place], low[place], high[place])}"

        return Claims(
            kind=self.kinds[0], subjects=view.gpus, enters=enters, stays=stays, confidence=confidence,
            known=~(np.isnan(margin) & np.isnan(memory)) | said, severity=severity,
            seconds_left=left, seconds_left_low=low, seconds_left_high=high, because=because,
            evidence={
                "temperature_celsius": view.gpu("gpu_temperature_celsius"),
                "margin_celsius": margin, "memory_margin_celsius": memory,
            },
        )  # fmt: skip


def _enough(pace: Floats, left: Floats) -> Places:
    """How many looks in a row must foresee a slowdown."""
    seconds = np.where(pace >= SELDOM, np.fmin(left, LOOKS_SECONDS), LOOKS_SECONDS)
    return np.clip(seconds / np.maximum(pace, 1.0), 1, LOOKS).astype(np.int64)
