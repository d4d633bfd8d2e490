"""Turns claims into events: how long a claim must hold, what explains it, and when the condition is cleared."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from graphlib import TopologicalSorter
from hashlib import blake2s
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from flyball_collector.diagnosis.active_conditions import ActiveCondition, ActiveConditions, place_of
from flyball_collector.diagnosis.change_budget import ChangeBudget
from flyball_collector.diagnosis.claims import Claims, at
from flyball_collector.diagnosis.condition_table import ConditionTable
from flyball_collector.diagnosis.current_values import ConditionMoment, current_event, numbers_of, with_recurrence
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

CHANGES_PER_HOUR = 6
"""How often a condition may be raised and cleared within an hour. Then it stays raised while it comes and goes."""

_SECOND = 10**9


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
        changes_per_hour: int = CHANGES_PER_HOUR,
        hosts_of_run: Callable[[str], Collection[str]] = no_hosts,
        gpu_index_of: Callable[[str, str], int | None] = no_index,
    ) -> None:
        self._order = _causes_first(kinds)
        self._disabled = frozenset(disabled)
        self._tables = {kind.name: ConditionTable() for kind in kinds}
        self._last: dict[str, tuple[Claims, int]] = {}  # by kind, with their time
        self._now_ns = 0
        self._active = ActiveConditions(kinds)
        self._restored: dict[tuple[str, Subject], int] = {}  # → when it was restored
        self._root_causes = RootCauses(self._near, self.latest)
        self._budget = ChangeBudget(changes_per_hour)
        self.hosts_of_run = hosts_of_run
        self._gpu_index_of = gpu_index_of

    def active(self) -> list[ActiveCondition]:
        """Return all active conditions in no particular order."""
        return self._active.all()

    def active_by_kind(self) -> list[tuple[str, int, Collection[ActiveCondition]]]:
        """Return the active conditions by kind. The number of a kind grows when its set or a severity changes."""
        return self._active.by_kind()

    def active_of(self, place: str) -> list[ActiveCondition]:
        """Return the active conditions of a host with its GPUs, resources and ranks; or of a run, by its `place_of`."""
        return self._active.of_place(place)

    def find(self, kind: str, subject: Subject) -> ActiveCondition | None:
        """Return the active condition of this kind and subject."""
        return self._active.find(kind, subject)

    def pop_changed_places(self) -> set[str]:
        """Return the places (see `place_of`) with a change since the last call. There can be only one caller."""
        return self._active.pop_changed_places()

    def is_active(self, kind: str, subject: Subject) -> bool:
        """Return True if this condition is active."""
        return self._active.find(kind, subject) is not None

    def raised(self, kind: str) -> tuple[Subjects, NDArray[np.bool_]]:
        """Return which subjects of the latest claims of a kind have an active condition that is not absent."""
        table = self._tables[kind]
        return table.subjects, table["raised"] & ~table["absent"]

    def latest(self, kind: str) -> Claims | None:
        """Return the latest claims of a kind: current values for all subjects, active or not."""
        found = self._last.get(kind)
        return None if found is None else found[0]

    def current(self, active: ActiveCondition) -> Event:
        """Return an active condition with its present values. Every view shows these."""
        event, kind = active.event, active.kind.name
        claims, claimed_ns = self._last.get(kind, (None, self._now_ns))
        return current_event(
            event,
            claims,
            ConditionMoment(
                claims_age=(self._now_ns - claimed_ns) / _SECOND,
                event_age=(self._now_ns - event.time_ns) / _SECOND,
                clears_in=self._clears_in(active),
                times_in_hour=self._times(active.kind, active.subject) if event.times_in_hour else 0,
            ),
        )

    def load(self, events: Iterable[Event], now_ns: int) -> None:
        """Restore conditions after a restart from the last event of each condition that was not cleared."""
        for event in events:
            if event.kind.name in self._tables and event.kind.name not in self._disabled:
                self._active.put(event)
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
        self._now_ns = now_ns
        self._last.update({name: (claim, now_ns) for name, claim in by_kind.items()})
        begun: list[Subject] = []
        for kind in self._order:  # causes first, so that their effects are not raised too
            if kind.name in by_kind:
                yield from self._evaluate(by_kind[kind.name], begun)
        yield from self._forget_restored()
        if begun:
            yield from self._clear_effects(begun)
        for kind, subject, cause in list(self._root_causes.explained_again(self._now)):
            yield from self._clear_explained(kind, subject, cause)

    @property
    def _now(self) -> float:
        return self._now_ns / _SECOND

    def _evaluate(self, claims: Claims, begun: list[Subject]) -> Iterator[Event]:
        """Compare the claims of one kind with its active conditions. Add the subjects of those that begin."""
        table = self._tables[claims.kind.name]
        if table.align(claims.subjects) is not None:
            yield from self._clear_missing(claims)
        self._resume(claims, table)
        due, over, back = table.judge(claims, self._now)
        for place in due.tolist():
            event = self._raise(claims, place, table)
            if event is not None:
                begun.append(event.subject)
                yield event
        begun += [self._return(claims, place, table) for place in back.tolist()]
        for place in over.tolist():
            yield from self._end(claims, place, table)
        for place in table.changed(claims, self._now).tolist():
            yield self._change(claims, place, table)

    def _raise(self, claims: Claims, place: int, table: ConditionTable) -> Event | None:
        kind, subject = claims.kind, claims.subjects.names[place]
        if self._root_causes.suppresses(kind, subject, self._now):
            table.suppress(place, self._now + RETRY_SECONDS)
            return None
        for prediction in self._root_causes.predictions(kind, subject):
            table.raise_floor(place, prediction.severity)
        self._budget.add((kind.name, subject), self._now, begins=True)
        event = self._event(claims, place, State.RAISED, self._now_ns)
        table.mark_reported(claims, place, self._now)
        self._active.put(event)
        return event

    def _return(self, claims: Claims, place: int, table: ConditionTable) -> Subject:
        """Note that a condition that comes and goes is there again."""
        kind, subject = claims.kind, claims.subjects.names[place]
        table.return_to(place)
        self._budget.add((kind.name, subject), self._now, begins=True)
        self._active.set_absent(kind.name, subject, absent=False)
        return subject

    def _end(self, claims: Claims, place: int, table: ConditionTable) -> Iterator[Event]:
        """Clear a condition that is over, or keep it raised if it came and went too often. That is reported once."""
        kind, subject = claims.kind, claims.subjects.names[place]
        key = kind.name, subject
        if self._budget.clears_at(key, self._now) <= self._now:
            yield self._clear(kind, subject, table)
            return
        if not table["absent"][place]:
            self._budget.add(key, self._now, begins=False)
            self._active.set_absent(*key, absent=True)
        table.keep(place, self._budget.clears_at(key, self._now))
        active = self._active.find(*key)
        if active is not None and not active.event.times_in_hour:
            yield self._mark_recurring(active, claims, place, table)

    def _mark_recurring(self, active: ActiveCondition, claims: Claims, place: int, table: ConditionTable) -> Event:
        times = self._times(active.kind, active.subject)
        words = with_recurrence(active.event.because, times)
        event = replace(_without_time_left(active.event), time_ns=self._now_ns, state=State.CHANGED)
        event = replace(event, times_in_hour=times, because=words)
        table.mark_reported(claims, place, self._now)
        self._active.put(event)
        return event

    def _change(self, claims: Claims, place: int, table: ConditionTable) -> Event:
        subject = claims.subjects.names[place]
        active = self._active.find(claims.kind.name, subject)
        assert active is not None  # noqa: S101  the table marks only active conditions as raised
        before = active.event
        event = self._event(claims, place, State.CHANGED, before.raised_ns)
        times = self._times(claims.kind, subject) if before.times_in_hour else 0
        event = replace(
            event, condition=before.condition, times_in_hour=times, because=with_recurrence(event.because, times)
        )
        table.mark_reported(claims, place, self._now)
        self._active.put(event)
        return event

    def _event(self, claims: Claims, place: int, state: State, raised_ns: int) -> Event:
        subject = claims.subjects.names[place]
        return Event(
            condition=condition_id(claims.kind, subject, raised_ns),
            time_ns=self._now_ns,
            state=state,
            kind=claims.kind,
            subject=subject,
            gpu_index=self._gpu_index_of(subject.host, subject.gpu) if subject.gpu else None,
            severity=self._tables[claims.kind.name].severity_of(claims, place),
            confidence=float(claims.confidence[place]),
            seconds_left=at(claims.seconds_left, place),
            seconds_left_low=at(claims.seconds_left_low, place),
            seconds_left_high=at(claims.seconds_left_high, place),
            level=at(claims.level, place),
            because=claims.because(place),
            evidence=numbers_of(claims, place),
            raised_ns=raised_ns,
        )

    def _clear(self, kind: EventKind, subject: Subject, table: ConditionTable | None, because: str = "") -> Event:
        before = self._active.remove(kind.name, subject)
        self._budget.add((kind.name, subject), self._now, begins=False)
        self._restored.pop((kind.name, subject), None)
        self._root_causes.forget(kind, subject)
        if table is not None and subject in table.subjects.places:
            table.forget(table.subjects.places[subject])
        return replace(
            _without_time_left(before),
            time_ns=self._now_ns,
            state=State.CLEARED,
            because=because or f"cleared after {duration((self._now_ns - before.raised_ns) / _SECOND)}",
        )

    def _clear_missing(self, claims: Claims) -> Iterator[Event]:
        """Clear the conditions of subjects that no longer exist."""
        for subject in self._active.of_kind(claims.kind.name):
            if subject not in claims.subjects.places and (claims.kind.name, subject) not in self._restored:
                yield self._clear(claims.kind, subject, None, "the subject no longer exists")

    def _resume(self, claims: Claims, table: ConditionTable) -> None:
        """Continue restored conditions whose subject was seen again."""
        for name, subject in [key for key in self._restored if key[0] == claims.kind.name]:
            place, active = claims.subjects.places.get(subject), self._active.find(name, subject)
            if place is not None and active is not None:
                del self._restored[name, subject]
                table.resume(place, active.event)

    def _forget_restored(self) -> list[Event]:
        found = [k for k, since in self._restored.items() if self._now_ns - since > FORGET_RESTORED_SECONDS * _SECOND]
        expired = [active for key in found if (active := self._active.find(*key)) is not None]
        return [self._clear(each.kind, each.subject, None, "not seen again since the restart") for each in expired]

    def _clear_effects(self, begun: Iterable[Subject]) -> Iterator[Event]:
        """Clear active conditions that one which has begun explains."""
        places = {place_of(subject) for subject in begun}
        places.update(self._active.run_places())  # runs span hosts; there are only a few
        for place in places:
            for active in self._active.of_place(place):
                cause = self._root_causes.cause_of(active.kind, active.subject)
                if cause is not None:
                    yield from self._clear_explained(active.kind, active.subject, cause)

    def _clear_explained(self, kind: EventKind, subject: Subject, cause: Event) -> Iterator[Event]:
        """Clear a condition that another one explains, unless it comes and goes with it."""
        if self._budget.clears_at((kind.name, subject), self._now) <= self._now:
            yield self._clear(kind, subject, self._tables[kind.name], f"explained by {cause.kind.name}")

    def _clears_in(self, active: ActiveCondition) -> float | None:
        """Return the seconds until a condition below its exit level is cleared."""
        table = self._tables[active.kind.name]
        place = table.subjects.places.get(active.subject)
        leaving = None if place is None else at(table["leaving"], place)
        if leaving is None:
            return None
        until = self._budget.clears_at((active.kind.name, active.subject), self._now)
        return max(0.0, leaving + active.kind.clear_after_seconds - self._now, until - self._now)

    def _times(self, kind: EventKind, subject: Subject) -> int:
        return self._budget.times_in_hour((kind.name, subject), self._now)

    def _near(self, subject: Subject) -> Iterator[Event]:
        """Yield the active conditions on the same host; for a run, on any of its hosts."""
        places = [place_of(subject)]
        if subject.run and not subject.host:
            places += self.hosts_of_run(subject.run)
        for place in places:
            for active in self._active.of_place(place):
                if not active.absent:
                    yield active.event


def _without_time_left(event: Event) -> Event:
    return replace(event, seconds_left=None, seconds_left_low=None, seconds_left_high=None)


def condition_id(kind: EventKind, subject: Subject, raised_ns: int) -> str:
    """Return the id of a condition. It is the same each time it is computed."""
    return blake2s(repr((kind.name, tuple(subject), raised_ns)).encode(), digest_size=8).hexdigest()


def _causes_first(kinds: Sequence[EventKind]) -> tuple[EventKind, ...]:
    by_name = {kind.name: kind for kind in kinds}
    graph = {kind.name: [name for name in kind.explained_by if name in by_name] for kind in kinds}
    graph = {name: [*causes, *(p for p in by_name[name].foretold_by if p in by_name)] for name, causes in graph.items()}
    return tuple(by_name[name] for name in TopologicalSorter(graph).static_order())
