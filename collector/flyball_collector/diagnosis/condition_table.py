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

_FEW = 4
"""Fewer than one subject in so many are looked at one by one."""


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
        places = self._places(claims.enters | self["raised"] | ~np.isnan(self["entering"]))  # nothing changes elsewhere
        raised, entering, leaving = (self[name][places] for name in ("raised", "entering", "leaving"))
        known = np.ones(len(raised), dtype=bool) if claims.known is None else claims.known[places]
        enters = claims.enters[places] & known
        stays = (claims.stays[places] & known) | enters
        entering[known & ~enters] = np.nan
        entering[enters & np.isnan(entering)] = now
        leaving[stays | ~raised] = np.nan
        leaving[known & raised & ~stays & np.isnan(leaving)] = now
        self["entering"][places], self["leaving"][places] = entering, leaving
        begins = enters & (now - entering >= claims.kind.raise_after_seconds)
        due = begins & ~raised & (now >= self["suppressed"][places])
        over = raised & known & (now - leaving >= claims.kind.clear_after_seconds)
        absent = self["absent"][places]
        back = begins & absent
        over &= ~absent | (now >= self["kept_until"][places])
        self._busy = bool(raised.any()) or not np.isnan(entering).all()
        return StateChanges(*(_among(places, flags) for flags in (due, over, back)))

    def changed(self, claims: Claims, now: float) -> Places:
        """Return the positions where an active condition differs enough from its last report."""
        if self.is_idle:
            return _NOWHERE
        raised = self["raised"] & (claims.stays | claims.enters)
        if claims.known is not None:
            raised &= claims.known
        if not raised.any():
            return _NOWHERE
        places = self._places(raised)
        self._keep_severity(claims, raised)
        kept = {name: self[name][places] for name in ("reported", "severity", "confidence", "seconds_left", "floor")}
        own = claims.kind.severity if claims.severity is None else claims.severity[places]
        severity = np.maximum(own, kept["floor"])
        different = severity != kept["severity"]
        different |= np.abs(claims.confidence[places] - kept["confidence"]) >= 0.2
        if claims.seconds_left is not None:
            left = claims.seconds_left[places]
            expected = np.maximum(kept["seconds_left"] - (now - kept["reported"]), 0)
            different |= np.abs(left - expected) > np.maximum(0.5 * expected, 60)
            different |= (left <= 0) & (kept["seconds_left"] > 0)  # the forecast has come true
        age = kept["reported"] - self["since"][places]
        due = now - kept["reported"] >= np.maximum(REPORT_AGAIN_SECONDS, REPORT_AGAIN_SHARE * age)
        return _among(places, raised[places] & ((severity > kept["severity"]) | (different & due)))

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

    def _places(self, flags: NDArray[np.bool_]) -> Places | slice:
        """Return the positions of flags if these are few, otherwise all: then the values need not be gathered."""
        places = np.flatnonzero(flags)
        return places if _FEW * len(places) < len(flags) else slice(None)

    def _keep_severity(self, claims: Claims, raised: NDArray[np.bool_]) -> None:
        """Keep the severity of forecasts that have come true: what was predicted is at least as severe."""
        if claims.seconds_left is not None:
            true = np.flatnonzero(raised & (claims.seconds_left <= 0))
            self["floor"][true] = np.maximum(self["floor"][true], self["severity"][true])


def _among(places: Places | slice, flags: NDArray[np.bool_]) -> Places:
    """Return which of these positions have a flag; `flags` is along them."""
    return np.flatnonzero(flags) if isinstance(places, slice) else places[flags]
