"""The schedule by which places (hosts and runs) are evaluated: soon after a change, otherwise once a minute."""

from collections.abc import Iterable, Sequence
from zlib import crc32

EVALUATE_AGAIN_SECONDS = 60.0
"""Values change even if no condition does."""

_DRIFT_SECONDS = 10.0
"""Places are evaluated up to this much later, depending on their name, which spreads them over the minute."""

_CATCH_UP_SECONDS = 5.0
_AT_ONCE = 64
"""If more places than this change in one second, they are evaluated over the next few seconds."""


class EvaluationSchedule:
    """The caller provides the time. If it goes back, all places are due."""

    def __init__(self) -> None:
        self._due: dict[str, float] = {}
        self._now = float("-inf")

    def changed(self, places: Sequence[str], now: float) -> None:
        """Note that the conditions of these places changed."""
        spread = _CATCH_UP_SECONDS / len(places) if len(places) > _AT_ONCE else 0.0
        for number, place in enumerate(places):
            soon = now + spread * number
            self._due[place] = min(self._due.get(place, soon), soon)

    def due(self, now: float) -> list[str]:
        """Return the places that are due. A place stays due until it was evaluated or forgotten."""
        if now < self._now:
            self._due = dict.fromkeys(self._due, now)
        self._now = now
        return [place for place, at in self._due.items() if at <= now]

    def evaluated(self, place: str, now: float) -> None:
        """Note that a place was evaluated."""
        self._due[place] = now + EVALUATE_AGAIN_SECONDS + _DRIFT_SECONDS * crc32(place.encode()) / 2**32

    def forget(self, places: Iterable[str]) -> None:
        """Remove places without active conditions."""
        for place in places:
            self._due.pop(place, None)
