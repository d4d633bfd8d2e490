"""Keeps all signals along hosts, smoothed over seconds, and the best values that each host reached."""

import numpy as np
from numpy.typing import NDArray

from flyball_collector.diagnosis.scores.rates import Rates
from flyball_collector.diagnosis.scores.signal_list import SIGNALS, Floats, Signal, Sources, ratio_of
from flyball_collector.diagnosis.scores.steps import Steps
from flyball_collector.diagnosis.seen_metrics import SeenMetrics
from flyball_collector.diagnosis.subject_arrays import SubjectArrays
from flyball_collector.diagnosis.unknown_values import known_or
from flyball_collector.diagnosis.view import View

Flags = NDArray[np.bool_]

PLACES = {signal.name: place for place, signal in enumerate(SIGNALS)}

HOLD_SECONDS, STEPS_HOLD_SECONDS = 10.0, 60.0
"""How long a signal keeps its value after it became unknown. Steps may take long."""

MEDIAN_OF = 5
"""Readings in a median. Two late readings of a busy machine or two early ones of a full link do not change it."""

DRIFT_A_MINUTE = 0.01
"""How fast the best computing time of a run is forgotten, because batches and sequences change."""

ROUND_TRIPS = ("latency", "answer", "mixed_latency")
"""The signals whose shortest value is kept."""

_AT_ONCE = 32_768
"""Values that are smoothed at once: a few arrays of so many fit into the second cache of a core."""

UNCONTENDED = 0.15
"""A computing time counts as undisturbed below this CPU pressure."""


