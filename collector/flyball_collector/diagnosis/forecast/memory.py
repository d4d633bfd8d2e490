"""Forecasts memory exhaustion of each GPU, the host, its control group and /dev/shm."""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from flyball_collector.diagnosis.claims import Claims
from flyball_collector.diagnosis.forecast.fill_forecast import LEAST_ROOM, STAIRS, FillForecast, FillForecaster
from flyball_collector.diagnosis.forecast.fill_rules import SPARSE_RULES, FillRules
from flyball_collector.diagnosis.forecast.history import History, Ladder
from flyball_collector.diagnosis.forecast.joined_subjects import source_of
from flyball_collector.diagnosis.forecast.memory_use import BUSY_SPAN, BUSY_STRAIGHT_SPAN, RESOURCES, MemoryUse
from flyball_collector.diagnosis.forecast.settings import ForecastSettings
from flyball_collector.diagnosis.forecast.straight_growth import StraightGrowth
from flyball_collector.diagnosis.kinds import BY_NAME, Severity
from flyball_collector.diagnosis.number_format import share
from flyball_collector.diagnosis.runs.level_shifts import deviation
from flyball_collector.diagnosis.runs.run_view import Runs
from flyball_collector.diagnosis.subject import Subject, Subjects
from flyball_collector.diagnosis.subject_arrays import SubjectArrays
from flyball_collector.diagnosis.unknown_values import known_or
from flyball_collector.diagnosis.view import View

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Places = NDArray[np.int64]

_Array = TypeVar("_Array", Floats, Flags)

RINGS = ((3.0, 48), (10.0, 60), (60.0, 48), (300.0, 40), (1800.0, 48))
"""Slot length in seconds and number of slots: 2 minutes, 10 minutes, 48 minutes, 3 hours, a day."""

HASTY_LEVEL = 0.8
"""From this use on, growth that does not slow down is reported if memory is full after one or two more readings."""

RUNG = 0.02
"""Share of the capacity. Less growth does not count as a step of the ladder."""

FALL = 0.3
"""Share of the capacity. If use falls by this much at once, a process was killed or restarted."""

OVER = 0.97
"""A fall from here, or from where the next reading would have been here, ends an exhaustion."""

TEETH = 2
"""After this many falls from below the limit, use is a sawtooth: memory is released in time, again and again."""

SAW_SECONDS = 86_400.0
"""A sawtooth without a fall for this time is forgotten."""

FULL, FULL_SECONDS = 0.985, 60.0
"""Programs that allocate blocks cannot use the last bytes.

Use that stays here for so many seconds, and after the time left has passed, is full.
"""

LAST_BYTES, SCATTER = 0.015, 2.5
"""The room left may end early by this share of the capacity (see `FULL`), and is known to so many spreads."""

NOISE = 0.02
"""Share of the capacity. Use this close to its peak has not fallen."""

AWAY, AWAY_SPREADS, AWAY_SHARE, MOST_AWAY = 0.03, 6.0, 0.25, 0.1
"""Use has fallen if it is below its peak by this much of the capacity, by this many spreads of its readings, and by
this share of the day's growth (at most `MOST_AWAY`). The peak may be three spreads above the line of growth and a
reading three spreads below it, and growth takes time to exceed that. A release in between, as in a sawtooth, does
not end the growth.
"""

SPREAD_READINGS = 24
"""The number of readings from which the spread is computed."""

STILL_CRITICAL = 1.5
"""A critical forecast stays critical until this multiple of the critical time is left."""

SURE_COVERED, SURE_SECONDS = 1.5, 60.0
"""An exhaustion is critical only after growth by this multiple of the room left, or if the lower bound of the time left
is this short. Before that, half of what grows may still come to rest."""

CAP, DRIVER_CAP, LEAST_CONFIDENCE = 0.9, 0.5, 0.4
"""The highest and lowest confidence. The driver's figure includes caches and preallocated memory."""


