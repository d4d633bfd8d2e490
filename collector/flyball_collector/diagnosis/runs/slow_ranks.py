"""Detects ranks that became slower than before and than their peers, and runs in which all ranks did."""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from flyball_collector.diagnosis.claims import Claims
from flyball_collector.diagnosis.kinds import BY_NAME
from flyball_collector.diagnosis.number_format import clauses
from flyball_collector.diagnosis.runs.settings import RunSettings
from flyball_collector.diagnosis.runs.slow_phases import Slowness, SlowPhases
from flyball_collector.diagnosis.runs.step_times import StepTimes, StepTimeTracker
from flyball_collector.diagnosis.seen_metrics import ANY_STEP
from flyball_collector.diagnosis.view import View

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

_FEW_REPORTS, _MANY_REPORTS = 20, 240
_MOST = 0.6  # share of the ranks that must be slower for the run to be slower


class SlowDetector:
    """Reports `fail_slow` and `run_slow` from the step times of the ranks."""

    name = "slow"
    kinds = (BY_NAME["fail_slow"], BY_NAME["run_slow"])
    needs: Sequence[str] = (ANY_STEP,)

    def __init__(self, settings: RunSettings, step_times: StepTimeTracker) -> None:
        self._least = float(np.log1p(settings.slower_ratio))
        self._run_seconds = settings.run_slow_seconds
        self._step_times = step_times
        self._phases = SlowPhases(settings.run_slow_seconds)

    def observe(self, view: View) -> Iterable[Claims]:
        times = self._step_times.of(view)
        if times is None or not len(times.runs.keys):
            return ()
        now, share = self._slowness(times)
        lasted = self._phases.update(times.runs.runs, now)
        return (self._fail_slow(times, lasted), self._run_slow(times, now, share, lasted))

    def _slowness(self, times: StepTimes) -> tuple[Slowness, Floats]:
        """Return the state of the runs, and the share of ranks that became slower."""
        runs, slower = times.runs, times.state.shifted & times.fresh
        share = runs.share(slower) * runs.sizes / np.maximum(runs.known(times.shift), 1)
        now = Slowness(
            slow=(share >= _MOST) & (times.run_shift >= self._least),
            left=(share < 0.5 * _MOST) | (times.run_shift < 0.5 * self._least),
            shift=times.run_shift,
            since=runs.median(np.where(slower, times.state.since, np.nan)),
            until=runs.median(np.where(slower, times.state.until, np.nan)),
        )
        return now, share

    def _fail_slow(self, times: StepTimes, lasted: Floats) -> Claims:
        """Report slow ranks.

        A single rank has no peers to distinguish its own fault from the run's: it is judged as a run.
        """
        alone = (times.runs.known(times.shift) < 2)[times.runs.run_of]
        lasting = (lasted >= self._run_seconds)[times.runs.run_of]
        quick = times.quick.slow
        return Claims(
            kind=self.kinds[0],
            subjects=times.runs.subjects,
            enters=(times.state.shifted & ((alone & lasting) | times.differs)) | times.slow_single_steps | quick,
            stays=(times.state.shifted & times.still_differs) | times.slow_single_steps | quick,
            known=times.fresh & (times.state.known | times.quick.known),
            confidence=_confidence(times, alone),
            because=lambda place: _words(times, place, alone=bool(alone[place])),
            evidence=_evidence(times),
        )

    def _run_slow(self, times: StepTimes, now: Slowness, share: Floats, lasted: Floats) -> Claims:
        return Claims(
            kind=self.kinds[1],
            subjects=times.runs.runs,
            enters=times.complete & (lasted >= self._run_seconds),
            stays=~now.left,
            known=times.complete,
            confidence=np.where(lasted >= 4 * self._run_seconds, 0.85, 0.7),
            because=lambda place: (
                f"steps take {np.exp(times.run_shift[place]):.2f} times as long as before on "
                f"{100 * share[place]:.0f} % of the ranks; no single rank is the cause"
            ),
            evidence={"step_ratio": np.exp(times.run_shift), "slower_ranks_ratio": share},
        )


def _confidence(times: StepTimes, alone: Flags) -> Floats:
    """Return a confidence that grows with time. Without peers it stays low, because the work may have changed."""
    reports = np.clip((times.state.reports - _FEW_REPORTS) / (_MANY_REPORTS - _FEW_REPORTS), 0, 1)
    sure: Floats = np.where(alone, 0.6, 0.75 + 0.17 * reports)  # for single steps it stays at the start value
    return sure


def _words(times: StepTimes, place: int, *, alone: bool) -> str:
    shifted = times.state.shifted[place]
    if times.slow_single_steps[place] and not shifted:
        added, before = (f"{100 * ratio[place]:.0f} %" for ratio in (times.added, times.usually_added))
        return (
            f"single steps repeatedly take much longer than {times.usual[place]:.3g} s; this adds {added} to the time "
            f"(before: {before}), but not on its peers"
        )
    now, usual, ratio = (values[place] for values in _steps(times))
    if np.isnan(usual):
        return f"steps take {times.now[place]:.3g} s"
    run_shift = times.run_shift[times.runs.run_of[place]]
    peers = "" if alone or np.isnan(run_shift) else f"; its peers: {np.exp(run_shift):.2f} times"
    steps = clauses(("steps take {:.3g} s instead of {:.3g} s", now, usual), ("{:.2f} times", ratio), separator=", ")
    return f"{steps}{peers}"


def _steps(times: StepTimes) -> tuple[Floats, Floats, Floats]:
    """Return the seconds of a step now and before, and their ratio.

    Within a few reports, medians do not show a slow rank yet.
    """
    quick = times.quick
    early = quick.slow & ~times.state.shifted | np.isnan(times.usual)
    return (
        np.where(early, quick.step, times.now),
        np.where(early, quick.usual, times.usual),
        np.where(early, quick.step / quick.usual, np.exp(times.shift)),
    )


def _by_single(times: StepTimes) -> Floats:
    """Return the ratio of the time with and without the recently added slow steps."""
    return np.asarray((1 + times.added) / (1 + times.usually_added))


def _evidence(times: StepTimes) -> dict[str, Floats]:
    now, usual, ratio = _steps(times)
    return {
        "step_seconds": now,
        "usual_step_seconds": usual,
        "step_ratio": np.where(times.slow_single_steps, np.fmax(ratio, _by_single(times)), ratio),
        "step_ratio_against_peers": np.where(times.quick.slow, times.quick.ratio, np.exp(times.against_peers)),
        "peers_step_seconds": times.peers,
        "since_seconds": times.state.since,
    }
