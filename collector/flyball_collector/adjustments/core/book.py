"""The state of one run's adjustments, and the messages and documents that follow from an event."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec

from flyball_collector.adjustments.adjustment import Adjustment, AdjustmentState, Decision
from flyball_collector.adjustments.core.timing import StepProgress
from flyball_collector.adjustments.declared.ranks import AbleRank, RunValues
from flyball_collector.adjustments.limits import GOVERNOR
from flyball_proto.v1 import adjust_pb2 as pb

GONE_SECONDS = 600.0
"""A run without any declared value for this long is over: agents declare again as soon as they have a stream."""

MAX_OF_RUN = 256
"""Finished adjustments of a run that are kept in memory. The limits look back an hour and count roll-backs."""


class RankPlace(NamedTuple):
    """The host and the process of a rank."""

    host: str
    pid: int


@dataclass(slots=True)
class Flight:
    """An adjustment between its offer and the last word of its ranks."""

    id: str
    since_ns: int
    prepare_by_ns: int
    places: Mapping[int, RankPlace] = field(default_factory=dict)  # empty after a restart of the collector
    had_it: frozenset[int] = frozenset()  # ranks that had the new value already
    agreeing: bool = True  # the ranks decide together; without a register some may change alone (class 1)
    recovering: bool = False  # offered before a restart of the collector: a commit may have been sent
    one_decides: bool = False  # it is certain that the ranks obey one decision: the word of one holds for all
    asked_ns: int = 0  # when a recovering offer was withdrawn last: each rank that has it answers that
    committed_ns: dict[int, int] = field(default_factory=dict)  # when a rank that waits for an epoch got a commit last
    back: dict[int, float] = field(default_factory=dict)  # ranks that are back since, and how long their steps take
    overdue_ns: int | None = None  # since when its step has passed


@dataclass(slots=True)
class Watch:
    """An applied adjustment whose effect is being measured."""

    id: str
    since_ns: int


@dataclass(slots=True)
class TakeBack:
    """An adjustment that is to be taken back, and how often that was tried."""

    id: str
    what: str  # roll_back, undo or repair
    who: str
    why: str
    tries: int = 0
    next_ns: int = 0
    only_if_split: bool = False  # from before a restart: the ranks may have become equal without a record


class PolicyChoice(msgspec.Struct, frozen=True, kw_only=True):
    """The policy that a person has set for a run. It is a document."""

    run: str
    policy: str
    who: str
    why: str = ""
    time_ns: int = 0


@dataclass(slots=True)
class RunBook:
    """One run."""

    run: str
    adjustments: dict[str, Adjustment] = field(default_factory=dict)  # the oldest first
    choice: PolicyChoice | None = None
    flight: Flight | None = None
    waiting: dict[str, Flight] = field(default_factory=dict)  # committed, for the next epoch: the ranks are free again
    watch: Watch | None = None
    take_backs: dict[str, TakeBack] = field(default_factory=dict)  # by the adjustment that is taken back
    progress: StepProgress | None = None
    gone_ns: int | None = None  # since when no rank declares values
    departed: dict[int, RankPlace] = field(default_factory=dict)  # ranks whose process has left the run

    def began_again(self, rank: AbleRank, before: AbleRank | None, known: AbleRank | None) -> bool:
        """Return True if a rank declares itself for the first time after a restart.

        `before` is any rank of the run so far, and `known` this one.
        """
        place = RankPlace(rank.host, rank.pid)
        was = self.departed.pop(rank.rank, place)
        if known is not None:
            was = RankPlace(known.host, known.pid)
        another = before is not None and (before.attempt, before.group, before.world_size) != (
            rank.attempt, rank.group, rank.world_size
        )  # fmt: skip
        return was != place or another or self._is_over_for(rank, is_back=known is None)

    def _is_over_for(self, rank: AbleRank, *, is_back: bool) -> bool:
        """Return True if a rank shows that what is in progress belongs to an earlier start, which may be stored.

        A rank that is back behind the step of a change that all have made is another process.
        """
        flying = [self.adjustments[each.id] for each in self.flights]
        watched = [self.watched] if self.watched is not None else []
        if any(each.attempt != rank.attempt for each in (*flying, *watched)):
            return True
        return is_back and any(rank.step < each.at_step for each in watched)

    def newest_first(self) -> Iterator[Adjustment]:
        """Yield the adjustments of the run."""
        return reversed(self.adjustments.values())

    def in_state(self, state: AdjustmentState) -> list[Adjustment]:
        """Return the adjustments in a state."""
        return [each for each in self.adjustments.values() if each.state is state]

    def gone_for_long(self, now_ns: int) -> bool:
        """Return True if the run has ended, as far as is known."""
        return self.gone_ns is not None and now_ns - self.gone_ns > GONE_SECONDS * 10**9

    @property
    def flights(self) -> list[Flight]:
        """Return what is offered or committed."""
        return [*([self.flight] if self.flight is not None else ()), *self.waiting.values()]

    @property
    def in_flight(self) -> Adjustment | None:
        """Return the adjustment about which the ranks decide now."""
        return None if self.flight is None else self.adjustments[self.flight.id]

    def takes_back(self, name: str) -> bool:
        """Return True if a change of this value is to be taken back."""
        return any(self.adjustments[each].name == name for each in self.take_backs)

    def is_repaired(self, name: str) -> bool:
        """Return True if it is certain that a change of this value is taken back, which makes unequal ranks equal."""
        certain = [back.id for back in self.take_backs.values() if not back.only_if_split]
        return any(self.adjustments[each].name == name for each in certain)

    def why_busy(self, name: str) -> str:
        """Return why no change of a value can be offered now; empty if one can.

        One is offered at a time, and a value that waits for the next epoch is not changed again before.
        """
        for waiting in map(self.adjustments.__getitem__, self.waiting):
            if waiting.name == name:
                return f"adjustment {waiting.id} of {name!r} takes effect when the next epoch begins; undo it then"
        if self.flight is not None:
            return f"another change of run {self.run!r} is in progress; try again in some seconds"
        return ""

    def flight_of(self, adjustment: str) -> Flight | None:
        """Return the flight of an adjustment, if it is offered or committed."""
        return next((each for each in self.flights if each.id == adjustment), None)

    def land(self, adjustment: str) -> Flight | None:
        """Remove and return the flight of an adjustment, because nothing more is expected of its ranks."""
        if self.flight is not None and self.flight.id == adjustment:
            landed, self.flight = self.flight, None
            return landed
        return self.waiting.pop(adjustment, None)

    @property
    def measured_id(self) -> str:
        """Return the adjustment whose measured effect decides something; empty if there is none."""
        return "" if self.watch is None or self.watch.id in self.take_backs else self.watch.id

    @property
    def watched(self) -> Adjustment | None:
        """Return the adjustment whose effect is being measured."""
        return None if self.watch is None else self.adjustments[self.watch.id]

    def progress_of(self, values: RunValues) -> StepProgress:
        """Return how far the run is, by its newest report.

        What ranks declare about the duration of a step may be from before a change. So it counts only until that was
        measured, and then the shortest duration.
        """
        declared = StepProgress(values.step, values.step_seconds, values.received_ns)
        known = self.progress
        if known is None:
            return declared
        if known.settled:
            newest = max(known, declared, key=lambda each: each.at_ns)
            return StepProgress(newest.step, known.step_seconds, newest.at_ns)
        if known.at_ns < declared.at_ns - 60 * 10**9:
            return declared
        seconds = [each for each in (known.step_seconds, declared.step_seconds) if each is not None]
        newest = known if known.at_ns >= declared.at_ns else declared
        return StepProgress(newest.step, min(seconds, default=None), newest.at_ns)


@dataclass(slots=True)
class FollowUps:
    """The consequences of an event: messages to hosts, and adjustments that have changed, in order."""

    messages: list[tuple[str, pb.CollectorAdjust]] = field(default_factory=list)
    changed: list[Adjustment] = field(default_factory=list)
    answered: set[str] = field(default_factory=set)  # adjustments with answers that only have to be stored, soon
    loud: list[Adjustment] = field(default_factory=list)  # what must never happen, and did

    def send(self, hosts: tuple[str, ...], message: pb.CollectorAdjust) -> None:
        """Send a message to some hosts."""
        self.messages += [(host, message) for host in hosts]

    def put(self, book: RunBook, adjustment: Adjustment) -> Adjustment:
        """Keep a new version of an adjustment."""
        book.adjustments[adjustment.id] = adjustment
        self.changed.append(adjustment)
        _forget_oldest(book)
        return adjustment

    def put_answer(self, book: RunBook, adjustment: Adjustment) -> Adjustment:
        """Keep an adjustment with another answer. To store each of thousands at once would take seconds."""
        book.adjustments[adjustment.id] = adjustment
        self.answered.add(adjustment.id)
        return adjustment

    def change(
        self,
        book: RunBook,
        adjustment: Adjustment,
        now_ns: int,
        what: str,
        *,
        who: str = GOVERNOR,
        why: str = "",
        **fields: object,
    ) -> Adjustment:
        """Change fields of an adjustment, and record the decision behind it."""
        decision = Decision(time_ns=now_ns, what=what, who=who, why=why)
        decisions = (*adjustment.decisions, decision)
        changed = msgspec.structs.replace(adjustment, decisions=decisions, changed_ns=now_ns, **fields)
        return self.put(book, changed)

    def finish(
        self,
        book: RunBook,
        adjustment: Adjustment,
        state: AdjustmentState,
        now_ns: int,
        reason: str,
        *,
        who: str = GOVERNOR,
        what: str = "",
    ) -> Adjustment:
        """Set the state in which an adjustment ends, with the reason in words."""
        return self.change(
            book, adjustment, now_ns, what or state.value, who=who, why=reason, state=state, reason=reason
        )


def _forget_oldest(book: RunBook) -> None:
    if len(book.adjustments) > MAX_OF_RUN:
        over = (id_ for id_, each in book.adjustments.items() if each.is_over and id_ not in book.take_backs)
        oldest = next(over, None)
        if oldest is not None:
            del book.adjustments[oldest]
