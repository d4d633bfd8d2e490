"""What one receiver has yet to be told, and what it was told: kept in the store, so that a restart loses nothing."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from flyball_collector.diagnosis.event import State
from flyball_collector.diagnosis.kinds import BY_NAME, Severity
from flyball_collector.timeline.documents import Name, Put
from flyball_collector.timeline.entry import Entry

WAITING = "notification"
"""Documents of what waits, by RECEIVER/ENTRY."""

TOLD = "notified"
"""The severity under which a receiver knows a condition that stands, by RECEIVER/CONDITION."""

MAX_WAITING = 20_000


class Waiting(msgspec.Struct, frozen=True):
    """An entry that a receiver has not taken yet."""

    entry: Entry
    taken_ns: int


@dataclass(slots=True)
class Outbox:
    """One receiver's. Pure: who changes it writes what the methods return."""

    receiver: str
    min_severity: Severity
    waiting: dict[str, Waiting] = field(default_factory=dict)  # by entry, oldest first
    told: dict[str, str] = field(default_factory=dict)  # condition → severity
    _conditions: dict[str, int] = field(default_factory=dict)  # how many entries of each wait

    def load(self, waiting: Mapping[str, bytes], told: Mapping[str, bytes]) -> None:
        """Take over what was stored under this receiver; what is damaged is left out."""
        for id_ in sorted(waiting):
            try:
                self._put(msgspec.json.decode(waiting[id_], type=Waiting))
            except msgspec.MsgspecError:
                continue
        self.told |= {condition: severity.decode(errors="replace") for condition, severity in told.items()}

    def take(self, entry: Entry, before: Entry | None, now_ns: int) -> list[Put]:
        """Have this told, if the receiver is to know of it."""
        if not self._wants(entry, before):
            return []
        waiting = Waiting(entry, now_ns)
        self._put(waiting)
        return [(WAITING, self._name(entry.id), msgspec.json.encode(waiting))]

    def knows(self, condition: str) -> bool:
        """Whether it was told of a condition, or will be."""
        return condition in self.told or condition in self._conditions

    def waits_for(self, condition: str) -> bool:
        """Whether it has yet to be told of a condition."""
        return condition in self._conditions

    def settle(self, entries: Sequence[Entry]) -> tuple[list[Put], list[Name]]:
        """The receiver has these now."""
        puts: dict[str, Put] = {}
        forgets: list[Name] = []
        for entry in entries:
            self._drop(entry.id)
            forgets.append((WAITING, self._name(entry.id)))
            if entry.stands:
                self.told[entry.condition] = entry.severity
                puts[entry.condition] = (TOLD, self._name(entry.condition), entry.severity.encode())
            elif self.told.pop(entry.condition, None) is not None or entry.condition in puts:
                puts.pop(entry.condition, None)
                forgets.append((TOLD, self._name(entry.condition)))
        return list(puts.values()), forgets

    def give_up(self, ids: Sequence[str]) -> list[Name]:
        """These will not be told. The end of a condition takes what is known of it along."""
        ended = {self.waiting[id_].entry.condition for id_ in ids if not self.waiting[id_].entry.stands}
        for id_ in ids:
            self._drop(id_)
        return [(WAITING, self._name(id_)) for id_ in ids] + self.forget_told(ended & self.told.keys())

    def forget_told(self, conditions: Collection[str]) -> list[Name]:
        """These are over."""
        for condition in conditions:
            del self.told[condition]
        return [(TOLD, self._name(condition)) for condition in conditions]

    def too_old(self, before_ns: int) -> list[str]:
        """What has waited since before then, and the oldest of what is too much."""
        late = [id_ for id_, waiting in self.waiting.items() if waiting.taken_ns < before_ns]
        return late or list(self.waiting)[: max(0, len(self.waiting) - MAX_WAITING)]

    def entries(self) -> Iterator[Entry]:
        """What waits, oldest first."""
        return (waiting.entry for waiting in self.waiting.values())

    def _wants(self, entry: Entry, before: Entry | None) -> bool:
        kind = BY_NAME.get(entry.kind)
        if kind is None or not kind.notifies or not entry.condition:
            return False
        if entry.state == State.CLEARED:
            return self.knows(entry.condition)
        if before is not None and before.severity == entry.severity and self.knows(entry.condition):
            return False
        return entry.badness >= self.min_severity or self.knows(entry.condition)

    def _put(self, waiting: Waiting) -> None:
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
