"""Detects ranks whose single steps repeatedly became slow while most steps are as fast as before.

Medians do not show this. The time that slow steps add to a rank is compared with what they added before and with what
they add to its peers. No step adds more than the usual step time, so rare long steps (checkpoints, pauses) add little.
A phase in which all steps are slow is handled by the medians.
"""

import numpy as np
from numpy.typing import NDArray

from flyball_collector.diagnosis.subject import Subjects
from flyball_collector.diagnosis.subject_arrays import SubjectArrays

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Places = NDArray[np.int64]

SLOW = 0.25
"""A step is slow if it is slower than usual by this share and by `_SPREADS` spreads of single steps."""

_SPREADS = 5.0

_MOST = 1.0
"""The most that one step adds, relative to the usual step."""

_NEWEST = 48
"""Reports behind the current mean."""

_PAST = 512
"""Reports behind the usual mean, as many as make the past of a median."""

_NEARLY = 8
"""Near the entry level, the usual mean is learnt this much more slowly, so that a slow start does not hide the rest."""

_BEYOND = 1.25
"""Times the least shift of a median. A phase of ten reports, too short for a median of twenty, adds slightly more, but
not for long."""

_DEVIATIONS = 6.0
"""Slow steps at random times add varying amounts: each adds at most a limited share, which limits the variance."""

_LEAVE = 0.5
_HELD = 24  # reports; after these, what a short phase added is below the level


class SlowSingleSteps:
    """Follows the ranks of all runs: `take` their reports, then evaluate what is `beyond` the usual with `judge`."""

    def __init__(self, least_ratio: float) -> None:
        self._least = _BEYOND * least_ratio
        self._kept = SubjectArrays(
            added=0.0,  # by slow steps, relative to the usual time
            usual=0.0,
            learnt=0,  # reports behind the usual mean, at most `_PAST`
            counted=0,  # reports in total
            since=-1,  # number of the report since which more than usual was added; −1: it is not
            slow=False,
        )

    def align(self, to: Subjects) -> None:
        """Follow changes of the ranks."""
        self._kept.align(to)

    @property
    def added(self) -> Floats:
        """The share that slow steps add to each rank's usual time."""
        return self._kept["added"]

    @property
    def usual(self) -> Floats:
        """The share that slow steps usually added."""
        return self._kept["usual"]

    def take(self, places: Places, excess: Floats, fresh: Places, noise: Floats) -> None:
        """Take the latest reports (report × rank) of ranks with a past that are in no slow phase.

        `excess` is the time beyond the usual step, relative to it; `fresh` is the number of new reports; `noise` is the
        spread of single steps.
        """
        kept, reports = self._kept, len(excess)
        slow = (excess >= np.maximum(SLOW, _SPREADS * noise)) & (np.arange(reports)[:, None] >= reports - fresh)
        mean = np.where(slow, np.minimum(excess, _MOST), 0.0).sum(axis=0) / np.maximum(fresh, 1)
        kept["added"][places] += fresh / _NEWEST * (mean - kept["added"][places])
        kept["counted"][places] += fresh
        self._learn(places, mean, fresh)

    def forget(self, places: Places) -> None:
        """Forget what slow steps added to these ranks."""
        kept = self._kept
        kept["added"][places] = kept["usual"][places] = 0.0
        kept["learnt"][places], kept["since"][places], kept["slow"][places] = 0, -1, False

    def _learn(self, places: Places, mean: Floats, fresh: Places) -> None:
        """Update the usual mean of ranks that are not slow."""
        kept, learns = self._kept, ~self._kept["slow"][places]
        learnt = np.where(learns, np.minimum(kept["learnt"][places] + fresh, _PAST), kept["learnt"][places])
        usual = kept["usual"][places]
        nearly = kept["added"][places] - usual >= _LEAVE * self._entry(usual)
        share = np.where(learns, fresh / np.maximum(learnt, 1), 0.0) / np.where(nearly, _NEARLY, 1)
        kept["usual"][places] = usual + share * (mean - usual)
        kept["learnt"][places] = learnt

    def _entry(self, usual: Floats) -> Floats:
        return np.maximum(self._least, _DEVIATIONS * np.sqrt(usual / (2 * _NEWEST)))

    def beyond(self) -> Floats:
        """Return how much more slow steps add than usual."""
        more: Floats = self._kept["added"] - self._kept["usual"]
        return more

    def judge(self, beyond: Floats) -> Flags:
        """Return the ranks whose single steps became slow for good, given what is beyond their own past and peers."""
        kept = self._kept
        more = beyond >= np.where(kept["slow"], _LEAVE, 1.0) * self._entry(kept["usual"])
        more |= kept["slow"] & np.isnan(beyond)
        kept["since"] = np.where(more, np.where(kept["since"] < 0, kept["counted"], kept["since"]), -1)
        kept["slow"] = more & (kept["slow"] | (kept["counted"] - kept["since"] >= _HELD))
        slow: Flags = kept["slow"].copy()
        return slow
