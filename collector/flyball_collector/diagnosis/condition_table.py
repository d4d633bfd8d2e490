"""The state of all conditions of one kind: since when levels hold, what is raised, and what was last reported."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from flyball_collector.diagnosis.claims import Claims
from flyball_collector.diagnosis.event import Event
from flyball_collector.diagnosis.kinds import Severity
from flyball_collector.diagnosis.subject_arrays import SubjectArrays

Places = NDArray[np.int64]

REPORT_AGAIN_SECONDS = 60.0
"""A change is reported at most this often, unless the condition became worse."""

REPORT_AGAIN_SHARE = 0.5
"""A change is also reported no sooner than this share of the condition's age at the last report."""

_SECOND = 10**9
_NOWHERE: Places = np.empty(0, dtype=np.int64)
_NO_FLOOR = -1


class StateChanges(NamedTuple):
    """Positions where something begins or ends."""

    due: Places  # to raise
    over: Places  # to clear
    back: Places  # absent ones that are there again


_NOTHING = StateChanges(_NOWHERE, _NOWHERE, _NOWHERE)


class ConditionTable(SubjectArrays):
    """The state of one kind of condition for each subject."""

    def __init__(self) -> None:
        super().__init__(
            raised=False,
            entering=float("nan"),  # since when the entry level holds
            leaving=float("nan"),  # since when the value is below the exit level
            suppressed=float("-inf"),  # not raised before this time
            absent=False,  # it is over, but stays raised, because it comes and goes …
            kept_until=float("-inf"),  # … until this time
            floor=_NO_FLOOR,  # the least severity
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

    def judge(self, claims: Claims, now: float) -> StateChanges:
        """Return the positions to raise, those to clear, and those that are there again."""
        if self.is_idle and not claims.enters.any():  # the usual case
            return _NOTHING
        known = np.ones(len(claims.subjects), dtype=bool) if claims.known is None else claims.known
        enters, stays = claims.enters & known, (claims.stays | claims.enters) & known
        entering, leaving, raised, absent = self["entering"], self["leaving"], self["raised"], self["absent"]
        entering[known & ~enters] = np.nan
        entering[enters & np.isnan(entering)] = now
        leaving[stays | ~raised] = np.nan
        leaving[known & raised & ~stays & np.isnan(leaving)] = now
        begins = enters & (now - entering >= claims.kind.raise_after_seconds)
        due = begins & ~raised & (now >= self["suppressed"])
        over = raised & known & (now - leaving >= claims.kind.clear_after_seconds)
        back = _NOWHERE
        if absent.any():
            over &= ~absent | (now >= self["kept_until"])
            back = np.flatnonzero(begins & absent)
        self._busy = bool(raised.any()) or not np.isnan(entering).all()
        return StateChanges(np.flatnonzero(due), np.flatnonzero(over), back)

    def changed(self, claims: Claims, now: float) -> Places:
        """Return the positions where an active condition differs enough from its last report."""
        if self.is_idle:
            return _NOWHERE
        raised = self["raised"] & (claims.stays | claims.enters)
        if claims.known is not None:
            raised &= claims.known
        if not raised.any():
            return _NOWHERE
        self._keep_severity(claims, raised)
        severity = np.maximum(claims.kind.severity if claims.severity is None else claims.severity, self["floor"])
        worse = raised & (severity > self["severity"])
        different = (severity != self["severity"]) | (np.abs(claims.confidence - self["confidence"]) >= 0.2)
        if claims.seconds_left is not None:
            expected = np.maximum(self["seconds_left"] - (now - self["reported"]), 0)
            different |= np.abs(claims.seconds_left - expected) > np.maximum(0.5 * expected, 60)
            different |= (claims.seconds_left <= 0) & (self["seconds_left"] > 0)  # the forecast has come true
        age = np.where(raised, self["reported"] - self["since"], 0.0)
        due = now - self["reported"] >= np.maximum(REPORT_AGAIN_SECONDS, REPORT_AGAIN_SHARE * age)
        return np.flatnonzero(worse | (raised & different & due))

    def severity_of(self, claims: Claims, place: int) -> Severity:
        """Return the severity of a condition: that of its claim, but not below its floor."""
        return Severity(max(claims.severity_of(place), int(self["floor"][place])))

    def raise_floor(self, place: int, severity: Severity) -> None:
        """Do not let the severity of a condition fall below this one before it is cleared."""
        self["floor"][place] = max(self["floor"][place], severity)

    def mark_reported(self, claims: Claims, place: int, now: float) -> None:
        """Remember the values that are reported for a condition. The table is not idle at this point."""
        if not self["raised"][place]:
            self["since"][place] = now
            self["leaving"][place] = np.nan
        self["raised"][place] = True
        self["reported"][place] = now
        self["severity"][place] = self.severity_of(claims, place)
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

    def keep(self, place: int, until: float) -> None:
        """Keep a condition raised that is over, at least until this time."""
        self["absent"][place] = True
        self["kept_until"][place] = until

    def return_to(self, place: int) -> None:
        """Note that an absent condition is there again."""
        self["absent"][place] = False
        self["leaving"][place] = np.nan

    def forget(self, place: int) -> None:
        """Remove a condition that was cleared."""
        self["raised"][place] = self["absent"][place] = False
        self["floor"][place] = _NO_FLOOR
        self["entering"][place] = self["leaving"][place] = np.nan

    def suppress(self, place: int, until: float) -> None:
        """Do not raise the condition before this time."""
        self["suppressed"][place] = until

    def _keep_severity(self, claims: Claims, raised: NDArray[np.bool_]) -> None:
        """Keep the severity of forecasts that have come true: what was predicted is at least as severe."""
        if claims.seconds_left is not None:
            true = raised & (claims.seconds_left <= 0)
            if true.any():
                self["floor"] = np.where(true, np.maximum(self["floor"], self["severity"]), self["floor"])
