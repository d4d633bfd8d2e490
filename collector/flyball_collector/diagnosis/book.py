"""What is remembered of one kind of condition, along its subjects: what is about to be raised, and what was told."""

import numpy as np
from numpy.typing import NDArray

from flyball_collector.diagnosis.claims import Claims
from flyball_collector.diagnosis.event import Event
from flyball_collector.diagnosis.keeping import Kept

Places = NDArray[np.int64]

TELL_AGAIN_SECONDS = 60.0
"""A condition that changes is told at most this often, unless it became worse …"""

TELL_AGAIN_SHARE = 0.5
"""… and not before this share of the time that it had stood when it was last told: the longer, the more seldom."""

_SECOND = 10**9
_NOWHERE: Places = np.empty(0, dtype=np.int64)


class Book(Kept):
    """What is remembered of one kind, along its subjects."""

    def __init__(self) -> None:
        super().__init__(
            raised=False,
            entering=float("nan"),  # since when the entry level holds
            leaving=float("nan"),  # since when the exit level is left
            quiet=float("-inf"),  # not raised before
            since=0.0,  # when it was raised
            told=float("-inf"),  # when it was last told …
            severity=-1,  # … and what
            confidence=float("nan"),
            left=float("nan"),
        )
        self._busy = False

    @property
    def rests(self) -> bool:
        """Whether nothing is raised, and no entry level holds: then only what enters makes a difference."""
        return not self._busy

    def judge(self, claims: Claims, now: float) -> tuple[Places, Places]:
        """Whose time has come: places to raise, and places to clear."""
        if self.rests and not claims.enters.any():  # as most do most of the time
            return _NOWHERE, _NOWHERE
        known = np.ones(len(claims.subjects), dtype=bool) if claims.known is None else claims.known
        enters, stays = claims.enters & known, (claims.stays | claims.enters) & known
        entering, leaving, raised = self["entering"], self["leaving"], self["raised"]
        entering[known & ~enters] = np.nan
        entering[enters & np.isnan(entering)] = now
        leaving[stays | ~raised] = np.nan
        leaving[known & raised & ~stays & np.isnan(leaving)] = now
        ripe = enters & ~raised & (now - entering >= claims.kind.raise_after_seconds) & (now >= self["quiet"])
        over = raised & known & (now - leaving >= claims.kind.clear_after_seconds)
        self._busy = bool(raised.any()) or not np.isnan(entering).all()
        return np.flatnonzero(ripe), np.flatnonzero(over)

    def changed(self, claims: Claims, now: float) -> Places:
        """Where what stands differs from what was told of it."""
        if self.rests:
            return _NOWHERE
        raised = self["raised"] & (claims.stays | claims.enters)
        if claims.known is not None:
            raised &= claims.known
        if not raised.any():
            return _NOWHERE
        severity = claims.severity if claims.severity is not None else np.int8(claims.kind.severity)
        worse = raised & (severity > self["severity"])
        other = (severity != self["severity"]) | (np.abs(claims.confidence - self["confidence"]) >= 0.2)
        if claims.seconds_left is not None:
            expected = np.maximum(self["left"] - (now - self["told"]), 0)
            other |= np.abs(claims.seconds_left - expected) > np.maximum(0.5 * expected, 60)
            other |= (claims.seconds_left <= 0) & (self["left"] > 0)  # what was foreseen has come true
        stood = np.where(raised, self["told"] - self["since"], 0.0)
        due = now - self["told"] >= np.maximum(TELL_AGAIN_SECONDS, TELL_AGAIN_SHARE * stood)
        return np.flatnonzero(worse | (raised & other & due))

    def tell(self, claims: Claims, place: int, now: float) -> None:
        """Remember what is told; of a place that was ripe, or is raised: the book does not rest."""
        if not self["raised"][place]:
            self["since"][place] = now
        self["raised"][place] = True
        self["leaving"][place] = np.nan
        self["told"][place] = now
        self["severity"][place] = claims.severity_of(place)
        self["confidence"][place] = claims.confidence[place]
        self["left"][place] = np.nan if claims.seconds_left is None else claims.seconds_left[place]

    def resume(self, place: int, event: Event) -> None:
        """The same from an event of before a restart."""
        self._busy = True
        self["raised"][place] = True
        self["since"][place] = event.raised_ns / _SECOND
        self["told"][place] = event.time_ns / _SECOND
        self["severity"][place] = event.severity
        self["confidence"][place] = event.confidence
        self["left"][place] = np.nan if event.seconds_left is None else event.seconds_left

    def forget(self, place: int) -> None:
        """It is over."""
        self["raised"][place] = False
        self["entering"][place] = self["leaving"][place] = np.nan

    def quiet(self, place: int, until: float) -> None:
        """Do not look at it before."""
        self["quiet"][place] = until
