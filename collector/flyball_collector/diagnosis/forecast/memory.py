"""Forecasts memory exhaustion of each GPU, the host, its control group and /dev/shm."""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from flyball_collector.diagnosis.claims import Claims
from flyball_collector.diagnosis.forecast.fill_forecast import (
    LEAST_ROOM,
    RINGS,
    STAIRS,
    FillForecast,
    FillForecaster,
    FillRules,
)
from flyball_collector.diagnosis.forecast.history import History, Ladder
from flyball_collector.diagnosis.forecast.joined_subjects import JoinedSubjects, source_of
from flyball_collector.diagnosis.forecast.settings import ForecastSettings
from flyball_collector.diagnosis.kinds import BY_NAME, Severity
from flyball_collector.diagnosis.number_format import duration, share, time_left
from flyball_collector.diagnosis.runs.level_shifts import deviation
from flyball_collector.diagnosis.runs.run_view import Runs
from flyball_collector.diagnosis.subject import Subject, Subjects
from flyball_collector.diagnosis.subject_arrays import SubjectArrays
from flyball_collector.diagnosis.unknown_values import known_or
from flyball_collector.diagnosis.view import View

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Places = NDArray[np.int64]

HOST, CGROUP, SHARED = "host", "cgroup", "/dev/shm"  # noqa: S108  a name
RESOURCES = {HOST: "memory_used_ratio", CGROUP: "cgroup_memory_used_ratio", SHARED: "shared_memory_used_ratio"}

SPARSE_RULES = FillRules(
    covered=1.2, level=0.85, hasty_level=0.5, haste=3.0, hasty_even=False, unslowed=0.2, jump=0.5, drift=2.0, few=4
)
"""For long times between readings. Use may double between two readings, so waiting for certainty is too late."""

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

BUSY = 0.1
"""A GPU that computes at least this share of the time has finished loading its model."""

BUSY_SPAN, IDLE_SPAN = 60.0, 300.0
"""Seconds of growth required if only the driver's figure is known: loading a model takes minutes."""

REPORT_SECONDS = 60.0
"""How long a framework's report of its memory is valid."""

FULL = 0.985
"""Programs that allocate blocks cannot use the last bytes.

Use that stays here after the time left has passed is full.
"""

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

