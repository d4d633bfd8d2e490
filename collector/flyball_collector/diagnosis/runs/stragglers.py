"""Ranks that hold their run up.

In synchronous training collectives make all steps equally long, so what does not wait for others is compared: a rank's
own sections, its wait for input, the clocks and the idleness of its GPU. The straggler begins its collectives last, so
it waits in them least. Where ranks go at their own pace none holds the others up: one that became slower is fail-slow.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flyball_collector.diagnosis.claims import Claims
from flyball_collector.diagnosis.keeping import Kept
from flyball_collector.diagnosis.kinds import BY_NAME
from flyball_collector.diagnosis.runs.paces import Pace, Paces
from flyball_collector.diagnosis.runs.run_view import RunView
from flyball_collector.diagnosis.runs.settings import RunSettings
from flyball_collector.diagnosis.seen_metrics import ANY_STEP
from flyball_collector.diagnosis.view import View

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

_SPREADS = 4.0
_LEAST_SPREAD = 0.02  # of the peers' own work
_OF_STEP = 0.05  # what a straggler adds is at least this much of the step
_SLOW_CLOCK = 0.9  # of its peers'
_FEW = 20  # reports


@dataclass(frozen=True, eq=False)
class _Seen:
    """What speaks against a rank of a synchronous run; along ranks."""

    own: Floats  # seconds of its own work a step
    own_peers: Floats
    slow_work: Flags
    slow_input: Flags
    slow_clock: Flags
    idle: Flags
    waits_least: Flags
    waits_more: Flags
    clock_ratio: Floats
    input_ratio: Floats  # share of the step that it waits for input

    @property
    def any(self) -> Flags:
        """Something does, and it does not wait for others more than they do."""
        return (self.slow_work | self.slow_input | self.slow_clock | self.idle) & ~self.waits_more

    @property
    def confidence(self) -> Floats:
        """Each group of evidence adds its odds; one alone proves little unless it is the work itself."""
        odds = (
            np.where(self.slow_work, 1.4, 0.0)
            + np.where(self.slow_input, 0.4, 0.0)
            + np.where(self.slow_clock, 0.4, 0.0)
            + np.where(self.idle, 0.2, 0.0)
            + np.where(self.waits_least, 1.2, 0.0)
        )
        sure: Floats = 1 / (1 + np.exp(-odds))
        return sure


class StragglerDetector:
    """Tells `straggler`."""

    name = "straggler"
    kinds = (BY_NAME["straggler"],)
    needs: Sequence[str] = (ANY_STEP,)

    def __init__(self, settings: RunSettings, paces: Paces) -> None:
        self._settings = settings
        self._paces = paces
        self._kept = Kept(since=float("nan"))

    def observe(self, view: View) -> Iterable[Claims]:
        pace = self._paces.of(view)
        if pace is None or not len(pace.runs.keys):
            return ()
        seen = self._see(view, pace)
        together = pace.in_step & (pace.runs.ranks.counts >= _FEW) & pace.fresh
        late = together & seen.any
        self._kept.align(pace.runs.subjects)
        since = self._kept["since"]
        since[~late] = np.nan
        since[late & np.isnan(since)] = view.now
        held = late & (view.now - since >= self._settings.straggler_seconds)
        return (
            Claims(
                kind=self.kinds[0],
                subjects=pace.runs.subjects,
                enters=held,
                stays=late,
                known=pace.fresh & (pace.runs.known(pace.now) >= 2)[pace.runs.run_of],
                confidence=seen.confidence,
                because=lambda place: _words(pace, seen, place),
                evidence={
                    "step_seconds": pace.now,
                    "peers_step_seconds": pace.peers,
                    "step_ratio": np.exp(pace.shift),
                    "own_seconds": seen.own,
                    "peers_own_seconds": seen.own_peers,
                    "clock_ratio": seen.clock_ratio,
                    "data_wait_ratio": seen.input_ratio,
                },
            ),
        )

    def _see(self, view: View, pace: Pace) -> _Seen:
        runs = pace.runs
        own, peers, slow_work = self._work(pace)
        waiting = pace.steady["waiting_seconds"]
        usual_waiting = runs.median(waiting)[runs.run_of]
        input_ratio = pace.steady["data_wait_seconds"] / pace.now
        clock, busy = _of_gpu(view, runs, "gpu_sm_clock_hertz"), _of_gpu(view, runs, "gpu_utilization_ratio")
        clock_ratio = clock / runs.median(clock)[runs.run_of]
        usual_busy = runs.median(busy)[runs.run_of]
        margin = _OF_STEP * pace.peers
        return _Seen(
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
        )

    def _work(self, pace: Pace) -> tuple[Floats, Floats, Flags]:
        """Own work, the peers', and whether it is far beyond theirs by ratio, share of the step, and spread."""
        runs = pace.runs
        own = np.where(pace.fresh, pace.steady["own_seconds"], np.nan)
        if np.isnan(own).all():
            return own, own, np.zeros(len(own), dtype=bool)
        median = runs.median(own)
        peers = median[runs.run_of]
        spread = np.maximum(runs.spread(own, median)[runs.run_of], _LEAST_SPREAD * peers)
        excess = own - peers
        beyond = excess >= np.maximum(_SPREADS * spread, self._settings.straggler_ratio * peers)
        return own, peers, beyond & (excess >= _OF_STEP * pace.peers)


def _of_gpu(view: View, runs: RunView, metric: str) -> Floats:
    if (runs.gpu_of < 0).all():
        return np.full(len(runs.keys), np.nan)
    return runs.of_rank(view.gpu(metric, 60))


def _words(pace: Pace, seen: _Seen, place: int) -> str:
    """What speaks against this rank."""
    said = []
    if seen.slow_work[place]:
        said.append(f"its own work takes {seen.own[place]:.3g} s a step, its peers' {seen.own_peers[place]:.3g} s")
    if seen.slow_input[place]:
        said.append(f"it waits for input in {seen.input_ratio[place]:.0%} of the step, more than its peers")
    if seen.slow_clock[place]:
        said.append(f"its GPU's clock is {seen.clock_ratio[place]:.0%} of its peers'")
    if seen.idle[place]:
        said.append("its GPU idles while its peers' wait busily")
    if seen.waits_least[place]:
        said.append("it waits for the others least")
    return "; ".join(said) or f"nothing speaks against it any more; steps take {pace.now[place]:.3g} s"
