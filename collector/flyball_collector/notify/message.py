"""A message to a receiver, and the protocol of plans that choose the next message."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from flyball_collector.timeline.entry import Entry


@dataclass(frozen=True, slots=True)
class Message:
    """One POST request. When it is accepted, its entries are delivered."""

    body: bytes
    entries: tuple[Entry, ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict)


class MessagePlan(Protocol):
    """Chooses the next message. It is pure, except for what it remembers of sent messages."""

    def message(
        self,
        waiting: Sequence[Entry],
        active: Callable[[], Sequence[Entry]],
        notified: Mapping[str, str],
        now_ns: int,
        *,
        hurry: bool,
    ) -> Message | None:
        """Return the message that is due; with `hurry`, all waiting entries are due."""

    def sent(self, message: Message, now_ns: int) -> None:
        """Note that the receiver has accepted the message, or rejected it for good."""
