"""Detects runs that stop in regular distance: to save, to evaluate, to collect garbage, or because of a cron job."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flyball_collector.diagnosis.cadence import Cadence, RoundRobin
from flyball_collector.diagnosis.claims import Claims
from flyball_collector.diagnosis.kinds import BY_NAME
from flyball_collector.diagnosis.number_format import duration
from flyball_collector.diagnosis.runs.run_view import Runs
from flyball_collector.diagnosis.runs.settings import RunSettings
from flyball_collector.diagnosis.runs.stalls import KEPT, Stalls, StallTracker
from flyball_collector.diagnosis.seen_metrics import ANY_STEP
from flyball_collector.diagnosis.view import View

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

_SECONDS = 8
_FEW, _FEW_REGULAR = 4, 0.05  # that many stalls whose distances differ by no more than this share of the period …
_MANY, _MANY_REGULAR = 6, 0.12  # … or more stalls that are less regular
_LEAST_REGULAR_SECONDS = 2.0  # stalls are seen when the next report comes
_ALIKE = 0.5  # lengths may differ by this share
_OVERDUE = 1.6  # periods after the last stall
_LEAVE = 0.7  # of the entry level
_MARKED = 0.6  # share of the stall that a section explains


@dataclass(frozen=True, slots=True)
class _Rhythm:
    """The rhythm of each run's stalls."""

    period: Floats  # seconds from the end of a stall to that of the next; NaN: fewer than two
    seconds: Floats  # of a stall
    regular: Flags
    marked: Floats  # share of the stalls in sections for checkpoints, evaluation or logging; NaN: unknown


class PeriodicStallDetector:
    """Reports `periodic_stalls`."""

    name = "periodic_stalls"
    kinds = (BY_NAME["periodic_stalls"],)
    needs: Sequence[str] = (ANY_STEP,)

    def __init__(self, settings: RunSettings, runs: Runs) -> None:
        self._entry = settings.stall_ratio
        self._runs = runs
        self._stalls = StallTracker()
        self._parts = RoundRobin(_SECONDS)
        self._cadence = Cadence(_SECONDS, 5)

    def observe(self, view: View) -> Iterable[Claims]:
        runs = self._runs.of(view)
        if not len(runs.keys):
            return ()
        stalls = self._stalls.take(runs, self._parts.select(view, len(runs.keys)), view.now)
        if not self._cadence.due(view):
            return ()
        rhythm = _rhythm(stalls)
        lost = rhythm.seconds / rhythm.period
        on = rhythm.regular & (view.now - stalls.ends[:, -1] <= _OVERDUE * rhythm.period)
        marked = rhythm.marked >= _MARKED
        return (
            Claims(
                kind=self.kinds[0],
                subjects=runs.runs,
                enters=on & (lost >= self._entry),
                stays=on & (lost >= _LEAVE * self._entry),
                confidence=np.where(np.isfinite(stalls.ends).sum(axis=1) >= _MANY, 0.9, 0.8),
                level=np.clip(np.nan_to_num(lost), 0, 1),
                because=lambda place: _words(rhythm, place, marked=bool(marked[place])),
                evidence={
                    "stall_seconds": rhythm.seconds,
                    "period_seconds": rhythm.period,
                    "lost_ratio": lost,
                    "marked_ratio": rhythm.marked,
                },
            ),
        )


def _rhythm(stalls: Stalls) -> _Rhythm:
    """Return period and length of the latest stalls, and whether they are regular. A single stall may be missing."""
    distances = np.diff(stalls.ends, axis=1)
    few = distances[:, 1 - _FEW :]
    period = np.full(len(distances), np.nan)
    some = ~np.isnan(distances[:, -1])
    period[some] = np.nanmedian(few[some], axis=1)
    seconds = np.full(len(distances), np.nan)
    seconds[some] = np.nanmedian(stalls.seconds[some], axis=1)
    marked = np.full(len(distances), np.nan)
    known = ~np.isnan(stalls.marked).all(axis=1)
    marked[known] = np.clip(np.nanmedian(stalls.marked[known] / stalls.seconds[known], axis=1), 0, 1)
    alike = np.abs(stalls.seconds - seconds[:, None]) <= _ALIKE * seconds[:, None]
    regular = np.zeros(len(distances), dtype=bool)
    for count, share in ((_FEW, _FEW_REGULAR), (_MANY, _MANY_REGULAR)):
        latest = distances[:, KEPT - count :]
        times = np.maximum(np.rint(latest / period[:, None]), 1.0)
        off = np.abs(latest - times * period[:, None])
        close = off <= np.maximum(share * period, _LEAST_REGULAR_SECONDS)[:, None]
        regular |= close.all(axis=1) & (times.sum(axis=1) <= count) & alike[:, -count:].all(axis=1)
    return _Rhythm(period, seconds, regular, marked)


def _words(rhythm: _Rhythm, place: int, *, marked: bool) -> str:
    period, seconds = rhythm.period[place], rhythm.seconds[place]
    if np.isnan(period):
        return "steps no longer stop in regular distance"
    words = f"all ranks stop for {seconds:.3g} s every {duration(period)}: {100 * seconds / period:.0f} % of the time"
    return f"{words}; sections for checkpoints, evaluation or logging take it" if marked else words
