"""Decides which active condition is the root cause of another one.

Each problem is reported once, under its root cause. But a cause that costs clearly less time than the effect does not
explain it: slight CPU pressure does not explain steps that wait half of their time. Then both are reported. The levels
to start and to stop this differ and must hold for some time, so that conditions do not flap.
"""

from collections.abc import Callable, Iterable, Iterator

from flyball_collector.diagnosis.claims import Claims, at
from flyball_collector.diagnosis.event import Event
from flyball_collector.diagnosis.kinds import EventKind
from flyball_collector.diagnosis.subject import Subject

CLEARLY_LESS = 1 / 3
"""A cause whose score is below this share of the effect's score does not explain it."""

ABOUT_AS_MUCH = 2 / 3
"""If both are active, the cause explains the effect again from this share on."""

SEPARATE_SECONDS = 10.0
"""The effect must be that much larger for this long before it is reported in addition to its cause."""

Key = tuple[str, Subject]


class RootCauses:
    """Compares the active conditions near a subject (`near`) by their latest claims (`latest`, by kind)."""

    def __init__(self, near: Callable[[Subject], Iterable[Event]], latest: Callable[[str], Claims | None]) -> None:
        self._near = near
        self._latest = latest
        self._larger: dict[Key, tuple[float, float]] = {}  # not raised yet: since when larger, and when last checked
        self._separate: dict[Key, tuple[EventKind, float | None]] = {}  # and since when the cause is large again

    def suppresses(self, kind: EventKind, subject: Subject, now: float) -> bool:
        """Return True if a condition must not be raised (yet), because an active condition explains it."""
        causes = list(self._causes(kind, subject))
        key = (kind.name, subject)
        if any(self._outweighs(cause, kind, subject, CLEARLY_LESS) for cause in causes):
            self._larger.pop(key, None)
            return True
        if causes and now - self._larger_since(key, now) < SEPARATE_SECONDS:
            return True
        self._larger.pop(key, None)
        if causes:
            self._separate[key] = (kind, None)
        return False

    def _larger_since(self, key: Key, now: float) -> float:
        """Return since when the effect is larger than its causes. An entry that was not checked for a while expires."""
        self._larger = {known: times for known, times in self._larger.items() if now - times[1] <= SEPARATE_SECONDS}
        since = self._larger.get(key, (now, now))[0]
        self._larger[key] = (since, now)
        return since

    def cause_of(self, kind: EventKind, subject: Subject) -> Event | None:
        """Return the condition that explains an active one. Call this after a condition near it was raised."""
        causes = list(self._causes(kind, subject))
        found = next((cause for cause in causes if self._outweighs(cause, kind, subject, CLEARLY_LESS)), None)
        if found is None and causes:
            self._separate.setdefault((kind.name, subject), (kind, None))
        return found

    def explained_again(self, now: float) -> Iterator[tuple[EventKind, Subject, Event]]:
        """Yield conditions to clear, with their cause: the cause has been about as large for long enough."""
        for key, (kind, before) in list(self._separate.items()):
            causes = self._causes(kind, key[1])
            large = [cause for cause in causes if self._outweighs(cause, kind, key[1], ABOUT_AS_MUCH)]
            since = (now if before is None else before) if large else None
            self._separate[key] = (kind, since)
            if since is not None and now - since >= kind.clear_after_seconds:
                yield kind, key[1], large[0]

    def predictions(self, kind: EventKind, subject: Subject) -> Iterator[Event]:
        """Yield the active conditions that predict this one, for the same GPU or for the host."""
        if kind.foretold_by:
            for event in self._near(subject):
                if event.kind.name in kind.foretold_by and event.subject.gpu == subject.gpu:
                    yield event

    def forget(self, kind: EventKind, subject: Subject) -> None:
        """Forget a condition that was cleared."""
        self._separate.pop((kind.name, subject), None)

    def _causes(self, kind: EventKind, subject: Subject) -> Iterator[Event]:
        if kind.explained_by:
            for event in self._near(subject):
                if event.kind.name in kind.explained_by and _are_related(event.subject, subject):
                    yield event

    def _outweighs(self, cause: Event, kind: EventKind, subject: Subject, share: float) -> bool:
        """Compare two scores if both are shares of the training's time. Broken hardware explains every effect."""
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


def _are_related(one: Subject, other: Subject) -> bool:
    """Return True unless the subjects name different GPUs or different runs."""
    if one.gpu and other.gpu and one.gpu != other.gpu:
        return False
    return not (one.run and other.run and one.run != other.run)