CAP, DRIVER_CAP = 0.9, 0.5
"""The highest confidence. The driver's figure includes caches and preallocated memory."""


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
        self._joined = JoinedSubjects(tuple(RESOURCES))
        self._runs = runs
        self._gpus = 0
        self._to_load: dict[Subject, tuple[Floats, Floats, Floats]] = {}  # histories of subjects not yet seen
        self._by_framework: Flags = np.empty(0, dtype=bool)  # along GPUs: the allocator's figures are known
        self.use: Floats = np.empty(0)  # the newest use, along `subjects`
        self.history = History(RINGS, ladder=Ladder(RUNG, max(STAIRS), 0))
        self._forecaster = FillForecaster(self.history, rules, sparse_rules)
        self._kept = SubjectArrays(
            active=False, critical=False, peak=np.nan, peak_time=np.nan, speed=np.nan, low=np.nan, high=np.nan,
            span=np.nan, covered=np.nan, gain=np.nan, left=np.nan, spread=np.nan, teeth=0, tooth_time=-np.inf,
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
        use = self.use = self._use(view)
        self._forget_ended(use, view.now)
        self.history.add(view.now, use)
        self._load_waiting()
        found = self._forecaster.judge(use, view.now, self._least_span(view))
        self._remember(found, use, view.now)
        return [self._claims(found, use, view.now)]

    def _load_waiting(self) -> None:
        """Load the histories of subjects that exist by now."""
        places = self._kept.subjects.places if self._to_load else {}
        for subject in [subject for subject in self._to_load if subject in places]:
            times, low, high = self._to_load.pop(subject)
            self.history.merge(times, places[subject], low, high)

    def _use(self, view: View) -> Floats:
        """Return the used shares along `subjects`."""
        joined = self._joined.subjects(view)
        before = self._kept.align(joined)
        if before is not None:
            self.history.rearrange(source_of(joined, before))
        gpus = self._gpu_use(view)
        self._gpus = len(gpus)
        return np.concatenate([gpus, *(view.host(metric) for metric in RESOURCES.values())])

    def _gpu_use(self, view: View) -> Floats:
        """Return the driver's figure minus what frameworks reserve but do not need at their peak, if reported."""
        used, total = view.gpu("gpu_memory_used_bytes"), view.gpu("gpu_memory_total_bytes")
        unused = self._unused(view)
        self._by_framework = ~np.isnan(unused)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray((used - np.where(self._by_framework, unused, 0.0)) / total)

    def _unused(self, view: View) -> Floats:
        """Return the bytes reserved by frameworks beyond their peak, along GPUs; unknown where none reports them."""
        runs = self._runs.of(view) if self._runs is not None else None
        if runs is None or not len(runs.keys):
            return np.full(len(view.gpus), np.nan)
        column = runs.ranks.column
        spare = column("reserved_peak_bytes") - column("allocated_peak_bytes")
        reported = ~np.isnan(spare) & (runs.gpu_of >= 0) & (view.now - column("received") <= REPORT_SECONDS)
        places, spare = runs.gpu_of[reported], np.maximum(spare[reported], 0.0)
        sums = np.bincount(places, spare, minlength=len(view.gpus))
        return np.where(np.bincount(places, minlength=len(view.gpus)) > 0, sums, np.nan)

    def _least_span(self, view: View) -> Floats:
        gpus = len(view.gpus)
        busy = view.gpu("gpu_utilization_ratio", 60)
        spans = np.zeros(len(self._kept.subjects))
        spans[:gpus] = np.where(self._by_framework, 0.0, np.where(busy >= BUSY, BUSY_SPAN, IDLE_SPAN))
        return spans

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
        active = kept["active"]
        if not (active.any() or new.any()):  # the usual case
            return
        self._learn(found, use)
        higher = new | (active & (use >= kept["peak"] + 0.1 * np.maximum(1 - kept["peak"], 0.01)))  # False if unknown
        kept["peak"][higher], kept["peak_time"][higher] = use[higher], now
        rows = np.flatnonzero(active | new)
        active |= new
        active[rows] = self._continues(rows, use[rows], now) | new[rows] | np.isnan(use[rows])

    def _learn(self, found: FillForecast, use: Floats) -> None:
        """Store the numbers of new forecasts."""
        kept, new = self._kept, found.enters
        room = np.maximum(1 - use, 0.0)
        full = new & ~kept["active"] & (room == 0)  # no time left, so the speed cannot be computed from it
        for name in ("speed", "low", "high"):
            kept[name][full] = LEAST_ROOM * found.covered[full] / found.span[full]
        timed = new & (room > 0)
        for name, left in (("speed", found.left), ("low", found.left_high), ("high", found.left_low)):
            kept[name][timed] = room[timed] / left[timed]
        kept["left"][timed] = found.left[timed]
        again = kept["active"] & new  # another scale must not replace longer spans that are known already
        for name, values in (("span", found.span), ("covered", found.covered)):
            kept[name][new] = np.where(again, np.fmax(kept[name], values), values)[new]
        kept["gain"][new] = self._gain(np.flatnonzero(new), use)
        kept["spread"][new] = self._spread(np.flatnonzero(new))

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

    def _full(self, use: Floats, left: Floats, now: float) -> Flags:
        """Return True if the forecast has come true: no room, or so little that it should be used up by now."""
        over = (use >= FULL) & (now - self._kept["peak_time"] > np.fmax(REPORT_SECONDS, left))
        return np.asarray(self._kept["active"] & ((use >= 1) | over))

    def _claims(self, found: FillForecast, use: Floats, now: float) -> Claims:
        kept = self._kept
        active = kept["active"]
        reached = np.fmax(use, np.where(use >= kept["peak"] - NOISE, kept["peak"], use))
        room = np.where(active, np.maximum(1 - reached, 0.0), np.nan)
        with np.errstate(divide="ignore", invalid="ignore"):
            left, low, high = room / kept["speed"], room / kept["high"], room / kept["low"]
        full = self._full(use, left, now)
        left, low, high = (np.where(full, 0.0, seconds) for seconds in (left, low, high))
        covered = kept["covered"]
        by_driver = np.zeros(len(use), dtype=bool)  # only the driver's figure is known
        by_driver[: self._gpus] = ~self._by_framework
        confidence = np.where(active, np.minimum(covered / (1 + covered), np.where(by_driver, DRIVER_CAP, CAP)), 0.0)
        near = active & (left <= np.where(kept["critical"], STILL_CRITICAL, 1.0) * self._critical)
        kept["critical"] = near
        severity = np.where(near, Severity.CRITICAL, Severity.WARNING).astype(np.int8)
        speed, span = kept["speed"].copy(), kept["span"].copy()

        def because(place: int) -> str:
            source = " (driver's figure, includes caches)" if by_driver[place] else ""
            if full[place]:
                return f"{share(use[place])} used: memory is full{source}"
            return (
                f"{share(use[place])} used, growing by {share(speed[place] * 60, 2)} of the capacity a minute for "
                f"{duration(span[place])}; full in {time_left(left[place], low[place], high[place])}{source}"
            )

        return Claims(
            kind=self.kinds[0], subjects=kept.subjects, enters=found.enters.copy(), stays=active.copy(),
            confidence=confidence, known=~np.isnan(use), level=use, severity=severity, seconds_left=left,
            seconds_left_low=low, seconds_left_high=high, because=because,
            evidence={"used_ratio": use, "growth_ratio_per_second": speed, "grown_seconds": span},
        )  # fmt: skip
