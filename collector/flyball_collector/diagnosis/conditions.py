"""From claims to events: how long a claim must hold, what explains it away, when it is over. The one place for it."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from graphlib import TopologicalSorter
from hashlib import blake2s
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from flyball_collector.diagnosis.book import Book
from flyball_collector.diagnosis.claims import Claims, at
from flyball_collector.diagnosis.event import Event, State
from flyball_collector.diagnosis.explaining import Explaining
from flyball_collector.diagnosis.kinds import KINDS, EventKind
from flyball_collector.diagnosis.subject import Subject, Subjects

LOOK_AGAIN_SECONDS = 5.0
"""How often a condition that another one explains is looked at again."""

FORGET_RESTORED_SECONDS = 900.0
"""A condition of before a restart whose subject has not come back by then is over."""

EVENTS_A_PART = 128
"""Events between which others are served: some 0.01 s of work, on a slow machine 0.03 s."""

_SECOND = 10**9
_RUN = "run\0"  # no host's name begins so


@dataclass(slots=True)
class ActiveCondition:
    """A condition that is raised and not yet cleared, with what was last told of it."""

    event: Event

    @property
    def kind(self) -> EventKind:
        """Of which kind it is."""
        return self.event.kind

    @property
    def subject(self) -> Subject:
        """What it is about."""
        return self.event.subject


def no_hosts(_: str) -> Collection[str]:
    """Where no run is known."""
    return ()


def no_index(_host: str, _gpu: str) -> int | None:
    """Where no GPU's number is known."""
    return None


