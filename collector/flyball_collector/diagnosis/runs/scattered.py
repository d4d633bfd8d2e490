"""Ranks of which single steps became slow, again and again, while most are as fast as ever: no median knows of it.

What slow steps add to a rank's time is compared with what they used to add, and with what they add to its peers'. No
step counts for more than twice the usual, so rare long ones (checkpoints, pauses) add little; a phase in which all
steps are slow is the medians' affair.
"""

import numpy as np
from numpy.typing import NDArray

from flyball_collector.diagnosis.keeping import Kept
from flyball_collector.diagnosis.subject import Subjects

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Places = NDArray[np.int64]

SLOW = 0.25
"""A step that is slower than usual by so much, and by so many spreads of single steps, is a slow one."""

_SPREADS = 5.0

_MOST = 1.0
"""Of the usual step: no step adds more."""

_NEWEST = 48
"""Reports that are told about: their mean forgets the older ones."""

_PAST = 512
"""The same of what is usual: as many as those that make a median's past."""

_NEARLY = 8
"""What nearly is too much becomes usual so many times more slowly: else a slow start would hide the rest."""

_BEYOND = 1.25
"""Times the least shift of a median. A phase of ten reports, which no median of twenty knows, adds a little more, but
not for long."""

_DEVIATIONS = 6.0
"""Slow steps that come at random add now more, now less: at most a share to each, so its square is no larger."""

_LEAVE = 0.5
_HELD = 24  # reports; what such a phase added is less by then


class Scattered:
    """Follows the ranks of all runs: `take` their reports, then ask what is `beyond`, and `judge` that."""

    def __init__(self, least_ratio: float) -> None:
        self._least = _BEYOND * least_ratio
        self._kept = Kept(
            added=0.0,  # by slow steps, as a share of the usual time
            usual=0.0,
            learnt=0,  # reports behind it, up to all of the past
            counted=0,  # reports ever
            since=-1,  # as of the report from which on more was added than usual; −1: it is not
            slow=False,
        )

    def align(self, to: Subjects) -> None:
        """Follow the ranks."""
        self._kept.align(to)

    @property
    def added(self) -> Floats:
        """The share of its usual time that slow steps add to each rank's …"""
        return self._kept["added"]

    @property
    def usual(self) -> Floats:
        """… and that they used to add."""
        return self._kept["usual"]

    def take(self, places: Places, excess: Floats, fresh: Places, noise: Floats) -> None:
        """The latest reports of ranks that have a past and are in no phase, report × rank, of which so many are new;
        `excess` is that beyond the usual step, as a share of it, `noise` the spread of single steps."""
        kept, reports = self._kept, len(excess)
        slow = (excess >= np.maximum(SLOW, _SPREADS * noise)) & (np.arange(reports)[:, None] >= reports - fresh)
        mean = np.where(slow, np.minimum(excess, _MOST), 0.0).sum(axis=0) / np.maximum(fresh, 1)
        kept["added"][places] += fresh / _NEWEST * (mean - kept["added"][places])
        kept["counted"][places] += fresh
        self._learn(places, mean, fresh)

    def _learn(self, places: Places, mean: Floats, fresh: Places) -> None:
        """What is usual, of ranks that are not slow."""
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
        """How much more slow steps add than they used to."""
        more: Floats = self._kept["added"] - self._kept["usual"]
        return more

    def judge(self, beyond: Floats) -> Flags:
        """Along ranks, by what is beyond their own past and their peers': whose single steps became slow, for good."""
        kept = self._kept
        more = beyond >= np.where(kept["slow"], _LEAVE, 1.0) * self._entry(kept["usual"])
        more |= kept["slow"] & np.isnan(beyond)
        kept["since"] = np.where(more, np.where(kept["since"] < 0, kept["counted"], kept["since"]), -1)
        kept["slow"] = more & (kept["slow"] | (kept["counted"] - kept["since"] >= _HELD))
        slow: Flags = kept["slow"].copy()
        return slow
