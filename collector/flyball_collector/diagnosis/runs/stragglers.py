"""Detects ranks that hold up their run.

In synchronous training, collectives make all steps equally long. So the parts that do not wait for others are compared:
a rank's own sections, its wait for input, and the clock and idle time of its GPU. The straggler starts its collectives
last and therefore waits in them least. If ranks do not wait for each other, no rank is a straggler; a slower one is
fail-slow.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flyball_collector.diagnosis.claims import Claims
from flyball_collector.diagnosis.kinds import BY_NAME
from flyball_collector.diagnosis.runs.quick_stragglers import QuickStragglers
from flyball_collector.diagnosis.runs.run_view import RunView
from flyball_collector.diagnosis.runs.settings import RunSettings
from flyball_collector.diagnosis.runs.step_times import StepTimes, StepTimeTracker
from flyball_collector.diagnosis.seen_metrics import ANY_STEP
from flyball_collector.diagnosis.subject_arrays import SubjectArrays
from flyball_collector.diagnosis.view import View

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

_SPREADS = 4.0
_LEAST_SPREAD = 0.02  # of the peers' own work
_OF_STEP = 0.05  # least share of the step that a straggler adds
_SLOW_CLOCK = 0.9  # of its peers' clock
_FEW = 20  # reports


@dataclass(frozen=True, eq=False)
class _Signs:
    """The signs of a straggler in a synchronous run, along ranks."""

    own: Floats  # seconds a step of its own work
    own_peers: Floats
    slow_work: Flags
    slow_input: Flags
    slow_clock: Flags
    idle: Flags
    waits_least: Flags
    waits_more: Flags
    clock_ratio: Floats
    input_ratio: Floats  # share of the step that the rank waits for input
    quick: Flags  # its latest reports show it, which the means do not show yet
    quick_ratio: Floats

    @property
    def any(self) -> Flags:
        """Return True if there is a sign, and the rank does not wait for others more than they do."""
        return (self.slow_work | self.slow_input | self.slow_clock | self.idle) & ~self.waits_more

    @property
    def confidence(self) -> Floats:
        """Add the odds of each sign. A single sign proves little unless it is the rank's own work."""
        odds = (
            np.where(self.slow_work | self.quick, 1.4, 0.0)
            + np.where(self.slow_input, 0.4, 0.0)
            + np.where(self.slow_clock, 0.4, 0.0)
            + np.where(self.idle, 0.2, 0.0)
            + np.where(self.waits_least, 1.2, 0.0)
        )
        sure: Floats = 1 / (1 + np.exp(-odds))
        return sure


class StragglerDetector:
    """Reports `straggler`."""

    name = "straggler"
    kinds = (BY_NAME["straggler"],)
    needs: Sequence[str] = (ANY_STEP,)

    def __init__(self, settings: RunSettings, step_times: StepTimeTracker) -> None:
        self._settings = settings
        self._step_times = step_times
        self._kept = SubjectArrays(since=float("nan"))
        self._quick = QuickStragglers(settings.straggler_ratio)

    def observe(self, view: View) -> Iterable[Claims]:
        times = self._step_times.of(view)
        if times is None or not len(times.runs.keys):
            return ()
        self._quick.update(times)
        signs = self._find_signs(view, times)
        together = times.in_step & (times.runs.ranks.counts >= _FEW) & times.fresh
        late = (together & signs.any) | signs.quick
        self._kept.align(times.runs.subjects)
        since = self._kept["since"]
        since[~late] = np.nan
        since[late & np.isnan(since)] = view.now
        held = signs.quick | (late & (view.now - since >= self._settings.straggler_seconds))
        return (
            Claims(
                kind=self.kinds[0],
                subjects=times.runs.subjects,
                enters=held,
                stays=late,
                known=times.fresh & (times.runs.known(times.now) >= 2)[times.runs.run_of],
                confidence=signs.confidence,
                because=lambda place: _words(times, signs, place),
                evidence={
                    "step_seconds": times.now,
                    "peers_step_seconds": times.peers,
                    "step_ratio": np.exp(times.shift),
                    "own_seconds": np.where(
                        signs.quick & ~signs.slow_work, signs.own_peers * signs.quick_ratio, signs.own
                    ),
                    "peers_own_seconds": signs.own_peers,
                    "clock_ratio": signs.clock_ratio,
                    "data_wait_ratio": signs.input_ratio,
                },
            ),
        )

    def _find_signs(self, view: View, times: StepTimes) -> _Signs:
        runs = times.runs
        own, peers, slow_work = self._work(times)
        waiting = times.steady["waiting_seconds"]
        usual_waiting = runs.median(waiting)[runs.run_of]
        input_ratio = times.steady["data_wait_seconds"] / times.now
        clock, busy = _of_gpu(view, runs, "gpu_sm_clock_hertz"), _of_gpu(view, runs, "gpu_utilization_ratio")
        clock_ratio = clock / runs.median(clock)[runs.run_of]
        usual_busy = runs.median(busy)[runs.run_of]
        margin = _OF_STEP * times.peers
        return _Signs(
            own,
            peers,
            slow_work,
            input_ratio - runs.median(input_ratio)[runs.run_of] >= 2 * _OF_STEP,
            (clock_ratio < _SLOW_CLOCK) & (busy >= 0.5),
            (usual_busy >= 0.9) & (busy < 0.8 * usual_busy),
            waiting < usual_waiting - margin / 2,
            waiting > usual_waiting + margin / 2,
            clock_ratio,
            input_ratio,
            self._quick.stragglers,
            self._quick.ratio,
        )

    def _work(self, times: StepTimes) -> tuple[Floats, Floats, Flags]:
        """Return the own work, the peers' work, and whether the own work is far beyond theirs."""
        runs = times.runs
        own = np.where(times.fresh, times.steady["own_seconds"], np.nan)
        if np.isnan(own).all():
            return own, own, np.zeros(len(own), dtype=bool)
        median = runs.median(own)
        peers = median[runs.run_of]
        spread = np.maximum(runs.spread(own, median)[runs.run_of], _LEAST_SPREAD * peers)
        excess = own - peers
        beyond = excess >= np.maximum(_SPREADS * spread, self._settings.straggler_ratio * peers)
        return own, peers, beyond & (excess >= _OF_STEP * times.peers)


def _of_gpu(view: View, runs: RunView, metric: str) -> Floats:
    if (runs.gpu_of < 0).all():
        return np.full(len(runs.keys), np.nan)
    return runs.of_rank(view.gpu(metric, 60))


def _words(times: StepTimes, signs: _Signs, place: int) -> str:
    """Describe the signs of this rank."""
    parts = []
    if signs.slow_work[place]:
        parts.append(f"its own work takes {signs.own[place]:.3g} s a step, its peers' {signs.own_peers[place]:.3g} s")
    elif signs.quick[place]:
        parts.append(f"its own work and its waiting for input take {signs.quick_ratio[place]:.2f} times as long")
    if signs.slow_input[place]:
        parts.append(f"it waits for input {100 * signs.input_ratio[place]:.0f} % of the step, more than its peers")
    if signs.slow_clock[place]:
        parts.append(f"its GPU's clock is {100 * signs.clock_ratio[place]:.0f} % of its peers'")
    if signs.idle[place]:
        parts.append("its GPU idles while its peers' GPUs wait busily")
    if signs.waits_least[place]:
        parts.append("it waits for the other ranks least")
    return "; ".join(parts) or f"no longer slower than its peers; steps take {times.now[place]:.3g} s"