class Conditions:
    """Every condition that stands. Its input are claims, its output events; time is the view's."""

    def __init__(
        self,
        kinds: Sequence[EventKind] = KINDS,
        *,
        disabled: Collection[str] = (),
        hosts_of_run: Callable[[str], Collection[str]] = no_hosts,
        gpu_index_of: Callable[[str, str], int | None] = no_index,
    ) -> None:
        self._order = _explainers_first(kinds)
        self._disabled = frozenset(disabled)
        self._kept = {kind.name: Book() for kind in kinds}
        self._last: dict[str, Claims] = {}
        self._active: dict[str, dict[Subject, ActiveCondition]] = {kind.name: {} for kind in kinds}
        self._revisions = dict.fromkeys(self._active, 0)  # by kind: of what stands, and how severe it is
        self._of_place: dict[
            str, dict[tuple[str, Subject], ActiveCondition]
        ] = {}  # by host, and by run where there is none
        self._touched: set[str] = set()  # places where something else stands than when they were last asked for
        self._restored: dict[tuple[str, Subject], int] = {}  # and since when
        self._explaining = Explaining(self._near, self.latest)
        self.hosts_of_run = hosts_of_run
        self._gpu_index_of = gpu_index_of

    def active(self) -> list[ActiveCondition]:
        """Everything that stands, in no particular order."""
        return [active for of_kind in self._active.values() for active in of_kind.values()]

    def active_by_kind(self) -> list[tuple[str, int, Collection[ActiveCondition]]]:
        """The same by kind, each with a number that grows when anything else of it stands, or another severity does."""
        return [(name, self._revisions[name], of_kind.values()) for name, of_kind in self._active.items()]

    def active_of(self, place: str) -> list[ActiveCondition]:
        """What stands for a host, its GPUs, resources and ranks; or for a run, by its `place_of`."""
        return list(self._of_place.get(place, {}).values())

    def touched(self) -> set[str]:
        """The places (see `place_of`) where anything was raised, changed or cleared since the last call; for one
        reader."""
        touched, self._touched = self._touched, set()
        return touched

    def stands(self, kind: str, subject: Subject) -> bool:
        """Whether this very condition stands."""
        return subject in self._active[kind]

    def raised(self, kind: str) -> tuple[Subjects, NDArray[np.bool_]]:
        """Where conditions of a kind stand, along the subjects that it was last claimed of."""
        book = self._kept[kind]
        return book.subjects, book["raised"]

    def latest(self, kind: str) -> Claims | None:
        """What was last claimed of a kind: live numbers of what stands, and of what does not."""
        return self._last.get(kind)

    def load(self, events: Iterable[Event], now_ns: int) -> None:
        """Take over what stood before a restart: the last event of each condition that was not cleared."""
        for event in events:
            if event.kind.name in self._kept and event.kind.name not in self._disabled:
                self._stand(event)
                self._restored[event.kind.name, event.subject] = now_ns

    def take(self, claims: Iterable[Claims], now_ns: int) -> list[Event]:
        """Everything that is claimed at one moment; kinds of which nothing is said stay as they are."""
        return [event for part in self.parts(claims, now_ns) for event in part]

    def parts(self, claims: Iterable[Claims], now_ns: int) -> Iterator[list[Event]]:
        """The same in parts: a whole fleet may begin to train, and to be bound by something, in one second."""
        events = self._take(claims, now_ns)
        while part := list(islice(events, EVENTS_A_PART)):
            yield part

    def _take(self, claims: Iterable[Claims], now_ns: int) -> Iterator[Event]:
        said = {claim.kind.name: claim for claim in claims if claim.kind.name not in self._disabled}
        self._last.update(said)
        raised: list[Event] = []
        for kind in self._order:  # explainers first, so that what they explain is not raised beside them
            for event in self._weigh(said[kind.name], now_ns) if kind.name in said else ():
                if event.state is State.RAISED:
                    raised.append(event)
                yield event
        yield from self._forget_restored(now_ns)
        if raised:
            yield from self._explain(raised, now_ns)
        for kind, subject, cause in list(self._explaining.outgrown(now_ns / _SECOND)):
            yield self._clear_explained(kind, subject, cause, now_ns)

    def _weigh(self, claims: Claims, now_ns: int) -> Iterator[Event]:
        """One kind's claims against what stands of it."""
        book = self._kept[claims.kind.name]
        if book.align(claims.subjects) is not None:
            yield from self._gone(claims, now_ns)
        self._resume(claims, book)
        ripe, over = book.judge(claims, now_ns / _SECOND)
        for place in ripe.tolist():
            event = self._raise(claims, place, book, now_ns)
            if event is not None:
                yield event
        for place in over.tolist():
            yield self._clear(claims.kind, claims.subjects.names[place], book, now_ns)
        for place in book.changed(claims, now_ns / _SECOND).tolist():
            yield self._change(claims, place, book, now_ns)

    def _raise(self, claims: Claims, place: int, book: Book, now_ns: int) -> Event | None:
        subject = claims.subjects.names[place]
        if self._explaining.hides(claims.kind, subject, now_ns / _SECOND):
            book.quiet(place, now_ns / _SECOND + LOOK_AGAIN_SECONDS)
            return None
        event = self._event(claims, place, State.RAISED, now_ns, now_ns)
        book.tell(claims, place, now_ns / _SECOND)
        self._stand(event)
        return event

    def _change(self, claims: Claims, place: int, book: Book, now_ns: int) -> Event:
        before = self._active[claims.kind.name][claims.subjects.names[place]].event
        event = self._event(claims, place, State.CHANGED, now_ns, before.raised_ns)
        event = replace(event, condition=before.condition)
        book.tell(claims, place, now_ns / _SECOND)
        self._stand(event)
        return event

    def _event(self, claims: Claims, place: int, state: State, now_ns: int, raised_ns: int) -> Event:
        subject = claims.subjects.names[place]
        return Event(
            condition=condition_id(claims.kind, subject, raised_ns),
            time_ns=now_ns,
            state=state,
            kind=claims.kind,
            subject=subject,
            gpu_index=self._gpu_index_of(subject.host, subject.gpu) if subject.gpu else None,
            severity=claims.severity_of(place),
            confidence=float(claims.confidence[place]),
            seconds_left=at(claims.seconds_left, place),
            seconds_left_low=at(claims.seconds_left_low, place),
            seconds_left_high=at(claims.seconds_left_high, place),
            level=at(claims.level, place),
            because=claims.because(place),
            evidence=_numbers(claims, place),
            raised_ns=raised_ns,
        )

    def _clear(self, kind: EventKind, subject: Subject, book: Book | None, now_ns: int, because: str = "") -> Event:
        before = self._active[kind.name].pop(subject).event
        self._revisions[kind.name] += 1
        self._restored.pop((kind.name, subject), None)
        self._explaining.forget(kind, subject)
        self._touched.add(place_of(subject))
        for key in _keys_of(subject):
            self._of_place.get(key, {}).pop((kind.name, subject), None)
        if book is not None and subject in book.subjects.places:
            book.forget(book.subjects.places[subject])
        minutes = (now_ns - before.raised_ns) / _SECOND / 60
        return replace(
            before,
            time_ns=now_ns,
            state=State.CLEARED,
            seconds_left=None,
            seconds_left_low=None,
            seconds_left_high=None,
            because=because or f"over after {minutes:.1f} minutes",
        )

    def _stand(self, event: Event) -> None:
        key = (event.kind.name, event.subject)
        self._touched.add(place_of(event.subject))
        active = self._active[event.kind.name].get(event.subject)
        if active is None or active.event.severity is not event.severity:
            self._revisions[event.kind.name] += 1
        if active is not None:
            active.event = event
            return
        active = self._active[event.kind.name][event.subject] = ActiveCondition(event)
        for place in _keys_of(event.subject):
            self._of_place.setdefault(place, {})[key] = active

    def _gone(self, claims: Claims, now_ns: int) -> Iterator[Event]:
        """What stood for subjects that are no more."""
        for subject in list(self._active[claims.kind.name]):
            if subject not in claims.subjects.places and (claims.kind.name, subject) not in self._restored:
                yield self._clear(claims.kind, subject, None, now_ns, "no longer there")

    def _resume(self, claims: Claims, book: Book) -> None:
        """What stood before a restart goes on when its subject is seen."""
        for name, subject in [key for key in self._restored if key[0] == claims.kind.name]:
            place = claims.subjects.places.get(subject)
            if place is not None:
                del self._restored[name, subject]
                book.resume(place, self._active[name][subject].event)

    def _forget_restored(self, now_ns: int) -> list[Event]:
        late = [k for k, since in self._restored.items() if now_ns - since > FORGET_RESTORED_SECONDS * _SECOND]
        return [
            self._clear(self._active[name][subject].kind, subject, None, now_ns, "not seen again since the restart")
            for name, subject in late
        ]

    def _explain(self, events: Sequence[Event], now_ns: int) -> list[Event]:
        """What stood already ends when something that explains it was raised."""
        cleared = []
        near = {key for event in events if event.state is State.RAISED for key in _keys_of(event.subject)}
        near |= {key for key in self._of_place if key.startswith(_RUN)}  # a run spans hosts; there are few
        for key in near:
            for active in list(self._of_place.get(key, {}).values()):
                cause = self._explaining.cause_of(active.kind, active.subject)
                if cause is not None:
                    cleared.append(self._clear_explained(active.kind, active.subject, cause, now_ns))
        return cleared

    def _clear_explained(self, kind: EventKind, subject: Subject, cause: Event, now_ns: int) -> Event:
        return self._clear(kind, subject, self._kept[kind.name], now_ns, f"explained by {cause.kind.name}")

    def _near(self, subject: Subject) -> Iterator[Event]:
        """What stands on the same host; for a run, on any of its hosts."""
        keys = [*_keys_of(subject)]
        if subject.run and not subject.host:
            keys += self.hosts_of_run(subject.run)
        for key in keys:
            for active in self._of_place.get(key, {}).values():
                yield active.event