class Signals:
    """All signals along hosts, smoothed; NaN is unknown. Signals are read by name."""

    def __init__(self, smoothing_seconds: float) -> None:
        count = len(SIGNALS)
        self._rates = Rates()
        self._steps = Steps()
        self._taus = smoothing_seconds * np.array([signal.times for signal in SIGNALS])
        self._different_taus, self._tau_of = np.unique(self._taus, return_inverse=True)
        self._holds = np.array([HOLD_SECONDS if s.read.needs else STEPS_HOLD_SECONDS for s in SIGNALS])
        self._medians = np.flatnonzero([signal.median for signal in SIGNALS])
        self._kept = SubjectArrays(
            means=((count,), float("nan")),
            seen=((count,), float("-inf")),
            recent=((len(self._medians), MEDIAN_OF), float("nan")),  # of the median signals, oldest first
            last=float("nan"),  # time of each host's last update
            updates=0,
            best=float("nan"),
            best_data=float("nan"),
            best_service=float("nan"),
            **{f"shortest_{name}": float("nan") for name in ROUND_TRIPS},
        )
        self._known = np.zeros(count, dtype=np.bool_)
        self._seen_count = -1
        self._readable: list[tuple[int, Signal]] = []  # with their positions
        self.hosts = self._kept.subjects
        self.raw: dict[str, Floats] = {}
        self.rates = self._rates

    def update(self, view: View) -> None:
        """Take the readings of a second."""
        self._kept.align(view.hosts)
        self.hosts = view.hosts
        self._rates.update(view)
        sources = Sources(view, self._rates, self._steps.read(view))
        values = np.full((len(view.hosts), len(SIGNALS)), np.nan, order="F")  # as in `_kept`
        for place, signal in self._readable_with(view.seen_metrics):
            values[:, place] = found = signal.read.of(sources)
            self._known[place] = self._known[place] or not np.isnan(found).all()
        self.raw = dict(zip(PLACES, values.T, strict=True))
        self._smooth(values, view.now)
        self._kept["updates"] = np.where(view.alive, np.minimum(self._kept["updates"] + 1, 1000), 0)
        self._note_best()

    def ever_known(self, *names: str) -> bool:
        """Return True if any of these signals was ever known for any host."""
        return any(self._known[PLACES[name]] for name in names)

    def _readable_with(self, seen: SeenMetrics) -> list[tuple[int, Signal]]:
        """Return the signals that can be known with these metrics."""
        if len(seen) != self._seen_count:
            self._seen_count = len(seen)
            self._readable = [(place, signal) for place, signal in enumerate(SIGNALS) if seen.any_of(signal.read.needs)]
        return self._readable

    def __getitem__(self, name: str) -> Floats:
        return np.asarray(self._kept["means"][:, PLACES[name]])

    @property
    def paused(self) -> Flags:
        """Return the hosts on which adjustments pause all ranks now."""
        return self._steps.paused

    @property
    def updates(self) -> NDArray[np.int64]:
        """For each host, the number of updates in a row in which it reported."""
        return self._kept["updates"]

    @property
    def slowdown(self) -> Floats:
        """The share of the computing time beyond the shortest that the host had while its CPUs were free."""
        now, best = self["compute_seconds"], self._kept["best"]
        return np.asarray(np.maximum(1.0 - ratio_of(best, now), 0.0))

    @property
    def waiting(self) -> Floats:
        """The share of the step time spent waiting for input, services and collectives; 0 if not reported."""
        waits = known_or(0.0, self["data_share"]) + known_or(0.0, self["service_share"])
        return np.asarray(np.minimum(waits + known_or(0.0, self["communication_share"]), 1.0))

    @property
    def data_loss(self) -> Floats:
        """The share of the step time spent waiting for input beyond the shortest wait that the host had."""
        return self._beyond_best("data")

    @property
    def service_loss(self) -> Floats:
        """The share of the step time spent in calls to services beyond the shortest time that the host had."""
        return self._beyond_best("service")

    def _beyond_best(self, what: str) -> Floats:
        lost = 1.0 - ratio_of(self._kept[f"best_{what}"], self[f"{what}_seconds"])
        return np.asarray(np.maximum(lost, 0.0) * self[f"{what}_share"])

    def growth_of(self, name: str) -> Floats:
        """Return one of `ROUND_TRIPS` as a multiple of the shortest known one."""
        return ratio_of(self[name], np.maximum(self._kept[f"shortest_{name}"], 1e-4))

    def _smooth(self, values: Floats, now: float) -> None:
        last = self._kept["last"]
        passed = known_or(0.0, now - last)[:, None]
        share = 1.0 - np.exp(-np.maximum(passed, 0.0) / self._different_taus)
        width = max(1, _AT_ONCE // max(len(values), 1))
        for first in range(0, len(SIGNALS), width):
            if self._known[first : first + width].any():
                self._smooth_some(values, slice(first, first + width), now, passed, share)
        last[:] = now
        self._passed = passed[:, 0]

    def _smooth_some(self, values: Floats, of: slice, now: float, passed: Floats, share: Floats) -> None:
        """Smooth some of the signals: in parts that stay in the processor's cache."""
        values, means, seen = values[:, of], self._kept["means"][:, of], self._kept["seen"][:, of]
        unknown, ages = np.isnan(values), now - seen
        known = ~unknown
        moved = values - means
        moved *= self._weights(of, known, ages, passed, share)
        moved += means
        for number, place in enumerate(self._medians.tolist()):
            if self._known[place] and of.start <= place < of.stop:
                at = place - of.start
                moved[:, at] = median_with(self._kept["recent"][:, number], values[:, at], known[:, at])
        np.copyto(moved, values, where=np.isnan(means))
        stale = unknown & (ages > np.maximum(self._holds[of], 3 * passed))
        np.copyto(means, np.nan, where=stale)
        np.copyto(means, moved, where=known)
        np.copyto(seen, now, where=known)

    def _weights(self, of: slice, known: Flags, ages: Floats, passed: Floats, share: Floats) -> Floats:
        """Return the weight of each known value. A rare report counts for all the time since the last one.

        Most signals were known in the second before, so few exponentials differ. `share` has the others.
        """
        weights = share.T[self._tau_of[of]].T
        signals, hosts = np.nonzero((known & (ages != passed) & np.isfinite(ages)).T)
        taus = self._taus[of][signals]
        weights[hosts, signals] = 1.0 - np.exp(-np.maximum(ages[hosts, signals], 0.0) / taus)
        return weights

    def _note_best(self) -> None:
        """Note the shortest computing time with free CPUs, and the shortest wait, calls and round trip."""
        kept, drift = self._kept, 1 + DRIFT_A_MINUTE * self._passed / 60
        now = self["compute_seconds"]
        free = (self["cpu_some"] <= UNCONTENDED) & (self.raw["cpu_some"] <= UNCONTENDED)
        kept["best"] = np.where(np.isnan(now), np.nan, np.where(free, np.fmin(kept["best"] * drift, now), kept["best"]))
        for what in ("data", "service"):
            spent, best = self[f"{what}_seconds"], f"best_{what}"
            kept[best] = np.where(np.isnan(spent), np.nan, np.fmin(kept[best] * drift, spent))
        for name in ROUND_TRIPS:
            if self.ever_known(name):
                kept[f"shortest_{name}"] = np.fmin(kept[f"shortest_{name}"] * drift, self.raw[name])


def median_with(recent: Floats, values: Floats, known: Flags) -> Floats:
    """Return the lower median of the latest readings of one signal (host × reading) with these new ones."""
    for earlier, later in zip(recent.T, recent.T[1:], strict=False):
        np.copyto(earlier, later, where=known)
    np.copyto(recent[:, -1], values, where=known)
    found = _middle_of_five(recent)
    rows = np.flatnonzero(np.isnan(found))  # with fewer readings
    if len(rows):
        ordered = np.sort(recent[rows], axis=1)  # unknown values last
        middle = np.maximum(np.count_nonzero(~np.isnan(ordered), axis=1) - 1, 0) // 2
        found[rows] = ordered[np.arange(len(rows)), middle]
    return found


def _middle_of_five(recent: Floats) -> Floats:
    """Return the median of five columns, unknown if one of them is: far less work than sorting rows."""
    a, b, c, d, e = recent.T
    low = np.maximum(np.minimum(a, b), np.minimum(c, d))
    high = np.minimum(np.maximum(a, b), np.maximum(c, d))  # neither the least nor the largest of four is the median
    return np.asarray(np.maximum(np.minimum(low, high), np.minimum(np.maximum(low, high), e)))
