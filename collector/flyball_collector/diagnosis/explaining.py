"""Which condition explains another one away: its cause, unless that costs clearly less time than what it is to explain.

A cause and its effect are not both told. But a little pressure on the CPUs does not explain steps that wait half of
their time: then both stand. The levels for it differ, and must hold for some time, so that nothing comes and goes.
"""

from collections.abc import Callable, Iterable, Iterator

from flyball_collector.diagnosis.claims import Claims, at
from flyball_collector.diagnosis.event import Event
from flyball_collector.diagnosis.kinds import EventKind
from flyball_collector.diagnosis.subject import Subject

CLEARLY_LESS = 1 / 3
"""A cause whose score is below this share of the effect's does not explain it …"""

ABOUT_AS_MUCH = 2 / 3
"""… and where both stand, it does so again from this share on."""

BESIDE_SECONDS = 10.0
"""An effect must be so much larger for this long before it is told beside its cause."""

Key = tuple[str, Subject]


class Explaining:
    """Weighs what stands near a subject (`near`) by what was claimed last (`latest`, by the name of a kind)."""

    def __init__(self, near: Callable[[Subject], Iterable[Event]], latest: Callable[[str], Claims | None]) -> None:
        self._near = near
        self._latest = latest
        self._larger: dict[Key, tuple[float, float]] = {}  # not raised yet: since when so, and when last looked at
        self._beside: dict[Key, tuple[EventKind, float | None]] = {}  # and since when that cause is large again

    def hides(self, kind: EventKind, subject: Subject, now: float) -> bool:
        """Whether what is about to be raised is no news, or not yet."""
        causes = list(self._causes(kind, subject))
        key = (kind.name, subject)
        if any(self._outweighs(cause, kind, subject, CLEARLY_LESS) for cause in causes):
            self._larger.pop(key, None)
            return True
        if causes and now - self._larger_since(key, now) < BESIDE_SECONDS:
            return True
        self._larger.pop(key, None)
        if causes:
            self._beside[key] = (kind, None)
        return False

    def _larger_since(self, key: Key, now: float) -> float:
        """What was not looked at for a while has lapsed in between."""
        self._larger = {known: times for known, times in self._larger.items() if now - times[1] <= BESIDE_SECONDS}
        since = self._larger.get(key, (now, now))[0]
        self._larger[key] = (since, now)
        return since

    def cause_of(self, kind: EventKind, subject: Subject) -> Event | None:
        """What explains something that stands, when anything near it was raised."""
        causes = list(self._causes(kind, subject))
        found = next((cause for cause in causes if self._outweighs(cause, kind, subject, CLEARLY_LESS)), None)
        if found is None and causes:
            self._beside.setdefault((kind.name, subject), (kind, None))
        return found

    def outgrown(self, now: float) -> Iterator[tuple[EventKind, Subject, Event]]:
        """What stands beside a cause that has long been about as large: to be cleared in its name."""
        for key, (kind, before) in list(self._beside.items()):
            causes = self._causes(kind, key[1])
            large = [cause for cause in causes if self._outweighs(cause, kind, key[1], ABOUT_AS_MUCH)]
            since = (now if before is None else before) if large else None
            self._beside[key] = (kind, since)
            if since is not None and now - since >= kind.clear_after_seconds:
                yield kind, key[1], large[0]

    def forget(self, kind: EventKind, subject: Subject) -> None:
        """It stands no more."""
        self._beside.pop((kind.name, subject), None)

    def _causes(self, kind: EventKind, subject: Subject) -> Iterator[Event]:
        if kind.explained_by:
            for event in self._near(subject):
                if event.kind.name in kind.explained_by and _touches(event.subject, subject):
                    yield event

    def _outweighs(self, cause: Event, kind: EventKind, subject: Subject, share: float) -> bool:
        """Only shares of the training's time are compared: what is broken explains whatever it does."""
        if not (cause.kind.costs_time and kind.costs_time):
            return True
        theirs, own = self._score(cause.kind, cause.subject), self._score(kind, subject)
        return theirs is None or own is None or theirs >= share * own

    def _score(self, kind: EventKind, subject: Subject) -> float | None:
        claims = self._latest(kind.name)
        place = claims.subjects.places.get(subject) if claims is not None else None
        if claims is None or place is None:
            return None
        level = at(claims.level, place)
        return None if level is None else level * float(claims.confidence[place])


def _touches(one: Subject, other: Subject) -> bool:
    """Whether two subjects, found near each other, have to do with each other."""
    if one.gpu and other.gpu and one.gpu != other.gpu:
        return False
    return not (one.run and other.run and one.run != other.run)
