"""Every signal along hosts, smoothed over seconds, and what was the best that a host ever did."""

import numpy as np
from numpy.typing import NDArray

from flyball_collector.diagnosis.keeping import Kept
from flyball_collector.diagnosis.scores.quantities import SIGNALS, Floats, Signal, Sources, ratio_of
from flyball_collector.diagnosis.scores.rates import Rates
from flyball_collector.diagnosis.scores.steps import Steps
from flyball_collector.diagnosis.seen_metrics import SeenMetrics
from flyball_collector.diagnosis.unknown import known_or
from flyball_collector.diagnosis.view import View

PLACES = {signal.name: place for place, signal in enumerate(SIGNALS)}

HOLD_SECONDS, STEPS_HOLD_SECONDS = 10.0, 60.0
"""How long a signal stands that has become unknown; steps may take long."""

MEDIAN_OF = 5
"""Readings behind a median: two late ones of a busy machine do not count, nor two early ones of a full link."""

DRIFT_A_MINUTE = 0.01
"""By so much a run's best computing time is let go: batches and sequences change."""

UNCONTENDED = 0.15
"""CPU pressure below which a computing time counts as a run's own."""


class Signals:
    """Every signal along hosts, smoothed; NaN is unknown. Ask it by name."""

    def __init__(self, smoothing_seconds: float) -> None:
        count = len(SIGNALS)
        self._rates = Rates()
        self._steps = Steps()
        self._taus = smoothing_seconds * np.array([signal.times for signal in SIGNALS])
        self._holds = np.array([HOLD_SECONDS if s.read.needs else STEPS_HOLD_SECONDS for s in SIGNALS])
        self._medians = np.flatnonzero([signal.median for signal in SIGNALS])
        self._kept = Kept(
            means=((count,), float("nan")),
            seen=((count,), float("-inf")),
            recent=((len(self._medians), MEDIAN_OF), float("nan")),  # their latest readings, oldest first
            last=float("nan"),  # when each host was last looked at
            looks=0,
            best=float("nan"),
            best_data=float("nan"),
            best_service=float("nan"),
            shortest=float("nan"),
        )
        self._heard = np.zeros(count, dtype=np.bool_)
        self._met = -1
        self._readable: list[tuple[int, Signal]] = []  # with their places
        self.hosts = self._kept.subjects
        self.raw: dict[str, Floats] = {}
        self.rates = self._rates

    def look(self, view: View) -> None:
        """Take a second."""
        self._kept.align(view.hosts)
        self.hosts = view.hosts
        self._rates.look(view)
        sources = Sources(view, self._rates, self._steps.read(view))
        values = np.full((len(view.hosts), len(SIGNALS)), np.nan)
        for place, signal in self._those_of(view.met):
            values[:, place] = signal.read.of(sources)
        self._heard |= ~np.isnan(values).all(axis=0)
        self.raw = dict(zip(PLACES, values.T, strict=True))
        self._smooth(values, view.now)
        self._kept["looks"] = np.where(view.alive, np.minimum(self._kept["looks"] + 1, 1000), 0)
        self._note_best()

    def heard(self, *names: str) -> bool:
        """Whether any of these signals has ever been known anywhere."""
        return any(self._heard[PLACES[name]] for name in names)

    def _those_of(self, met: SeenMetrics) -> list[tuple[int, Signal]]:
        """The signals that can be known where these metrics were met."""
        if len(met) != self._met:
            self._met = len(met)
            self._readable = [(place, signal) for place, signal in enumerate(SIGNALS) if met.any_of(signal.read.needs)]
        return self._readable

    def __getitem__(self, name: str) -> Floats:
        return np.asarray(self._kept["means"][:, PLACES[name]])

    @property
    def looks(self) -> NDArray[np.int64]:
        """How many times in a row each host had something to say."""
        return self._kept["looks"]

    @property
    def slowdown(self) -> Floats:
        """Share of the steps' computing time beyond the shortest that this host saw while its CPUs were free."""
        now, best = self["compute_seconds"], self._kept["best"]
        return np.asarray(np.maximum(1.0 - ratio_of(best, now), 0.0))

    @property
    def waiting(self) -> Floats:
        """Share of the steps' time in which they wait for input, services and collectives; 0 where nobody says so."""
        told = known_or(0.0, self["data_share"]) + known_or(0.0, self["service_share"])
        return np.asarray(np.minimum(told + known_or(0.0, self["communication_share"]), 1.0))

    @property
    def data_loss(self) -> Floats:
        """Share of the steps' time spent waiting for input beyond the shortest wait that this host saw."""
        return self._beyond_best("data")

    @property
    def service_loss(self) -> Floats:
        """The same of calls to services."""
        return self._beyond_best("service")

    def _beyond_best(self, what: str) -> Floats:
        lost = 1.0 - ratio_of(self._kept[f"best_{what}"], self[f"{what}_seconds"])
        return np.asarray(np.maximum(lost, 0.0) * self[f"{what}_share"])

    @property
    def latency_growth(self) -> Floats:
        """Round trip as a multiple of the shortest known here."""
        return ratio_of(self["latency"], np.maximum(self._kept["shortest"], 1e-4))

    def _smooth(self, values: Floats, now: float) -> None:
        means, seen, last = self._kept["means"], self._kept["seen"], self._kept["last"]
        passed = known_or(0.0, now - last)[:, None]
        known = ~np.isnan(values)
        since = np.where(np.isinf(seen), passed, now - seen)  # reports may come seldom: what they say counts for all
        weights = 1.0 - np.exp(-np.maximum(since, 0.0) / self._taus)
        moved = means + (values - means) * weights
        moved[:, self._medians] = self._median(values[:, self._medians])
        moved = np.where(np.isnan(means), values, moved)
        stale = ~known & (now - seen > np.maximum(self._holds, 3 * passed))
        self._kept["means"] = np.where(known, moved, np.where(stale, np.nan, means))
        self._kept["seen"] = np.where(known, now, seen)
        self._kept["last"] = np.full(len(last), now)
        self._passed = passed[:, 0]

    def _median(self, values: Floats) -> Floats:
        """Of the latest readings of those signals; of an even number the smaller of both in the middle."""
        recent = self._kept["recent"]
        known = ~np.isnan(values)
        recent[known] = np.concatenate([recent[known][:, 1:], values[known][:, None]], axis=1)
        ordered = np.sort(recent, axis=-1)  # what is unknown comes last
        middle = np.maximum((~np.isnan(recent)).sum(axis=-1) - 1, 0) // 2
        return np.asarray(np.take_along_axis(ordered, middle[..., None], axis=-1)[..., 0])

    def _note_best(self) -> None:
        """The shortest computing time of steps while the CPUs were free, wait for input, calls, and round trip."""
        kept, drift = self._kept, 1 + DRIFT_A_MINUTE * self._passed / 60
        now = self["compute_seconds"]
        free = (self["cpu_some"] <= UNCONTENDED) & (self.raw["cpu_some"] <= UNCONTENDED)
        kept["best"] = np.where(np.isnan(now), np.nan, np.where(free, np.fmin(kept["best"] * drift, now), kept["best"]))
        for what in ("data", "service"):
            spent, best = self[f"{what}_seconds"], f"best_{what}"
            kept[best] = np.where(np.isnan(spent), np.nan, np.fmin(kept[best] * drift, spent))
        kept["shortest"] = np.fmin(kept["shortest"] * drift, self.raw["latency"])
