"""Ranks that became slower than they were and than their peers are, and runs in which all did."""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from flyball_collector.diagnosis.claims import Claims
from flyball_collector.diagnosis.kinds import BY_NAME
from flyball_collector.diagnosis.runs.lasting import Lasting, Slowness
from flyball_collector.diagnosis.runs.paces import Pace, Paces
from flyball_collector.diagnosis.runs.settings import RunSettings
from flyball_collector.diagnosis.seen_metrics import ANY_STEP
from flyball_collector.diagnosis.view import View

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

_FEW_REPORTS, _MANY_REPORTS = 20, 240
_MOST = 0.6  # of the ranks must be slower for the run to be


class SlowDetector:
    """Tells `fail_slow` and `run_slow` from the ranks' own step times."""

    name = "slow"
    kinds = (BY_NAME["fail_slow"], BY_NAME["run_slow"])
    needs: Sequence[str] = (ANY_STEP,)

    def __init__(self, settings: RunSettings, paces: Paces) -> None:
        self._least = float(np.log1p(settings.slower_ratio))
        self._run_seconds = settings.run_slow_seconds
        self._paces = paces
        self._lasting = Lasting(settings.run_slow_seconds)

    def observe(self, view: View) -> Iterable[Claims]:
        pace = self._paces.of(view)
        if pace is None or not len(pace.runs.keys):
            return ()
        now, share = self._slowness(pace)
        lasted = self._lasting.look(pace.runs.runs, now)
        return (self._fail_slow(pace, lasted), self._run_slow(pace, now, share, lasted))

    def _slowness(self, pace: Pace) -> tuple[Slowness, Floats]:
        """How the runs stand, and the share of the ranks that became slower."""
        runs, slower = pace.runs, pace.moved.moved & pace.fresh
        share = runs.share(slower) * runs.sizes / np.maximum(runs.known(pace.shift), 1)
        now = Slowness(
            slow=(share >= _MOST) & (pace.run_shift >= self._least),
            left=(share < 0.5 * _MOST) | (pace.run_shift < 0.5 * self._least),
            shift=pace.run_shift,
            since=runs.median(np.where(slower, pace.moved.since, np.nan)),
            until=runs.median(np.where(slower, pace.moved.until, np.nan)),
        )
        return now, share

    def _fail_slow(self, pace: Pace, lasted: Floats) -> Claims:
        """Alone in its run a rank has no peers to tell its own fault from the run's: it is judged as a run is."""
        alone = (pace.runs.known(pace.shift) < 2)[pace.runs.run_of]
        lasting = (lasted >= self._run_seconds)[pace.runs.run_of]
        return Claims(
            kind=self.kinds[0],
            subjects=pace.runs.subjects,
            enters=(pace.moved.moved & ((alone & lasting) | pace.apart)) | pace.scattered,
            stays=(pace.moved.moved & pace.still_apart) | pace.scattered,
            known=pace.fresh & pace.moved.known,
            confidence=_confidence(pace, alone),
            because=lambda place: _words(pace, place, alone=bool(alone[place])),
            evidence=_evidence(pace),
        )

    def _run_slow(self, pace: Pace, now: Slowness, share: Floats, lasted: Floats) -> Claims:
        return Claims(
            kind=self.kinds[1],
            subjects=pace.runs.runs,
            enters=pace.complete & (lasted >= self._run_seconds),
            stays=~now.left,
            known=pace.complete,
            confidence=np.where(lasted >= 4 * self._run_seconds, 0.85, 0.7),
            because=lambda place: (
                f"steps take {np.exp(pace.run_shift[place]):.2f} times as long as before on "
                f"{share[place]:.0%} of the ranks; no rank alone is to blame"
            ),
            evidence={"step_ratio": np.exp(pace.run_shift), "slower_ranks_ratio": share},
        )


def _confidence(pace: Pace, alone: Flags) -> Floats:
    """Surer the longer it lasts; without peers it may be the work that changed."""
    reports = np.clip((pace.moved.reports - _FEW_REPORTS) / (_MANY_REPORTS - _FEW_REPORTS), 0, 1)
    sure: Floats = np.where(alone, 0.6, 0.75 + 0.17 * reports)  # single steps are told after few, and stay so
    return sure


def _words(pace: Pace, place: int, *, alone: bool) -> str:
    now, usual = pace.now[place], pace.usual[place]
    if pace.scattered[place] and not pace.moved.moved[place]:
        return (
            f"single steps take much longer than {usual:.3g} s, again and again: that adds {pace.added[place]:.0%} to "
            f"its time, before {pace.usually_added[place]:.0%}; not so its peers'"
        )
    peers = "" if alone else f"; its peers' take {np.exp(pace.run_shift[pace.runs.run_of[place]]):.2f} times"
    return (
        f"steps take {now:.3g} s instead of {usual:.3g} s ({np.exp(pace.shift[place]):.2f} times) "
        f"for {pace.moved.reports[place]} reports{peers}"
    )


def _by_single(pace: Pace) -> Floats:
    """How many times as long as before it takes, by its slow single steps."""
    return np.asarray((1 + pace.added) / (1 + pace.usually_added))


def _evidence(pace: Pace) -> dict[str, Floats]:
    return {
        "step_seconds": pace.now,
        "usual_step_seconds": pace.usual,
        "step_ratio": np.where(pace.scattered, np.fmax(np.exp(pace.shift), _by_single(pace)), np.exp(pace.shift)),
        "step_ratio_against_peers": np.exp(pace.against_peers),
        "peers_step_seconds": pace.peers,
        "since_seconds": pace.moved.since,
    }
