"""The active conditions by kind, subject and place, and the places where some have changed."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from flyball_collector.diagnosis.change_budget import ConditionKey  # noqa: TC001  used in the annotation of an attribute
from flyball_collector.diagnosis.event import Event
from flyball_collector.diagnosis.kinds import EventKind
from flyball_collector.diagnosis.subject import Subject

_RUN = "run\0"  # the name of a host never begins like this


@dataclass(slots=True)
class ActiveCondition:
    """A condition that was raised and is not yet cleared, with its last event."""

    event: Event
    absent: bool = False  # it stays raised because it comes and goes, but is not there now: it explains nothing

    @property
    def kind(self) -> EventKind:
        """The kind of the condition."""
        return self.event.kind

    @property
    def subject(self) -> Subject:
        """The subject of the condition."""
        return self.event.subject


class ActiveConditions:
    """Kept up to date by `Conditions`, which decides what is raised and cleared."""

    def __init__(self, kinds: Iterable[EventKind]) -> None:
        self._by_kind: dict[str, dict[Subject, ActiveCondition]] = {kind.name: {} for kind in kinds}
        self._revisions = dict.fromkeys(self._by_kind, 0)
        self._by_place: dict[str, dict[ConditionKey, ActiveCondition]] = {}
        self._changed_places: set[str] = set()  # since the last call of `pop_changed_places`

    def all(self) -> list[ActiveCondition]:
        """Return all active conditions in no particular order."""
        return [active for of_kind in self._by_kind.values() for active in of_kind.values()]

    def by_kind(self) -> list[tuple[str, int, Collection[ActiveCondition]]]:
        """Return the active conditions by kind. The number of a kind grows when its set or a severity changes."""
        return [(name, self._revisions[name], of_kind.values()) for name, of_kind in self._by_kind.items()]

    def of_kind(self, kind: str) -> list[Subject]:
        """Return the subjects with an active condition of a kind."""
        return list(self._by_kind[kind])

    def of_place(self, place: str) -> list[ActiveCondition]:
        """Return the active conditions of a place: see `place_of`."""
        return list(self._by_place.get(place, {}).values())

    def run_places(self) -> Iterator[str]:
        """Yield the places that are runs."""
        return (place for place in self._by_place if place.startswith(_RUN))

    def find(self, kind: str, subject: Subject) -> ActiveCondition | None:
        """Return the active condition of this kind and subject."""
        return self._by_kind.get(kind, {}).get(subject)

    def pop_changed_places(self) -> set[str]:
        """Return the places with a change since the last call."""
        changed, self._changed_places = self._changed_places, set()
        return changed

    def put(self, event: Event) -> None:
        """Add a condition, or replace the last event of one."""
        kind, subject = event.kind.name, event.subject
        place = place_of(subject)
        self._changed_places.add(place)
        active = self._by_kind[kind].get(subject)
        if active is None or active.event.severity is not event.severity:
            self._revisions[kind] += 1
        if active is not None:
            active.event = event
            return
        active = self._by_kind[kind][subject] = ActiveCondition(event)
        self._by_place.setdefault(place, {})[kind, subject] = active

    def set_absent(self, kind: str, subject: Subject, *, absent: bool) -> None:
        """Note that a condition which stays raised is not there, or is there again."""
        self._by_kind[kind][subject].absent = absent
        self._changed_places.add(place_of(subject))

    def remove(self, kind: str, subject: Subject) -> Event:
        """Remove a condition and return its last event."""
        event = self._by_kind[kind].pop(subject).event
        place = place_of(subject)
        self._revisions[kind] += 1
        self._changed_places.add(place)
        self._by_place.get(place, {}).pop((kind, subject), None)
        return event


def place_of(subject: Subject) -> str:
    """Return the key of a condition's place: its host, or its run if it names no host."""
    return subject.host or _RUN + subject.run
