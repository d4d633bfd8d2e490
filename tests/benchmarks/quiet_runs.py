"""How often ranks are called slow where nothing is wrong: step times with heavy tails, wandering, evaluation."""

import sys
import time
from collections import Counter

import numpy as np
from numpy.typing import NDArray

from flyball_collector.diagnosis.conditions import Conditions
from flyball_collector.diagnosis.event import State
from flyball_collector.diagnosis.forecast.testing import ArrayView, Machines
from flyball_collector.diagnosis.runs.onset import REPORTS
from flyball_collector.diagnosis.runs.paces import Paces
from flyball_collector.diagnosis.runs.run_view import Runs
from flyball_collector.diagnosis.runs.settings import RunSettings
from flyball_collector.diagnosis.runs.slow import SlowDetector
from flyball_collector.diagnosis.runs.stragglers import StragglerDetector
from flyball_collector.fleet.ranks import RankKey, Ranks

Floats = NDArray[np.float64]

KINDS = ("straggler", "fail_slow", "run_slow")
RANKS_OF_A_HOST = 8
TURN = 8
"""Reports between two looks; one a second."""

_HOSTS_OF_A_RUN = 4
_START = 1.7e9


class QuietRanks(Ranks):
    """A table whose reports are drawn: each rank has its own pace, and all of a run share some of their noise."""

    def __init__(self, hosts: int, seed: int) -> None:
        super().__init__(max_ranks=64)
        self._draw = np.random.default_rng(seed)
        places = np.arange(hosts * RANKS_OF_A_HOST)
        self._host_of, self._run_of = places // RANKS_OF_A_HOST, places // (RANKS_OF_A_HOST * _HOSTS_OF_A_RUN)
        runs = int(self._run_of.max()) + 1
        self._names = tuple(
            RankKey(f"run-{run:05}", int(place) % (RANKS_OF_A_HOST * _HOSTS_OF_A_RUN), f"host-{host:05}")
            for place, (host, run) in enumerate(zip(self._host_of.tolist(), self._run_of.tolist(), strict=True))
        )
        self._synchronous = self._draw.random(runs) < 0.5
        self._pace = np.where(self._synchronous[self._run_of], 0.0, self._draw.normal(0, 0.2, len(places)))
        self._spread = self._draw.uniform(0.005, 0.06, runs)
        self._together, self._alone = np.zeros(runs), np.zeros(len(places))
        self._logs: Floats = np.full((REPORTS, len(places)), np.nan)
        self._reports = 0
        self._now = _START

    def turn(self) -> float:
        """The next reports; returns the time of the last one."""
        shape = (TURN, len(self._names))
        spread = self._spread[self._run_of]
        own = ~self._synchronous[self._run_of]
        together = np.empty((TURN, len(self._together)))
        for at in range(TURN):
            self._together = 0.98 * self._together + self._draw.normal(0, 0.06, len(self._together)) * self._spread
            together[at] = self._together + self._draw.normal(0, 1, len(self._together)) * self._spread
        self._alone = 0.95 * self._alone + self._draw.normal(0, 0.1, len(own)) * spread
        noise = together[:, self._run_of] + np.where(own, self._alone + self._draw.normal(0, 1, shape) * spread, 0.002)
        tail = self._draw.random(shape) < np.where(own, 0.02, 0.0)
        noise += tail * self._draw.exponential(1.0, shape)
        evaluates = (self._reports + 97 * self._run_of) % 1800 < 6 * TURN  # all ranks of a run, for some 48 reports
        noise += np.where(evaluates, 0.5, 0.0)
        self._logs = np.concatenate([self._logs[TURN:], self._pace + noise])[-REPORTS:]
        self._reports += TURN
        self._now += TURN
        return self._now

    @property
    def keys(self) -> tuple[RankKey, ...]:
        return self._names

    @property
    def counts(self) -> NDArray[np.int64]:
        return np.full(len(self._names), self._reports)

    def __len__(self) -> int:
        return len(self._names)

    def column(self, name: str) -> Floats:
        value = {"at": self._now, "longest_gap": 1.0}.get(name, np.nan)
        return np.full(len(self._names), value)

    def mean(self, name: str) -> Floats:  # noqa: ARG002  nothing else is reported
        return np.full(len(self._names), np.nan)

    def ring(self, name: str, reports: int, places: NDArray[np.int64] | None = None) -> NDArray[np.float32]:
        values = (
            np.exp(self._logs[-reports:]) if name == "step_seconds" else np.full_like(self._logs[-reports:], np.nan)
        )
        return (values if places is None else values[:, places]).astype(np.float32)

    def times(self, reports: int, places: NDArray[np.int64] | None = None) -> Floats:
        count = len(self._names) if places is None else len(places)
        return np.repeat(self._now - np.arange(reports - 1.0, -1.0, -1.0)[:, None], count, axis=1)


class _View(ArrayView):
    def __init__(self, machines: Machines, now: float, ranks: Ranks) -> None:
        super().__init__(machines, now)
        self._table = ranks

    @property
    def ranks(self) -> Ranks:
        return self._table


def alerts_of_steps(hosts: int, seconds: int, seed: int) -> Counter[str]:
    """Alerts by kind, through the detectors and the conditions that serve a fleet."""
    ranks, machines, runs = QuietRanks(hosts, seed), Machines(hosts), Runs()
    settings = RunSettings()
    paces = Paces(runs, settings.slower_ratio)
    detectors = (StragglerDetector(settings, paces), SlowDetector(settings, paces))
    conditions = Conditions()
    alerts: Counter[str] = Counter()
    for _ in range(seconds // TURN):
        view = _View(machines, ranks.turn(), ranks)
        claims = [claim for detector in detectors for claim in detector.observe(view)]
        events = conditions.take(claims, view.now_ns)
        alerts.update(event.kind.name for event in events if event.state is State.RAISED)
    return alerts


if __name__ == "__main__":
    count, hours = int(sys.argv[1]), float(sys.argv[2])
    started = time.process_time()
    found = alerts_of_steps(count, int(hours * 3600), 7)
    days = count * hours / 24
    print(f"{days:.0f} host-days, {time.process_time() - started:.0f} s of CPU")
    for kind in KINDS:
        print(f"{kind}: {found[kind]} alerts, {1000 * found[kind] / days:.2f} per 1,000 host-days")
