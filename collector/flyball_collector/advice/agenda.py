"""When each place, a host or a run, is looked at: soon after what stands there changed, and else once a minute."""

from collections.abc import Iterable, Sequence
from zlib import crc32

LOOK_AGAIN_SECONDS = 60.0
"""Numbers move without a condition that changes."""

_DRIFT_SECONDS = 10.0
"""By its name a place is looked at up to this much later: what changed together is soon spread over the minute."""

_CATCH_UP_SECONDS = 5.0
_AT_ONCE = 64
"""When more than this change in one second, they are looked at over the next few."""


class Agenda:
    """Time is the caller's; when it goes back, everything is due."""

    def __init__(self) -> None:
        self._due: dict[str, float] = {}
        self._now = float("-inf")

    def changed(self, places: Sequence[str], now: float) -> None:
        """Something else stands at these."""
        spread = _CATCH_UP_SECONDS / len(places) if len(places) > _AT_ONCE else 0.0
        for number, place in enumerate(places):
            soon = now + spread * number
            self._due[place] = min(self._due.get(place, soon), soon)

    def due(self, now: float) -> list[str]:
        """Whose time has come. Each stays due until it was looked at, or is forgotten."""
        if now < self._now:
            self._due = dict.fromkeys(self._due, now)
        self._now = now
        return [place for place, at in self._due.items() if at <= now]

    def looked(self, place: str, now: float) -> None:
        """It is done for this time."""
        self._due[place] = now + LOOK_AGAIN_SECONDS + _DRIFT_SECONDS * crc32(place.encode()) / 2**32

    def forget(self, places: Iterable[str]) -> None:
        """Nothing stands there any more."""
        for place in places:
            self._due.pop(place, None)
