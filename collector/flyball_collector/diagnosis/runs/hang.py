"""Detects runs that no longer complete steps, and runs that have not completed their first step."""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from flyball_collector.diagnosis.claims import Claims
from flyball_collector.diagnosis.kinds import BY_NAME
from flyball_collector.diagnosis.runs.run_view import Runs, RunView
from flyball_collector.diagnosis.runs.settings import RunSettings
from flyball_collector.diagnosis.seen_metrics import ANY_STEP
from flyball_collector.diagnosis.subject import Subject, Subjects, subjects
from flyball_collector.diagnosis.unknown_values import known_or
from flyball_collector.diagnosis.view import View
from flyball_collector.fleet.host import HostState

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

_BUSY = 0.95
_NO_TENSORS = 0.001  # a kernel that waits for other ranks spins without tensor work
_FLAT_POWER = 0.6  # of the limit; a spinning kernel draws much less
_IDLE = 0.05


class HangDetector:
    """Reports `run_hang`: no rank of a run has completed a step for several of its longest intervals."""

    name = "hang"
    kinds = (BY_NAME["run_hang"],)
    needs: Sequence[str] = (ANY_STEP,)

    def __init__(self, settings: RunSettings, runs: Runs) -> None:
        self._settings = settings
        self._runs = runs

    def observe(self, view: View) -> Iterable[Claims]:
        runs = self._runs.of(view)
        if not len(runs.keys):
            return ()
        ranks = runs.ranks
        since_step = view.now - runs.quantile(ranks.column("at"), 1.0)
        usual = runs.quantile(np.maximum(ranks.column("longest_gap"), _step(runs)), 1.0)
        limit = self._settings.hang_floor_seconds + self._settings.hang_intervals * usual
        present, alive = _present(view, runs)
        spins, idles = _on_gpus(view, runs)
        begun = runs.quantile(ranks.counts.astype(np.float64), 1.0) >= 2
        hangs = begun & (since_step > limit) & (present | spins)
        return (
            Claims(
                kind=self.kinds[0],
                subjects=runs.runs,
                enters=hangs,
                stays=hangs,
                known=alive,
                confidence=np.select([spins, idles & present], [0.95, 0.85], 0.7),
                because=lambda place: _words(since_step[place], usual[place], bool(spins[place]), bool(idles[place])),
                evidence={"no_step_seconds": since_step, "longest_interval_seconds": usual},
            ),
        )


def _step(runs: RunView) -> Floats:
    newest = runs.ranks.ring("step_seconds", 1)[0].astype(np.float64)
    known: Floats = known_or(0.0, newest)
    return known


def _present(view: View, runs: RunView) -> tuple[Flags, Flags]:
    """Return for each run whether a process still belongs to it, and whether all its hosts are reporting."""
    reporting = np.append(view.alive, False)[runs.subjects.hosts]
    has_process = runs.gpu_of >= 0
    for place in np.flatnonzero(~has_process & (view.now - runs.ranks.column("at") > 60)):  # few: they do not report
        has_process[place] = _has_process(view.states, runs, int(place))
    return runs.share(has_process) > 0, runs.share(reporting) >= 1


def _has_process(states: Sequence[HostState], runs: RunView, place: int) -> bool:
    host = runs.subjects.hosts[place]
    if host < 0:
        return False
    tenancy = states[host].tenancy
    return tenancy is not None and any(member.run == runs.keys[place].run for member in tenancy.members)


def _on_gpus(view: View, runs: RunView) -> tuple[Flags, Flags]:
    """Return for each run whether its GPUs only wait in a kernel, and whether they are idle."""
    none = np.zeros(len(runs.runs), dtype=bool)
    held = np.flatnonzero(runs.run_of_gpu >= 0)
    if not len(held):
        return none, none
    busy = view.gpu("gpu_utilization_ratio", 60)[held]
    tensors = view.gpu("gpu_tensor_active_ratio", 60)[held]
    power = view.gpu("gpu_power_watts", 60)[held] / view.gpu("gpu_power_limit_watts")[held]
    spinning = (busy >= _BUSY) & np.where(np.isnan(tensors), power < _FLAT_POWER, tensors <= _NO_TENSORS)
    return _all(runs, held, spinning), _all(runs, held, busy <= _IDLE)


def _all(runs: RunView, held: NDArray[np.int64], flags: Flags) -> Flags:
    of = runs.run_of_gpu[held]
    size = np.bincount(of, minlength=len(runs.runs))
    return (size > 0) & (np.bincount(of, flags, minlength=len(runs.runs)) >= 0.9 * size)


def _words(since_step: float, usual: float, spins: bool, idles: bool) -> str:
    gpus = "; its GPUs spin without computing: a collective waits" if spins else "; its GPUs are idle" if idles else ""
    return f"no rank has completed a step for {since_step:.0f} s; the longest interval so far was {usual:.3g} s{gpus}"


class SlowStartDetector:
    """Reports `slow_start`: processes of a run hold GPUs, but none has completed a step."""

    name = "slow_start"
    kinds = (BY_NAME["slow_start"],)
    needs: Sequence[str] = ()

    def __init__(self, settings: RunSettings, runs: Runs) -> None:
        self._after = settings.slow_start_seconds
        self._runs = runs
        self._subjects: Subjects = subjects(())

    def observe(self, view: View) -> Iterable[Claims]:
        runs = self._runs.of(view)
        begun = (
            {runs.keys[place].run for place in np.flatnonzero(runs.ranks.counts > 0).tolist()} if runs.started else ()
        )
        waiting = {run: started for run, started in runs.started.items() if run not in begun}
        names = tuple(Subject(run=run) for run in sorted(waiting))
        if names != self._subjects.names:
            self._subjects = subjects(names)
        waited = np.array([view.now - waiting[subject.run] for subject in names], dtype=np.float64)
        late = waited >= self._after
        return (
            Claims(
                kind=self.kinds[0],
                subjects=self._subjects,
                enters=late,
                stays=late,
                confidence=np.full(len(names), 0.8),
                because=lambda place: (
                    f"processes have run for {waited[place] / 60:.0f} minutes without completing a step"
                ),
                evidence={"waited_seconds": waited},
            ),
        )
