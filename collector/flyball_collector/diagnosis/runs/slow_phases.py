"""Decides whether a whole run is slower for good, and not just in a phase that passes.

Evaluation, saving and warm-up also slow a run down, one after the other. So the time starts again whenever the run
becomes much slower or faster. A phase that has passed may come back; it must then last longer to be reported.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flyball_collector.diagnosis.subject import Subjects
from flyball_collector.diagnosis.subject_arrays import SubjectArrays

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

_STEADY = 0.7
"""The smallest shift must be at least this share of the largest one: the run is constantly slow."""

_LONGEST_PHASE_SECONDS = 3600.0
"""Slowness that passes after a longer time was not a phase of the training."""

_ALIKE = 0.3
"""Two phases are of the same kind if their shifts differ by less than this share."""

_RETURNS = 1.5
"""A phase that comes back may last this much longer than the one before."""

_REMEMBERED_SECONDS = 86_400.0
"""A phase is forgotten if it has not come back for this time."""


@dataclass(frozen=True, slots=True)
class Slowness:
    """The state of each run at one moment. Times are in seconds, shifts are logarithms of ratios."""

    slow: Flags  # slower than before
    left: Flags  # clearly not slower than before
    shift: Floats
    since: Floats  # when its ranks became slower; NaN: they are not
    until: Floats  # time of their latest slow report


class SlowPhases:
    """Follows the runs. Call `update` whenever new step times are known."""

    def __init__(self, run_seconds: float) -> None:
        self._seconds = run_seconds
        self._kept = SubjectArrays(
            begun=float("nan"),  # start of the current slowness
            until=float("nan"),
            peak=float("nan"),
            restarted=float("-inf"),  # when its time started again
            low=float("nan"),  # shifts since then
            high=float("nan"),
            phase_seconds=0.0,  # length of the last phase that passed …
            phase_shift=float("nan"),  # … its shift …
            phase_end=float("-inf"),  # … and when it ended
        )

    def update(self, runs: Subjects, now: Slowness) -> Floats:
        """Return for how long each run has been constantly slow; NaN if it is not, or only as in the last phase."""
        kept = self._kept
        kept.align(runs)
        self._end(now)
        slow = now.slow & ~np.isnan(now.shift)
        kept["begun"] = np.where(slow & np.isnan(kept["begun"]), now.since, kept["begun"])
        kept["until"] = np.where(slow, now.until, kept["until"])
        kept["peak"] = np.where(slow, np.fmax(kept["peak"], now.shift), kept["peak"])
        self._restart(slow, now)
        lasted = now.until - np.fmax(kept["begun"], kept["restarted"])
        return np.where(slow & ~self._comes_back(now.until), lasted, np.nan)

    def _restart(self, slow: Flags, now: Slowness) -> None:
        kept = self._kept
        low, high = np.fmin(kept["low"], now.shift), np.fmax(kept["high"], now.shift)
        other = slow & (low < _STEADY * high)
        kept["low"] = np.where(slow, np.where(other, now.shift, low), kept["low"])
        kept["high"] = np.where(slow, np.where(other, now.shift, high), kept["high"])
        kept["restarted"] = np.where(other, now.until, kept["restarted"])

    def _end(self, now: Slowness) -> None:
        """Clear what is over or no longer known.

        Slowness that passed is remembered as a phase if it was long enough.
        """
        kept = self._kept
        lasted = kept["until"] - kept["begun"]
        phase = now.left & (lasted >= self._seconds / _RETURNS) & (lasted <= _LONGEST_PHASE_SECONDS)
        kept["phase_seconds"] = np.where(phase, lasted, kept["phase_seconds"])
        kept["phase_shift"] = np.where(phase, kept["peak"], kept["phase_shift"])
        kept["phase_end"] = np.where(phase, kept["until"], kept["phase_end"])
        over = now.left | np.isnan(now.shift)
        for name in ("begun", "until", "peak", "low", "high"):
            kept[name] = np.where(over, np.nan, kept[name])
        kept["restarted"] = np.where(over, -np.inf, kept["restarted"])

    def _comes_back(self, until: Floats) -> Flags:
        kept = self._kept
        alike = np.abs(kept["peak"] - kept["phase_shift"]) <= _ALIKE * kept["phase_shift"]
        known = kept["begun"] - kept["phase_end"] <= _REMEMBERED_SECONDS
        back: Flags = alike & known & (until - kept["begun"] < _RETURNS * kept["phase_seconds"])
        return back
