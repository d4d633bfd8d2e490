"""Memory that will be used up: of each GPU, the host, its control group, and /dev/shm."""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from flyball_collector.diagnosis.claims import Claims
from flyball_collector.diagnosis.figures import duration, share, time_left
from flyball_collector.diagnosis.forecast.filling import LEAST_ROOM, RINGS, STAIRS, Filling, Fillings, Rules
from flyball_collector.diagnosis.forecast.rows import Joined, source_of
from flyball_collector.diagnosis.forecast.settings import ForecastSettings
from flyball_collector.diagnosis.forecast.trail import Ladder, Trail
from flyball_collector.diagnosis.keeping import Kept
from flyball_collector.diagnosis.kinds import BY_NAME, Severity
from flyball_collector.diagnosis.runs.onset import deviation
from flyball_collector.diagnosis.runs.run_view import Runs
from flyball_collector.diagnosis.subject import Subject, Subjects
from flyball_collector.diagnosis.unknown import known_or
from flyball_collector.diagnosis.view import View

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Places = NDArray[np.int64]

HOST, CGROUP, SHARED = "host", "cgroup", "/dev/shm"  # noqa: S108  a name
RESOURCES = {HOST: "memory_used_ratio", CGROUP: "cgroup_memory_used_ratio", SHARED: "shared_memory_used_ratio"}

SELDOM_RULES = Rules(
    covered=1.2, level=0.85, hasty_level=0.5, haste=3.0, hasty_even=False, unslowed=0.2, jump=0.5, drift=2.0, few=4
)
"""Where readings are far apart, waiting for more certainty means to say nothing: use doubles between two of them."""

HASTY_LEVEL = 0.8
"""From here what is not slowing down and would be full after one or two more readings is told: none may come."""

RUNG = 0.02
"""Of the capacity: growth by less is no step."""

FALL = 0.3
"""Use that falls by so much of the capacity at once: somebody was killed or restarted."""

OVER = 0.97
"""A fall from here, or from where the next reading would have been here, ended an exhaustion."""

TEETH = 2
"""So many falls from below are the teeth of a saw: memory that is let go in time, and will be again."""

SAW_SECONDS = 86_400.0
"""A saw that has had no tooth for so long is forgotten."""

BUSY = 0.1
"""A GPU that computes at least so much of the time is past loading its model."""

BUSY_SPAN, IDLE_SPAN = 60.0, 300.0
"""Seconds of growth that a forecast from the driver's figure needs: a model is loaded within minutes."""

TOLD_SECONDS = 60.0
"""For how long what a framework said of its memory stands."""

FULL = 0.985
"""Who allocates blocks cannot take the last of them: use that stays here for as long as was left has met the limit."""

NOISE = 0.02
"""Of the capacity: use that is so little below its peak has not fallen."""

AWAY, AWAY_SPREADS, AWAY_SHARE, MOST_AWAY = 0.03, 6.0, 0.25, 0.1
"""Below its peak by so much of the capacity, by so many spreads of its readings, and by so much of the day's growth (at
most), use has fallen: the peak may lie three spreads above the line of its growth, and a reading three below it; growth
takes its time to outgrow them. What is given back in between, as by the teeth of a saw, is no end of what goes on."""

SPREAD_READINGS = 24
"""So many of the newest tell the spread."""

STILL_CRITICAL = 1.5
"""What was critical stays so until so many times as much time is left."""

CAP, DRIVER_CAP = 0.9, 0.5
"""Confidence at most; the driver's figure holds caches and preallocation."""


