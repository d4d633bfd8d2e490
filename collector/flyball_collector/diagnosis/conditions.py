"""Turns claims into events: how long a claim must hold, what explains it, and when the condition is cleared."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from graphlib import TopologicalSorter
from hashlib import blake2s
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from flyball_collector.diagnosis.claims import Claims, at
from flyball_collector.diagnosis.condition_table import ConditionTable
from flyball_collector.diagnosis.event import Event, State
from flyball_collector.diagnosis.kinds import KINDS, EventKind
from flyball_collector.diagnosis.number_format import duration
from flyball_collector.diagnosis.root_causes import RootCauses
from flyball_collector.diagnosis.subject import Subject, Subjects

RETRY_SECONDS = 5.0
"""How often a condition that is explained by another one is checked again."""

FORGET_RESTORED_SECONDS = 900.0
"""A condition from before a restart is cleared if its subject has not been seen again within this time."""

EVENTS_PER_BATCH = 128
"""The event loop can run between two batches. A batch takes about 0.01 s, on a slow machine 0.03 s."""

_SECOND = 10**9
_RUN = "run\0"  # the name of a host never begins like this


@dataclass(slots=True)
class ActiveCondition:
    """A condition that was raised and is not yet cleared, with its last event."""

    event: Event

    @property
    def kind(self) -> EventKind:
        """The kind of the condition."""
        return self.event.kind

    @property
    def subject(self) -> Subject:
        """The subject of the condition."""
        return self.event.subject


def no_hosts(_: str) -> Collection[str]:
    """Return no hosts. The default where runs are unknown."""
    return ()


def no_index(_host: str, _gpu: str) -> int | None:
    """Return no number. The default where GPU numbers are unknown."""
    return None


class Conditions:
    """All active conditions. It takes claims and returns events; the time is the view's."""

    def __init__(
        self,
        kinds: Sequence[EventKind] = KINDS,
        *,
        disabled: Collection[str] = (),
        hosts_of_run: Callable[[str], Collection[str]] = no_hosts,
        gpu_index_of: Callable[[str, str], int | None] = no_index,
    ) -> None:
        self._order = _causes_first(kinds)
        self._disabled = frozenset(disabled)
        self._tables = {kind.name: ConditionTable() for kind in kinds}
        self._last: dict[str, Claims] = {}
        self._active: dict[str, dict[Subject, ActiveCondition]] = {kind.name: {} for kind in kinds}
        self._revisions = dict.fromkeys(self._active, 0)  # by kind; grows when an active set or a severity changes
        self._by_place: dict[str, dict[tuple[str, Subject], ActiveCondition]] = {}  # by host, or by run without a host
        self._changed_places: set[str] = set()  # since the last call of `pop_changed_places`
        self._restored: dict[tuple[str, Subject], int] = {}  # → when it was restored
        self._root_causes = RootCauses(self._near, self.latest)
        self.hosts_of_run = hosts_of_run
        self._gpu_index_of = gpu_index_of

    def active(self) -> list[ActiveCondition]:
        """Return all active conditions in no particular order."""
        return [active for of_kind in self._active.values() for active in of_kind.values()]

    def active_by_kind(self) -> list[tuple[str, int, Collection[ActiveCondition]]]:
        """Return the active conditions by kind. The number of a kind grows when its set or a severity changes."""
        return [(name, self._revisions[name], of_kind.values()) for name, of_kind in self._active.items()]

    def active_of(self, place: str) -> list[ActiveCondition]:
        """Return the active conditions of a host with its GPUs, resources and ranks; or of a run, by its `place_of`."""
        return list(self._by_place.get(place, {}).values())

    def pop_changed_places(self) -> set[str]:
        """Return the places (see `place_of`) with a change since the last call. There can be only one caller."""
        changed, self._changed_places = self._changed_places, set()
        return changed

    def is_active(self, kind: str, subject: Subject) -> bool:
        """Return True if this condition is active."""
        return subject in self._active[kind]

    def raised(self, kind: str) -> tuple[Subjects, NDArray[np.bool_]]:
        """Return which subjects of the latest claims of a kind have an active condition."""
        table = self._tables[kind]
        return table.subjects, table["raised"]

    def latest(self, kind: str) -> Claims | None:
        """Return the latest claims of a kind: current values for all subjects, active or not."""
        return self._last.get(kind)

    def load(self, events: Iterable[Event], now_ns: int) -> None:
        """Restore conditions after a restart from the last event of each condition that was not cleared."""
        for event in events:
            if event.kind.name in self._tables and event.kind.name not in self._disabled:
                self._store(event)
                self._restored[event.kind.name, event.subject] = now_ns

    def apply(self, claims: Iterable[Claims], now_ns: int) -> list[Event]:
        """Apply all claims of one moment and return the events. Kinds without claims stay as they are."""
        return [event for batch in self.batches(claims, now_ns) for event in batch]

    def batches(self, claims: Iterable[Claims], now_ns: int) -> Iterator[list[Event]]:
        """Apply claims like `apply`, in batches: the conditions of a whole fleet may change within one second."""
        events = self._apply(claims, now_ns)
        while batch := list(islice(events, EVENTS_PER_BATCH)):
            yield batch

    def _apply(self, claims: Iterable[Claims], now_ns: int) -> Iterator[Event]:
        by_kind = {claim.kind.name: claim for claim in claims if claim.kind.name not in self._disabled}
        self._last.update(by_kind)
        raised: list[Event] = []
        for kind in self._order:  # causes first, so that their effects are not raised too
            for event in self._evaluate(by_kind[kind.name], now_ns) if kind.name in by_kind else ():
                if event.state is State.RAISED:
                    raised.append(event)
                yield event
        yield from self._forget_restored(now_ns)
        if raised:
            yield from self._clear_effects(raised, now_ns)
        for kind, subject, cause in list(self._root_causes.explained_again(now_ns / _SECOND)):
            yield self._clear_explained(kind, subject, cause, now_ns)

    def _evaluate(self, claims: Claims, now_ns: int) -> Iterator[Event]:
        """Compare the claims of one kind with its active conditions."""
        table = self._tables[claims.kind.name]
        if table.align(claims.subjects) is not None:
            yield from self._clear_missing(claims, now_ns)
        self._resume(claims, table)
        due, over = table.judge(claims, now_ns / _SECOND)
        for place in due.tolist():
            event = self._raise(claims, place, table, now_ns)
            if event is not None:
                yield event
        for place in over.tolist():
            yield self._clear(claims.kind, claims.subjects.names[place], table, now_ns)
        for place in table.changed(claims, now_ns / _SECOND).tolist():
            yield self._change(claims, place, table, now_ns)

    def _raise(self, claims: Claims, place: int, table: ConditionTable, now_ns: int) -> Event | None:
        subject = claims.subjects.names[place]
        if self._root_causes.suppresses(claims.kind, subject, now_ns / _SECOND):
            table.suppress(place, now_ns / _SECOND + RETRY_SECONDS)
            return None
        event = self._event(claims, place, State.RAISED, now_ns, now_ns)
        table.mark_reported(claims, place, now_ns / _SECOND)
        self._store(event)
        return event

    def _change(self, claims: Claims, place: int, table: ConditionTable, now_ns: int) -> Event:
        before = self._active[claims.kind.name][claims.subjects.names[place]].event
        event = self._event(claims, place, State.CHANGED, now_ns, before.raised_ns)
        event = replace(event, condition=before.condition)
        table.mark_reported(claims, place, now_ns / _SECOND)
        self._store(event)
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

    def _clear(
        self, kind: EventKind, subject: Subject, table: ConditionTable | None, now_ns: int, because: str = ""
    ) -> Event:
        before = self._active[kind.name].pop(subject).event
        self._revisions[kind.name] += 1
        self._restored.pop((kind.name, subject), None)
        self._root_causes.forget(kind, subject)
        self._changed_places.add(place_of(subject))
        for key in _keys_of(subject):
            self._by_place.get(key, {}).pop((kind.name, subject), None)
        if table is not None and subject in table.subjects.places:
            table.forget(table.subjects.places[subject])
        return replace(
            before,
            time_ns=now_ns,
            state=State.CLEARED,
            seconds_left=None,
            seconds_left_low=None,
            seconds_left_high=None,
            because=because or f"cleared after {duration((now_ns - before.raised_ns) / _SECOND)}",
        )

    def _store(self, event: Event) -> None:
        key = (event.kind.name, event.subject)
        self._changed_places.add(place_of(event.subject))
        active = self._active[event.kind.name].get(event.subject)
        if active is None or active.event.severity is not event.severity:
            self._revisions[event.kind.name] += 1
        if active is not None:
            active.event = event
            return
        active = self._active[event.kind.name][event.subject] = ActiveCondition(event)
        for place in _keys_of(event.subject):
            self._by_place.setdefault(place, {})[key] = active

    def _clear_missing(self, claims: Claims, now_ns: int) -> Iterator[Event]:
        """Clear the conditions of subjects that no longer exist."""
        for subject in list(self._active[claims.kind.name]):
            if subject not in claims.subjects.places and (claims.kind.name, subject) not in self._restored:
                yield self._clear(claims.kind, subject, None, now_ns, "the subject no longer exists")

    def _resume(self, claims: Claims, table: ConditionTable) -> None:
        """Continue restored conditions whose subject was seen again."""
        for name, subject in [key for key in self._restored if key[0] == claims.kind.name]:
            place = claims.subjects.places.get(subject)
            if place is not None:
                del self._restored[name, subject]
                table.resume(place, self._active[name][subject].event)

    def _forget_restored(self, now_ns: int) -> list[Event]:
        expired = [k for k, since in self._restored.items() if now_ns - since > FORGET_RESTORED_SECONDS * _SECOND]
        return [
            self._clear(self._active[name][subject].kind, subject, None, now_ns, "not seen again since the restart")
            for name, subject in expired
        ]

    def _clear_effects(self, events: Sequence[Event], now_ns: int) -> list[Event]:
        """Clear active conditions that a newly raised one explains."""
        cleared = []
        near = {key for event in events if event.state is State.RAISED for key in _keys_of(event.subject)}
        near |= {key for key in self._by_place if key.startswith(_RUN)}  # runs span hosts; there are only a few
        for key in near:
            for active in list(self._by_place.get(key, {}).values()):
                cause = self._root_causes.cause_of(active.kind, active.subject)
                if cause is not None:
                    cleared.append(self._clear_explained(active.kind, active.subject, cause, now_ns))
        return cleared

    def _clear_explained(self, kind: EventKind, subject: Subject, cause: Event, now_ns: int) -> Event:
        return self._clear(kind, subject, self._tables[kind.name], now_ns, f"explained by {cause.kind.name}")

    def _near(self, subject: Subject) -> Iterator[Event]:
        """Yield the active conditions on the same host; for a run, on any of its hosts."""
        keys = [*_keys_of(subject)]
        if subject.run and not subject.host:
            keys += self.hosts_of_run(subject.run)
        for key in keys:
            for active in self._by_place.get(key, {}).values():
                yield active.event


def with_current_values(event: Event, claims: Claims, place: int) -> Event:
    """Return the event with the values of the latest claims. Below the exit level, the text begins with "fading"."""
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
    """Return the id of a condition. It is the same each time it is computed."""
    return blake2s(repr((kind.name, tuple(subject), raised_ns)).encode(), digest_size=8).hexdigest()


def place_of(subject: Subject) -> str:
    """Return the key of a condition's place: its host, or its run if it names no host."""
    return subject.host or _run_key(subject.run)


def _keys_of(subject: Subject) -> tuple[str, ...]:
    return (place_of(subject),)


def _run_key(run: str) -> str:
    return _RUN + run


def _causes_first(kinds: Sequence[EventKind]) -> tuple[EventKind, ...]:
    by_name = {kind.name: kind for kind in kinds}
    graph = {kind.name: [name for name in kind.explained_by if name in by_name] for kind in kinds}
    return tuple(by_name[name] for name in TopologicalSorter(graph).static_order())
