"""Whether a whole run is slower for good: as slow all the time, long enough, and not as in a phase before.

Evaluation, saving and warming up slow a run down, too, one after the other; so the time counts anew whenever the run
becomes slower or faster by much. What has passed by itself may come back, and must then last longer to be news.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flyball_collector.diagnosis.keeping import Kept
from flyball_collector.diagnosis.subject import Subjects

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

_STEADY = 0.7
"""Of the largest shift in the time that counts, the least: the run is as slow as it was."""

_LONGEST_PHASE_SECONDS = 3600.0
"""What passes later was no phase of the training."""

_ALIKE = 0.3
"""Shifts of two phases that differ by less than this share are of one kind."""

_RETURNS = 1.5
"""A phase that comes back may last this much longer than the one before."""

_REMEMBERED_SECONDS = 86_400.0
"""A phase that has not come back for a day is forgotten."""


@dataclass(frozen=True, slots=True)
class Slowness:
    """How each run stands at one moment; times are seconds, shifts logarithms of ratios."""

    slow: Flags  # it is slower than it was
    left: Flags  # it is not, nor was it nearly
    shift: Floats
    since: Floats  # when its ranks became slower; NaN: they did not
    until: Floats  # their latest slow report


class Lasting:
    """Follows the runs; call `look` at each moment at which anything is known of them."""

    def __init__(self, run_seconds: float) -> None:
        self._seconds = run_seconds
        self._kept = Kept(
            begun=float("nan"),  # of the slowness that goes on …
            until=float("nan"),
            peak=float("nan"),
            anew=float("-inf"),  # when its time began to count anew
            low=float("nan"),  # shifts since then
            high=float("nan"),
            phase_seconds=0.0,  # how long the last phase was that went by …
            phase_shift=float("nan"),  # … how slow …
            phase_end=float("-inf"),  # … and when it ended
        )

    def look(self, runs: Subjects, now: Slowness) -> Floats:
        """For how long each run has been slow without a break; NaN: it is not, or as in the phase before."""
        kept = self._kept
        kept.align(runs)
        self._end(now)
        slow = now.slow & ~np.isnan(now.shift)
        kept["begun"] = np.where(slow & np.isnan(kept["begun"]), now.since, kept["begun"])
        kept["until"] = np.where(slow, now.until, kept["until"])
        kept["peak"] = np.where(slow, np.fmax(kept["peak"], now.shift), kept["peak"])
        self._count_anew(slow, now)
        lasted = now.until - np.fmax(kept["begun"], kept["anew"])
        return np.where(slow & ~self._comes_back(now.until), lasted, np.nan)

    def _count_anew(self, slow: Flags, now: Slowness) -> None:
        kept = self._kept
        low, high = np.fmin(kept["low"], now.shift), np.fmax(kept["high"], now.shift)
        other = slow & (low < _STEADY * high)
        kept["low"] = np.where(slow, np.where(other, now.shift, low), kept["low"])
        kept["high"] = np.where(slow, np.where(other, now.shift, high), kept["high"])
        kept["anew"] = np.where(other, now.until, kept["anew"])

    def _end(self, now: Slowness) -> None:
        """What is over, or not known any more; a phase is what was seen to pass, and long enough to be told again."""
        kept = self._kept
        lasted = kept["until"] - kept["begun"]
        phase = now.left & (lasted >= self._seconds / _RETURNS) & (lasted <= _LONGEST_PHASE_SECONDS)
        kept["phase_seconds"] = np.where(phase, lasted, kept["phase_seconds"])
        kept["phase_shift"] = np.where(phase, kept["peak"], kept["phase_shift"])
        kept["phase_end"] = np.where(phase, kept["until"], kept["phase_end"])
        over = now.left | np.isnan(now.shift)
        for name in ("begun", "until", "peak", "low", "high"):
            kept[name] = np.where(over, np.nan, kept[name])
        kept["anew"] = np.where(over, -np.inf, kept["anew"])

    def _comes_back(self, until: Floats) -> Flags:
        kept = self._kept
        alike = np.abs(kept["peak"] - kept["phase_shift"]) <= _ALIKE * kept["phase_shift"]
        known = kept["begun"] - kept["phase_end"] <= _REMEMBERED_SECONDS
        back: Flags = alike & known & (until - kept["begun"] < _RETURNS * kept["phase_seconds"])
        return back
