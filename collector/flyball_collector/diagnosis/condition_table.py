"""The state of all conditions of one kind: since when levels hold, what is raised, and what was last reported."""

import numpy as np
from numpy.typing import NDArray

from flyball_collector.diagnosis.claims import Claims
from flyball_collector.diagnosis.event import Event
from flyball_collector.diagnosis.subject_arrays import SubjectArrays

Places = NDArray[np.int64]

REPORT_AGAIN_SECONDS = 60.0
"""A change is reported at most this often, unless the condition became worse."""

REPORT_AGAIN_SHARE = 0.5
"""A change is also reported no sooner than this share of the condition's age at the last report."""

_SECOND = 10**9
_NOWHERE: Places = np.empty(0, dtype=np.int64)


class ConditionTable(SubjectArrays):
    """The state of one kind of condition for each subject."""

    def __init__(self) -> None:
        super().__init__(
            raised=False,
            entering=float("nan"),  # since when the entry level holds
            leaving=float("nan"),  # since when the value is below the exit level
            suppressed=float("-inf"),  # not raised before this time
            since=0.0,  # when it was raised
            reported=float("-inf"),  # when it was last reported …
            severity=-1,  # … and with which values
            confidence=float("nan"),
            seconds_left=float("nan"),
        )
        self._busy = False

    @property
    def is_idle(self) -> bool:
        """Return True if nothing is raised and no entry level holds. Then only subjects that enter matter."""
        return not self._busy

    def judge(self, claims: Claims, now: float) -> tuple[Places, Places]:
        """Return the positions to raise and the positions to clear."""
        if self.is_idle and not claims.enters.any():  # the usual case
            return _NOWHERE, _NOWHERE
        known = np.ones(len(claims.subjects), dtype=bool) if claims.known is None else claims.known
        enters, stays = claims.enters & known, (claims.stays | claims.enters) & known
        entering, leaving, raised = self["entering"], self["leaving"], self["raised"]
        entering[known & ~enters] = np.nan
        entering[enters & np.isnan(entering)] = now
        leaving[stays | ~raised] = np.nan
        leaving[known & raised & ~stays & np.isnan(leaving)] = now
        due = enters & ~raised & (now - entering >= claims.kind.raise_after_seconds) & (now >= self["suppressed"])
        over = raised & known & (now - leaving >= claims.kind.clear_after_seconds)
        self._busy = bool(raised.any()) or not np.isnan(entering).all()
        return np.flatnonzero(due), np.flatnonzero(over)

    def changed(self, claims: Claims, now: float) -> Places:
        """Return the positions where an active condition differs enough from its last report."""
        if self.is_idle:
            return _NOWHERE
        raised = self["raised"] & (claims.stays | claims.enters)
        if claims.known is not None:
            raised &= claims.known
        if not raised.any():
            return _NOWHERE
        severity = claims.severity if claims.severity is not None else np.int8(claims.kind.severity)
        worse = raised & (severity > self["severity"])
        different = (severity != self["severity"]) | (np.abs(claims.confidence - self["confidence"]) >= 0.2)
        if claims.seconds_left is not None:
            expected = np.maximum(self["seconds_left"] - (now - self["reported"]), 0)
            different |= np.abs(claims.seconds_left - expected) > np.maximum(0.5 * expected, 60)
            different |= (claims.seconds_left <= 0) & (self["seconds_left"] > 0)  # the forecast has come true
        age = np.where(raised, self["reported"] - self["since"], 0.0)
        due = now - self["reported"] >= np.maximum(REPORT_AGAIN_SECONDS, REPORT_AGAIN_SHARE * age)
        return np.flatnonzero(worse | (raised & different & due))

    def mark_reported(self, claims: Claims, place: int, now: float) -> None:
        """Remember the values that are reported for a condition. The table is not idle at this point."""
        if not self["raised"][place]:
            self["since"][place] = now
        self["raised"][place] = True
        self["leaving"][place] = np.nan
        self["reported"][place] = now
        self["severity"][place] = claims.severity_of(place)
        self["confidence"][place] = claims.confidence[place]
        self["seconds_left"][place] = np.nan if claims.seconds_left is None else claims.seconds_left[place]

    def resume(self, place: int, event: Event) -> None:
        """Restore a condition from its last event before a restart."""
        self._busy = True
        self["raised"][place] = True
        self["since"][place] = event.raised_ns / _SECOND
        self["reported"][place] = event.time_ns / _SECOND
        self["severity"][place] = event.severity
        self["confidence"][place] = event.confidence
        self["seconds_left"][place] = np.nan if event.seconds_left is None else event.seconds_left

    def forget(self, place: int) -> None:
        """Remove a condition that was cleared."""
        self["raised"][place] = False
        self["entering"][place] = self["leaving"][place] = np.nan

    def suppress(self, place: int, until: float) -> None:
        """Do not raise the condition before this time."""
        self["suppressed"][place] = until