class MemoryExhaustion:
    """Reports use that grows steadily, approaches the limit, and has not been this high before."""

    name = "memory_exhaustion"
    kinds = (BY_NAME["memory_exhaustion"],)
    needs: Sequence[str] = ("gpu_memory_used_bytes", *RESOURCES.values())

    def __init__(
        self, settings: ForecastSettings, sparse_rules: FillRules | None = SPARSE_RULES, runs: Runs | None = None
    ) -> None:
        """Set up the forecast.

        `sparse_rules` applies to long times between readings; None means the normal rules. `runs` provides the figures
        of the frameworks' allocators.
        """
        level = settings.memory_level
        rules = FillRules(covered=settings.memory_covered, level=level, hasty_level=min(level, HASTY_LEVEL))
        self._critical = settings.memory_critical_seconds
        self._memories = MemoryUse(runs)
        self._to_load: dict[Subject, tuple[Floats, Floats, Floats]] = {}  # histories of subjects not yet seen
        self.use: Floats = np.empty(0)  # the newest use, along `subjects`
        self.history = History(RINGS, ladder=Ladder(RUNG, max(STAIRS), 0))
        self._forecaster = FillForecaster(self.history, rules, sparse_rules, StraightGrowth(self.history))
        self._kept = SubjectArrays(
            active=False, critical=False, peak=np.nan, peak_time=np.nan, speed=np.nan, low=np.nan, high=np.nan,
            span=np.nan, since=np.nan, base=np.nan, gain=np.nan, left=np.nan, spread=np.nan, entered=-np.inf,
            teeth=0, tooth_time=-np.inf,
        )  # fmt: skip

    @property
    def subjects(self) -> Subjects:
        """The GPUs, then the resources of hosts."""
        return self._kept.subjects

    def load_history(self, subject: Subject, times: Floats, low: Floats, high: Floats) -> None:
        """Load the history of a memory from before a restart (seconds, shares used).

        It is added at once, because adding those of a whole fleet in one `observe` would block the others. The history
        of a subject that was not seen yet waits for it.
        """
        place = self._kept.subjects.places.get(subject)
        if place is None:
            self._to_load[subject] = (times, low, high)
        else:
            self.history.merge(times, place, low, high)

    def observe(self, view: View) -> Iterable[Claims]:
        """Check all rows cheaply, and fit the few that grew much and are nearly full."""
        self._align(self._memories.subjects(view))
        use = self.use = self._memories.read(view)
        self._forget_ended(use, view.now)
        self.history.add(view.now, use)
        self._load_waiting()
        found = self._forecaster.judge(
            use,
            view.now,
            self._memories.least_spans(view, BUSY_SPAN),
            self._memories.least_spans(view, BUSY_STRAIGHT_SPAN),
        )
        self._remember(found, use, view.now)
        return [self._claims(use, view.now)]

    def _load_waiting(self) -> None:
        """Load the histories of subjects that exist by now."""
        places = self._kept.subjects.places if self._to_load else {}
        for subject in [subject for subject in self._to_load if subject in places]:
            times, low, high = self._to_load.pop(subject)
            self.history.merge(times, places[subject], low, high)

    def _align(self, joined: Subjects) -> None:
        before = self._kept.align(joined)
        if before is not None:
            self.history.rearrange(source_of(joined, before))

    def _forget_ended(self, use: Floats, now: float) -> None:
        """Restart the history of rows whose use fell from the limit: that level was not sustainable.

        A row that fell earlier than forecast may have been restarted. If that happens again, it is a sawtooth.
        """
        rows = np.flatnonzero(use < self.history.newest.latest - 0.05)
        if not len(rows):
            return
        values = self.history.newest.last(6, rows).high
        peak = np.fmax.reduce(values, axis=0)
        step = np.fmax.reduce(np.diff(values, axis=0, prepend=np.nan), axis=0)
        killed = (peak - use[rows] >= FALL) & ((peak >= OVER) | (peak + known_or(0.0, step) >= OVER))
        released = (peak - use[rows] >= FALL) & ~killed & self._kept["active"][rows]
        self.history.forget(rows[killed | (released & (self._teeth(rows, killed, released, now) < TEETH))])

    def _teeth(self, rows: Places, killed: Flags, released: Flags, now: float) -> Places:
        """Return the number of sawtooth falls of these rows."""
        teeth, time = self._kept["teeth"], self._kept["tooth_time"]
        teeth[rows[killed | (now - time[rows] > SAW_SECONDS)]] = 0
        teeth[rows[released]] += 1
        time[rows[released]] = now
        return np.asarray(teeth[rows])

    def _remember(self, found: FillForecast, use: Floats, now: float) -> None:
        """Keep a forecast while its growth continues or after it has come true."""
        kept, new = self._kept, found.enters
        rows = np.flatnonzero(kept["active"] | new)
        if not len(rows):  # the usual case
            return
        self._learn(found, np.flatnonzero(new), use, now)
        peak = kept["peak"][rows]
        higher = new[rows] | (use[rows] >= peak + 0.1 * np.maximum(1 - peak, 0.01))  # False if unknown
        at = rows[higher]
        kept["peak"][at], kept["peak_time"][at] = use[at], now
        kept["active"][rows] = self._continues(rows, use[rows], now) | new[rows] | np.isnan(use[rows])

    def _learn(self, found: FillForecast, rows: Places, use: Floats, now: float) -> None:
        """Store the numbers of the new forecasts of these rows."""
        kept, room, span = self._kept, np.maximum(1 - use[rows], 0.0), found.span[rows]
        again = kept["active"][rows]
        full = rows[~again & (room == 0)]  # no time left, so the speed cannot be computed from it
        for name in ("speed", "low", "high"):
            kept[name][full] = LEAST_ROOM * found.covered[full] / found.span[full]
        timed = rows[room > 0]
        for name, left in (("speed", found.left), ("low", found.left_high), ("high", found.left_low)):
            kept[name][timed] = room[room > 0] / left[timed]
        kept["left"][timed] = found.left[timed]
        # another scale must not replace longer spans that are known already
        kept["span"][rows] = np.where(again, np.fmax(kept["span"][rows], span), span)
        base = use[rows] - found.covered[rows] * np.maximum(room, LEAST_ROOM)
        for name, values in (("since", now - span), ("base", base)):
            kept[name][rows] = np.where(again, np.fmin(kept[name][rows], values), values)
        kept["entered"][rows] = now
        kept["gain"][rows] = self._gain(rows, use)
        kept["spread"][rows] = self._spread(rows)

    def _continues(self, rows: Places, use: Floats, now: float) -> Flags:
        """Return True for rows that still grow or are full, and have not released what they grew by."""
        span, left, gain, spread, speed, peak, peak_time = (
            self._kept[name][rows] for name in ("span", "left", "gain", "spread", "speed", "peak", "peak_time")
        )
        before = self.history.newest.back(1, rows)[0]
        noise = AWAY_SPREADS * spread
        patience = np.fmax(np.fmax(60.0, 4 * known_or(0.0, now - before)), np.fmax(span, left) / 4)
        grows = now - peak_time <= np.fmax(patience, 2 * noise / speed)
        away = np.fmax(np.clip(AWAY_SHARE * gain, AWAY, MOST_AWAY), noise)
        return np.asarray((use >= np.fmin(peak, 0.98) - away) & (grows | (use >= FULL)))

    def _gain(self, rows: Places, use: Floats) -> Floats:
        """Return how far these rows are above their minimum of the last day."""
        lows = self.history.rings[-1].last(0, rows).low
        return np.asarray(use[rows] - np.fmin.reduce(lows, axis=0, initial=np.inf))

    def _spread(self, rows: Places) -> Floats:
        """Return the standard deviation of single readings of these rows from the line of their growth."""
        steps = np.diff(self.history.newest.last(SPREAD_READINGS, rows).high.astype(np.float64), axis=0).T
        away: Floats = deviation(steps) / np.sqrt(2)
        return known_or(0.0, away)

    def _claims(self, use: Floats, now: float) -> Claims:
        """Return what holds in this second. The arrays are of this second only, for the texts are made later."""
        kept, active = self._kept, self._kept["active"].copy()
        rows = np.flatnonzero(active)
        by_driver = self._memories.by_driver(len(use))
        outlook = self._outlook(rows, use[rows], by_driver[rows], now)
        kept["critical"] = critical = _along(len(use), rows, outlook.critical, otherwise=False)
        left, low, high, speed, peak, grown = (
            _along(len(use), rows, values)
            for values in (outlook.left, outlook.low, outlook.high, kept["speed"][rows], kept["peak"][rows],
                           now - kept["since"][rows])
        )  # fmt: skip
        fallen = peak - use
        full = _along(len(use), rows, outlook.full, otherwise=False)
        return Claims(
            kind=self.kinds[0], subjects=kept.subjects, enters=active & (kept["entered"] == now), stays=active,
            confidence=_along(len(use), rows, outlook.confidence, otherwise=0.0), known=~np.isnan(use), level=use,
            severity=np.where(critical, Severity.CRITICAL, Severity.WARNING).astype(np.int8), seconds_left=left,
            seconds_left_low=low, seconds_left_high=high, because=_texts(use, active, full, by_driver, speed, peak),
            evidence={
                "used_ratio": use, "growth_ratio_per_second": speed, "grown_seconds": grown,
                "fallen_ratio": np.where(fallen > NOISE, fallen, np.nan),
            },
        )  # fmt: skip

    def _outlook(self, rows: Places, use: Floats, by_driver: Flags, now: float) -> "_Outlook":
        """Return what is left for these rows, whose forecasts hold: few of a fleet."""
        speed, slow, fast, peak, peak_time, spread, base = (
            self._kept[name][rows] for name in ("speed", "low", "high", "peak", "peak_time", "spread", "base")
        )
        reached = np.fmax(use, np.where(use >= peak - NOISE, peak, use))
        room, scatter = np.maximum(1 - reached, 0.0), SCATTER * spread
        with np.errstate(divide="ignore", invalid="ignore"):
            left, low, high = room / speed, np.maximum(room - scatter - LAST_BYTES, 0.0) / fast, (room + scatter) / slow
        # the forecast has come true: no room, or so little that it should be used up by now
        full = (use >= 1) | ((use >= FULL) & (now - peak_time > np.fmax(FULL_SECONDS, left)))
        left, low, high = (np.where(full, 0.0, seconds) for seconds in (left, low, high))
        covered = (reached - base) / np.maximum(room, LEAST_ROOM)
        confidence = np.clip(covered / (1 + covered), LEAST_CONFIDENCE, np.where(by_driver, DRIVER_CAP, CAP))
        return _Outlook(left, low, high, full, confidence, self._critical_now(rows, covered, left, low))

    def _critical_now(self, rows: Places, covered: Floats, left: Floats, low: Floats) -> Flags:
        """Return what cannot wait: exhaustion that is near, by growth that has gone on long enough or ends too soon."""
        before = self._kept["critical"][rows]
        near = left <= np.where(before, STILL_CRITICAL, 1.0) * self._critical
        return np.asarray(near & (before | (covered >= SURE_COVERED) | (low <= SURE_SECONDS)))


class _Outlook(NamedTuple):
    """Holds what is left, along rows whose forecasts hold."""

    left: Floats  # seconds
    low: Floats
    high: Floats
    full: Flags
    confidence: Floats
    critical: Flags


def _along(count: int, rows: Places, values: _Array, *, otherwise: float | bool = np.nan) -> _Array:
    """Return values of some rows along all of them."""
    found = np.full(count, otherwise, dtype=values.dtype)
    found[rows] = values
    return found


def _texts(
    use: Floats, active: Flags, full: Flags, by_driver: Flags, speed: Floats, peak: Floats
) -> Callable[[int], str]:
    """Return the description of each subject. The time left is not part of it: it passes while the text is read."""

    def because(place: int) -> str:
        source = " (driver's figure, includes caches)" if by_driver[place] else ""
        used = f"{share(use[place])} used" if np.isfinite(use[place]) else "memory in use"
        if full[place]:
            return f"{used}: memory is full{source}"
        if not active[place]:
            return f"{used}, no longer growing{source}"
        if use[place] < peak[place] - NOISE:
            return f"{used}, {share(peak[place] - use[place])} below its highest{source}"
        return f"{used}, growing by {share(speed[place] * 60, 2)} of the capacity a minute{source}"

    return because
