"""The entries that one receiver has yet to get, and the conditions it knows. Both are stored, for restarts."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from flyball_collector.diagnosis.event import State
from flyball_collector.diagnosis.kinds import Severity
from flyball_collector.notify.adjustment_kinds import is_notified
from flyball_collector.timeline.entry import Entry
from flyball_collector.timeline.entry_documents import Name, Put

WAITING = "notification"
"""Documents of waiting entries: RECEIVER/ENTRY."""

NOTIFIED = "notified"
"""Documents with the last notified severity of an active condition: RECEIVER/CONDITION."""

MAX_WAITING = 20_000


class WaitingEntry(msgspec.Struct, frozen=True):
    """An entry that a receiver has not accepted yet."""

    entry: Entry
    taken_ns: int


@dataclass(slots=True)
class Outbox:
    """The outbox of one receiver. It is pure: its user writes the documents that the methods return."""

    receiver: str
    min_severity: Severity
    waiting: dict[str, WaitingEntry] = field(default_factory=dict)  # by entry, oldest first
    notified: dict[str, str] = field(default_factory=dict)  # condition → severity
    _conditions: dict[str, int] = field(default_factory=dict)  # number of waiting entries of each condition

    def load(self, waiting: Mapping[str, bytes], notified: Mapping[str, bytes]) -> None:
        """Load stored documents of this receiver. Damaged ones are skipped."""
        for id_ in sorted(waiting):
            try:
                self._put(msgspec.json.decode(waiting[id_], type=WaitingEntry))
            except msgspec.MsgspecError:
                continue
        self.notified |= {condition: severity.decode(errors="replace") for condition, severity in notified.items()}

    def take(self, entry: Entry, before: Entry | None, now_ns: int) -> list[Put]:
        """Queue an entry if the receiver should get it."""
        if not self._wants(entry, before):
            return []
        waiting = WaitingEntry(entry, now_ns)
        self._put(waiting)
        return [(WAITING, self._name(entry.id), msgspec.json.encode(waiting))]

    def knows(self, condition: str) -> bool:
        """Return True if the receiver knows a condition, or will."""
        return condition in self.notified or condition in self._conditions

    def waits_for(self, condition: str) -> bool:
        """Return True if an entry of the condition waits."""
        return condition in self._conditions

    def settle(self, entries: Sequence[Entry]) -> tuple[list[Put], list[Name]]:
        """Note that the receiver has accepted entries."""
        puts: dict[str, Put] = {}
        forgets: list[Name] = []
        for entry in entries:
            self._drop(entry.id)
            forgets.append((WAITING, self._name(entry.id)))
            if entry.is_active:
                self.notified[entry.condition] = entry.severity
                puts[entry.condition] = (NOTIFIED, self._name(entry.condition), entry.severity.encode())
            elif self.notified.pop(entry.condition, None) is not None or entry.condition in puts:
                puts.pop(entry.condition, None)
                forgets.append((NOTIFIED, self._name(entry.condition)))
        return list(puts.values()), forgets

    def give_up(self, ids: Sequence[str]) -> list[Name]:
        """Drop entries without delivering them. The end of a condition also removes its notified severity."""
        ended = {self.waiting[id_].entry.condition for id_ in ids if not self.waiting[id_].entry.is_active}
        for id_ in ids:
            self._drop(id_)
        return [(WAITING, self._name(id_)) for id_ in ids] + self.forget_notified(ended & self.notified.keys())

    def forget_notified(self, conditions: Collection[str]) -> list[Name]:
        """Forget conditions that have ended."""
        for condition in conditions:
            del self.notified[condition]
        return [(NOTIFIED, self._name(condition)) for condition in conditions]

    def expired(self, before_ns: int) -> list[str]:
        """Return entries that have waited since before that time, or the oldest beyond the limit."""
        late = [id_ for id_, waiting in self.waiting.items() if waiting.taken_ns < before_ns]
        return late or list(self.waiting)[: max(0, len(self.waiting) - MAX_WAITING)]

    def entries(self) -> Iterator[Entry]:
        """Return the waiting entries, oldest first."""
        return (waiting.entry for waiting in self.waiting.values())

    def _wants(self, entry: Entry, before: Entry | None) -> bool:
        if not is_notified(entry.kind) or not entry.condition:
            return False
        if entry.state == State.CLEARED:
            return self.knows(entry.condition)
        if before is not None and before.severity == entry.severity and self.knows(entry.condition):
            return False
        return entry.severity_level >= self.min_severity or self.knows(entry.condition)

    def _put(self, waiting: WaitingEntry) -> None:
        self.waiting[waiting.entry.id] = waiting
        self._conditions[waiting.entry.condition] = self._conditions.get(waiting.entry.condition, 0) + 1

    def _drop(self, id_: str) -> None:
        waiting = self.waiting.pop(id_, None)
        if waiting is None:
            return
        left = self._conditions[waiting.entry.condition] - 1
        if left:
            self._conditions[waiting.entry.condition] = left
        else:
            del self._conditions[waiting.entry.condition]

    def _name(self, rest: str) -> str:
        return f"{self.receiver}/{rest}"
