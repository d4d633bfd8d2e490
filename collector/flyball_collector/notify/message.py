"""What is sent at once, and who decides that: a plan a kind of receiver."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from flyball_collector.timeline.entry import Entry


@dataclass(frozen=True, slots=True)
class Message:
    """One POST; when it is taken, its entries are told."""

    body: bytes
    entries: tuple[Entry, ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict)


class Plan(Protocol):
    """Makes the next message. Pure, but for what it remembers of what was sent."""

    def message(
        self,
        waiting: Sequence[Entry],
        active: Callable[[], Sequence[Entry]],
        told: Mapping[str, str],
        now_ns: int,
        *,
        hurry: bool,
    ) -> Message | None:
        """What is due now; with `hurry` everything that waits is."""

    def sent(self, message: Message, now_ns: int) -> None:
        """The receiver has taken it, or refused it for good."""