def live(event: Event, claims: Claims, place: int) -> Event:
    """What stands, with the numbers of the newest claim; where that is below its exit level the words say so."""
    words = claims.because(place)
    claimed = bool(claims.enters[place] or claims.stays[place])
    return replace(
        event,
        confidence=float(claims.confidence[place]),
        level=at(claims.level, place),
        because=words if claimed else f"fading: {words}",
        evidence=_numbers(claims, place),
    )


def _numbers(claims: Claims, place: int) -> Mapping[str, float]:
    return {name: value for name, values in claims.evidence.items() if (value := at(values, place)) is not None}


def condition_id(kind: EventKind, subject: Subject, raised_ns: int) -> str:
    """The name of a condition: the same however often it is computed."""
    return blake2s(repr((kind.name, tuple(subject), raised_ns)).encode(), digest_size=8).hexdigest()


def place_of(subject: Subject) -> str:
    """Under which name a condition is found: its host, or its run where it has none."""
    return subject.host or _run_key(subject.run)


def _keys_of(subject: Subject) -> tuple[str, ...]:
    return (place_of(subject),)


def _run_key(run: str) -> str:
    return _RUN + run


def _explainers_first(kinds: Sequence[EventKind]) -> tuple[EventKind, ...]:
    by_name = {kind.name: kind for kind in kinds}
    graph = {kind.name: [name for name in kind.explained_by if name in by_name] for kind in kinds}
    return tuple(by_name[name] for name in TopologicalSorter(graph).static_order())
