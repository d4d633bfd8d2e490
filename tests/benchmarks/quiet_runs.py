"""Count how often ranks are reported as slow without a cause, and measure how soon slow ranks are reported.

Step times with heavy tails, wandering, a daily drift, evaluation, checkpoints, restarts, and ranks that always are
slower. Half of the runs wait for each other at every step.
"""

import sys
import time
from collections import Counter
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from flyball_collector.diagnosis.conditions import Conditions
from flyball_collector.diagnosis.event import Event, State
from flyball_collector.diagnosis.forecast.testing import ArrayView, Machines
from flyball_collector.diagnosis.runs.rank_baselines import REPORTS
from flyball_collector.diagnosis.runs.run_view import Runs
from flyball_collector.diagnosis.runs.settings import RunSettings
from flyball_collector.diagnosis.runs.slow_ranks import SlowDetector
from flyball_collector.diagnosis.runs.step_times import StepTimeTracker, StepTimeUpdater
from flyball_collector.diagnosis.runs.stragglers import StragglerDetector
from flyball_collector.fleet.ranks import RankKey, Ranks

Floats = NDArray[np.float64]
_Numbers = TypeVar("_Numbers", NDArray[np.float32], NDArray[np.float64])

KINDS = ("straggler", "fail_slow", "run_slow")
RANKS_OF_A_HOST = 8
RANKS_OF_A_RUN = 32
TURN = 8
"""Reports between two looks, unless a benchmark looks after each."""

_START = 1.7e9
_DAY = 86_400.0


class QuietRanks(Ranks):
    """A table whose reports are drawn, one every so many seconds of each rank."""

    def __init__(self, hosts: int, seed: int, every_seconds: float = 1.0) -> None:
        super().__init__(max_ranks=64)
        draw = self._draw = np.random.default_rng(seed)
        count = hosts * RANKS_OF_A_HOST
        places = np.arange(count)
        self.run_of = places // RANKS_OF_A_RUN
        runs = self._runs = int(self.run_of.max()) + 1
        self._names = tuple(
            RankKey(f"run-{place // RANKS_OF_A_RUN:05}", place % RANKS_OF_A_RUN, f"host-{place // RANKS_OF_A_HOST:05}")
            for place in range(count)
        )
        self.alone = (draw.random(runs) < 0.5)[self.run_of]  # ranks that go at their own pace
        slower = np.where(draw.random(count) < 0.1, draw.uniform(0.1, 0.7, count), 0.0)  # and always were
        self._pace = np.where(self.alone, draw.normal(0, 0.1, count) + slower, 0.0)
        spread = _magnitudes(draw, 0.003, 0.06, runs)
        self._run_white = spread.astype(np.float32)
        self._white = np.where(self.alone, spread[self.run_of], 0.002).astype(np.float32)
        self._tails = np.where(self.alone, draw.uniform(0, 0.03, runs)[self.run_of], 0.0)
        self._run_wander, self._wander = np.zeros(runs), np.zeros(count)
        self._run_keep, self._keep = (np.exp(-1 / _magnitudes(draw, 3, 300, n)) for n in (runs, count))  # looks
        self._run_wide = _magnitudes(draw, 0.002, 0.03, runs)
        self._wide = np.where(self.alone, np.minimum(_magnitudes(draw, 0.002, 0.03, count), 2 * self._white), 0.0)
        self._drift, self._phase = draw.uniform(0, 0.04, runs), draw.random(runs)
        self._evaluation = (
            draw.uniform(900, 10_800, runs), draw.uniform(20, 240, runs), draw.uniform(-0.5, 0.7, runs),
            draw.random(runs) * 10_800,
        )  # fmt: skip
        self._checkpoints = draw.uniform(600, 7200, runs), draw.uniform(0.5, 2.0, runs)
        self._rests = np.zeros(runs)  # seconds until a run that was stopped goes on
        self._warms = np.zeros(runs)  # how much slower its first steps are
        self._fault = np.zeros(count)
        self._logs: NDArray[np.float32] = np.full((REPORTS, count), np.nan, dtype=np.float32)
        self._made = np.zeros(count, dtype=np.int64)
        self._newest = np.full(count, _START)
        self._times = np.full((REPORTS, count), np.nan)
        self._longest_gap = np.zeros(count)
        self._every = every_seconds
        self._now = _START
        self.reports_each_time = TURN

    def slow_down(self, places: NDArray[np.int64], ratio: float | Floats) -> None:
        """From now on these ranks are slower; a whole run is where its ranks wait for each other."""
        self._fault[places] += np.log(ratio)

    def turn(self) -> float:
        """The next reports; returns the time of the last one."""
        draw, shape = self._draw, (self.reports_each_time, len(self._names))
        times: Floats = self._now + self._every * np.arange(1.0, shape[0] + 1)
        together = self._together(times)
        keep = self._keep ** (shape[0] / TURN)
        self._wander = keep * self._wander + draw.normal(size=shape[1]) * self._wide * np.sqrt(1 - keep**2)
        logs = draw.standard_normal(shape, dtype=np.float32) * self._white
        tails = draw.integers(0, shape[0] * shape[1], int(self._tails.sum() * shape[0]))
        logs.reshape(-1)[tails] += self.alone[tails % shape[1]] * draw.exponential(0.7, len(tails))
        logs += together[:, self.run_of] + (self._pace + self._wander + self._fault).astype(np.float32)
        self._now = float(times[-1])
        runs_on = (self._rests <= 0)[self.run_of]
        self._logs = _after(self._logs, logs, runs_on)
        self._times = _after(self._times, np.repeat(times[:, None], shape[1], axis=1), runs_on)
        gaps = np.where(self._made > 0, times[0] - self._newest, 0.0)[runs_on]
        self._longest_gap[runs_on] = np.maximum(0.998 ** shape[0] * self._longest_gap[runs_on], gaps)
        self._made += shape[0] * runs_on
        self._newest[runs_on] = self._now
        return self._now

    def _together(self, times: Floats) -> NDArray[np.float32]:
        """Return the time that all ranks of a run share, report × run."""
        draw, runs, length = self._draw, self._runs, len(times) * self._every
        self._rests -= length
        stops = draw.random(runs) < 1.0 * length / _DAY  # once a day
        self._rests[stops] = draw.uniform(60, 280, int(stops.sum()))
        self._warms = np.where(stops, draw.uniform(0, 1, runs), self._warms * np.where(self._rests > 0, 1, 0.5))
        keep = self._run_keep ** (len(times) / TURN)
        shocks = draw.normal(size=runs) * self._run_wide * np.sqrt(1 - keep**2)
        self._run_wander = keep * self._run_wander + shocks
        slow = self._run_wander + self._warms + self._drift * np.sin(2 * np.pi * (times[-1] / _DAY + self._phase))
        period, lasts, height, offset = self._evaluation
        evaluates = (times[:, None] + offset) % period < lasts
        saves, costs = self._checkpoints
        logs = slow + height * evaluates + costs * ((times[:, None] + offset) % saves < self._every)
        white = draw.standard_normal((len(times), runs), dtype=np.float32) * self._run_white
        together: NDArray[np.float32] = logs.astype(np.float32) + white
        return together

    @property
    def keys(self) -> tuple[RankKey, ...]:
        return self._names

    @property
    def counts(self) -> NDArray[np.int64]:
        return self._made

    def __len__(self) -> int:
        return len(self._names)

    def column(self, name: str) -> Floats:
        if name == "at":
            return self._newest
        return self._longest_gap if name == "longest_gap" else np.full(len(self._names), np.nan)

    def mean(self, name: str) -> Floats:  # noqa: ARG002  nothing else is reported
        return np.full(len(self._names), np.nan)

    def steady_mean(self, name: str, places: NDArray[np.int64]) -> Floats:
        return self.mean(name)[places]

    def ring(self, name: str, reports: int, places: NDArray[np.int64] | None = None) -> NDArray[np.float32]:
        if name != "step_seconds":
            return np.full_like(self._logs[-reports:], np.nan)
        values = self._logs[-reports:]
        return np.exp(values if places is None else values[:, places])

    def times(self, reports: int, places: NDArray[np.int64] | None = None) -> Floats:
        times = self._times[-reports:]
        return times if places is None else times[:, places]