class MemoryExhaustion:
    """Use that grows steadily, is about to reach the limit, and has not been there before."""

    name = "memory_exhaustion"
    kinds = (BY_NAME["memory_exhaustion"],)
    needs: Sequence[str] = ("gpu_memory_used_bytes", *RESOURCES.values())

    def __init__(
        self, settings: ForecastSettings, seldom: Rules | None = SELDOM_RULES, runs: Runs | None = None
    ) -> None:
        """`seldom`: for readings that are far apart; `None`: as for others. `runs` know the allocators' figures."""
        level = settings.memory_level
        rules = Rules(covered=settings.memory_covered, level=level, hasty_level=min(level, HASTY_LEVEL))
        self._critical = settings.memory_critical_seconds
        self._joined = Joined(tuple(RESOURCES))
        self._runs = runs
        self._gpus = 0
        self._recalled: dict[Subject, tuple[Floats, Floats, Floats]] = {}
        self._told: Flags = np.empty(0, dtype=bool)  # along GPUs: the allocator's figures are known
        self.use: Floats = np.empty(0)  # the newest, along `subjects`
        self.trail = Trail(RINGS, ladder=Ladder(RUNG, max(STAIRS), 0))
        self._fillings = Fillings(self.trail, rules, seldom)
        self._kept = Kept(
            stands=False, critical=False, peak=np.nan, peak_time=np.nan, speed=np.nan, low=np.nan, high=np.nan,
            span=np.nan, covered=np.nan, gain=np.nan, left=np.nan, spread=np.nan, teeth=0, tooth_time=-np.inf,
        )  # fmt: skip

    @property
    def subjects(self) -> Subjects:
        """GPUs, then the resources of hosts."""
        return self._kept.subjects

    def recall(self, subject: Subject, times: Floats, low: Floats, high: Floats) -> None:
        """Take what a memory did before a restart (seconds, shares used); it counts from the next look on.

        At once, for a look that took it of a whole fleet would keep others waiting; unless nobody has seen it yet.
        """
        place = self._kept.subjects.places.get(subject)
        if place is None:
            self._recalled[subject] = (times, low, high)
        else:
            self.trail.recall(times, place, low, high)

    def observe(self, view: View) -> Iterable[Claims]:
        """Cheap for all, and a fit for the few that have grown much and are nearly full."""
        use = self.use = self._use(view)
        self._forget_ended(use, view.now)
        self.trail.add(view.now, use)
        self._take_recalled()
        found = self._fillings.judge(use, view.now, self._least_span(view))
        self._remember(found, use, view.now)
        return [self._claims(found, use, view.now)]

    def _take_recalled(self) -> None:
        """Into the rings of those that are there by now."""
        places = self._kept.subjects.places if self._recalled else {}
        for subject in [subject for subject in self._recalled if subject in places]:
            times, low, high = self._recalled.pop(subject)
            self.trail.recall(times, places[subject], low, high)

    def _use(self, view: View) -> Floats:
        """Used shares along our rows."""
        joined = self._joined.subjects(view)
        before = self._kept.align(joined)
        if before is not None:
            self.trail.rearrange(source_of(joined, before))
        gpus = self._gpu_use(view)
        self._gpus = len(gpus)
        return np.concatenate([gpus, *(view.host(metric) for metric in RESOURCES.values())])

    def _gpu_use(self, view: View) -> Floats:
        """Driver's use; what a framework has reserved and does not need counts as room, where it tells its peak."""
        used, total = view.gpu("gpu_memory_used_bytes"), view.gpu("gpu_memory_total_bytes")
        unused = self._unused(view)
        self._told = ~np.isnan(unused)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray((used - np.where(self._told, unused, 0.0)) / total)

    def _unused(self, view: View) -> Floats:
        """Bytes that frameworks have reserved beyond their peak, along GPUs; unknown where none says so."""
        runs = self._runs.of(view) if self._runs is not None else None
        if runs is None or not len(runs.keys):
            return np.full(len(view.gpus), np.nan)
        column = runs.ranks.column
        spare = column("reserved_peak_bytes") - column("allocated_peak_bytes")
        told = ~np.isnan(spare) & (runs.gpu_of >= 0) & (view.now - column("received") <= TOLD_SECONDS)
        places, spare = runs.gpu_of[told], np.maximum(spare[told], 0.0)
        sums = np.bincount(places, spare, minlength=len(view.gpus))
        return np.where(np.bincount(places, minlength=len(view.gpus)) > 0, sums, np.nan)

    def _least_span(self, view: View) -> Floats:
        gpus = len(view.gpus)
        busy = view.gpu("gpu_utilization_ratio", 60)
        spans = np.zeros(len(self._kept.subjects))
        spans[:gpus] = np.where(self._told, 0.0, np.where(busy >= BUSY, BUSY_SPAN, IDLE_SPAN))
        return spans

    def _forget_ended(self, use: Floats, now: float) -> None:
        """A row whose use fell from the limit begins anew: its past level was no level that it can live with.

        One that fell before it was full, as foreseen, may have been restarted; if it does so again, it is a saw.
        """
        rows = np.flatnonzero(use < self.trail.newest.latest - 0.05)
        if not len(rows):
            return
        values = self.trail.newest.last(6, rows).high
        peak = np.fmax.reduce(values, axis=0)
        step = np.fmax.reduce(np.diff(values, axis=0, prepend=np.nan), axis=0)
        killed = (peak - use[rows] >= FALL) & ((peak >= OVER) | (peak + known_or(0.0, step) >= OVER))
        let_go = (peak - use[rows] >= FALL) & ~killed & self._kept["stands"][rows]
        self.trail.forget(rows[killed | (let_go & (self._teeth(rows, killed, let_go, now) < TEETH))])

    def _teeth(self, rows: Places, killed: Flags, let_go: Flags, now: float) -> Places:
        """How many teeth these rows have had by now."""
        teeth, time = self._kept["teeth"], self._kept["tooth_time"]
        teeth[rows[killed | (now - time[rows] > SAW_SECONDS)]] = 0
        teeth[rows[let_go]] += 1
        time[rows[let_go]] = now
        return np.asarray(teeth[rows])

    def _remember(self, found: Filling, use: Floats, now: float) -> None:
        """Hold on to a forecast while its growth goes on, or what it foresaw has come true."""
        kept, new = self._kept, found.enters
        stands = kept["stands"]
        if not (stands.any() or new.any()):  # as it is most of the time
            return
        self._learn(found, use)
        higher = new | (stands & (use >= kept["peak"] + 0.1 * np.maximum(1 - kept["peak"], 0.01)))  # unknown is not
        kept["peak"][higher], kept["peak_time"][higher] = use[higher], now
        rows = np.flatnonzero(stands | new)
        stands |= new
        stands[rows] = self._goes_on(rows, use[rows], now) | new[rows] | np.isnan(use[rows])

    def _learn(self, found: Filling, use: Floats) -> None:
        """What a new forecast says."""
        kept, new = self._kept, found.enters
        room = np.maximum(1 - use, 0.0)
        full = new & ~kept["stands"] & (room == 0)  # no time left, from which no speed follows
        for name in ("speed", "low", "high"):
            kept[name][full] = LEAST_ROOM * found.covered[full] / found.span[full]
        timed = new & (room > 0)
        for name, left in (("speed", found.left), ("low", found.left_high), ("high", found.left_low)):
            kept[name][timed] = room[timed] / left[timed]
        kept["left"][timed] = found.left[timed]
        again = kept["stands"] & new  # what is known already is not forgotten because another scale speaks as well
        for name, said in (("span", found.span), ("covered", found.covered)):
            kept[name][new] = np.where(again, np.fmax(kept[name], said), said)[new]
        kept["gain"][new] = self._gain(np.flatnonzero(new), use)
        kept["spread"][new] = self._spread(np.flatnonzero(new))

    def _goes_on(self, rows: Places, use: Floats, now: float) -> Flags:
        """Whether these rows still grow, or are full, and have not given back what they grew by."""
        span, left, gain, spread, speed, peak, peak_time = (
            self._kept[name][rows] for name in ("span", "left", "gain", "spread", "speed", "peak", "peak_time")
        )
        before = self.trail.newest.back(1, rows)[0]
        noise = AWAY_SPREADS * spread
        patience = np.fmax(np.fmax(60.0, 4 * known_or(0.0, now - before)), np.fmax(span, left) / 4)
        grows = now - peak_time <= np.fmax(patience, 2 * noise / speed)
        away = np.fmax(np.clip(AWAY_SHARE * gain, AWAY, MOST_AWAY), noise)
        return np.asarray((use >= np.fmin(peak, 0.98) - away) & (grows | (use >= FULL)))

    def _gain(self, rows: Places, use: Floats) -> Floats:
        """How much higher these rows are than at their lowest of the last day."""
        lows = self.trail.rings[-1].last(0, rows).low
        return np.asarray(use[rows] - np.fmin.reduce(lows, axis=0, initial=np.inf))

    def _spread(self, rows: Places) -> Floats:
        """How far single readings of these rows lie from the line of their growth, as a standard deviation."""
        steps = np.diff(self.trail.newest.last(SPREAD_READINGS, rows).high.astype(np.float64), axis=0).T
        away: Floats = deviation(steps) / np.sqrt(2)
        return known_or(0.0, away)

    def _full(self, use: Floats, left: Floats, now: float) -> Flags:
        """What was foreseen has come true: no room, or so little that it should have gone by now and is not."""
        over = (use >= FULL) & (now - self._kept["peak_time"] > np.fmax(TOLD_SECONDS, left))
        return np.asarray(self._kept["stands"] & ((use >= 1) | over))

    def _claims(self, found: Filling, use: Floats, now: float) -> Claims:
        kept = self._kept
        stands = kept["stands"]
        reached = np.fmax(use, np.where(use >= kept["peak"] - NOISE, kept["peak"], use))
        room = np.where(stands, np.maximum(1 - reached, 0.0), np.nan)
        with np.errstate(divide="ignore", invalid="ignore"):
            left, low, high = room / kept["speed"], room / kept["high"], room / kept["low"]
        full = self._full(use, left, now)
        left, low, high = (np.where(full, 0.0, seconds) for seconds in (left, low, high))
        covered = kept["covered"]
        by_driver = np.zeros(len(use), dtype=bool)  # known by the driver alone
        by_driver[: self._gpus] = ~self._told
        confidence = np.where(stands, np.minimum(covered / (1 + covered), np.where(by_driver, DRIVER_CAP, CAP)), 0.0)
        near = stands & (left <= np.where(kept["critical"], STILL_CRITICAL, 1.0) * self._critical)
        kept["critical"] = near
        severity = np.where(near, Severity.CRITICAL, Severity.WARNING).astype(np.int8)
        speed, span = kept["speed"].copy(), kept["span"].copy()

        def because(place: int) -> str:
            source = "; the driver's figure, which includes caches" if by_driver[place] else ""
            if full[place]:
                return f"{share(use[place])} used: it is full{source}"
            return (
                f"{share(use[place])} used, growing by {share(speed[place] * 60, 2)} of the capacity a minute for "
                f"{duration(span[place])}: full in {time_left(left[place], low[place], high[place])}{source}"
            )

        return Claims(
            kind=self.kinds[0], subjects=kept.subjects, enters=found.enters.copy(), stays=stands.copy(),
            confidence=confidence, known=~np.isnan(use), level=use, severity=severity, seconds_left=left,
            seconds_left_low=low, seconds_left_high=high, because=because,
            evidence={"used_ratio": use, "growth_ratio_per_second": speed, "grown_seconds": span},
        )  # fmt: skip