class _View(ArrayView):
    def __init__(self, machines: Machines, now: float, ranks: Ranks) -> None:
        super().__init__(machines, now)
        self._table = ranks

    @property
    def ranks(self) -> Ranks:
        return self._table


class Watch:
    """The detectors and the conditions that serve a fleet."""

    def __init__(self, ranks: QuietRanks, hosts: int) -> None:
        self._ranks, self._machines = ranks, Machines(hosts)
        settings, runs = RunSettings(), Runs()
        step_times = StepTimeTracker(runs, settings.slower_ratio)
        self._detectors = (
            StepTimeUpdater(step_times),
            StragglerDetector(settings, step_times),
            SlowDetector(settings, step_times),
        )
        self._conditions = Conditions()

    def look(self) -> list[Event]:
        """After the next reports: what is raised."""
        view = _View(self._machines, self._ranks.turn(), self._ranks)
        claims = [claim for detector in self._detectors for claim in detector.observe(view)]
        return [event for event in self._conditions.apply(claims, view.now_ns) if event.state is State.RAISED]


def alerts_of_steps(hosts: int, days: float, every_seconds: float, seed: int) -> Counter[str]:
    """Alerts by kind where nothing is wrong."""
    watch = Watch(QuietRanks(hosts, seed, every_seconds), hosts)
    alerts: Counter[str] = Counter()
    for _ in range(int(days * _DAY / every_seconds) // TURN):
        alerts.update(event.kind.name for event in watch.look())
    return alerts


def _after(before: _Numbers, newest: _Numbers, runs_on: NDArray[np.bool_]) -> _Numbers:
    """The latest reports; a rank that is stopped makes none."""
    moved = np.concatenate([before[len(newest) :], newest])
    return moved if runs_on.all() else np.where(runs_on, moved, before)


def _magnitudes(draw: np.random.Generator, low: float, high: float, count: int) -> Floats:
    """Drawn evenly over the orders of magnitude."""
    return np.exp(draw.uniform(np.log(low), np.log(high), count))


if __name__ == "__main__":
    count, length, every = int(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3])
    started = time.process_time()
    found = alerts_of_steps(count, length, every, int(sys.argv[4]) if len(sys.argv) > 4 else 7)
    print(f"{count * length:.0f} host-days, {time.process_time() - started:.0f} s of CPU")
    for kind in KINDS:
        print(f"{kind}: {found[kind]} alerts, {1000 * found[kind] / (count * length):.2f} per 1,000 host-days")
