"""Active conditions with their present values. Every view and every message shows these instead of stored entries."""

from collections.abc import Iterable
from typing import Protocol

from flyball_collector.diagnosis.active_conditions import ActiveCondition
from flyball_collector.diagnosis.event import Event
from flyball_collector.diagnosis.subject import Subject
from flyball_collector.timeline.entry import Entry, entry_of


class LiveConditions(Protocol):
    """The source of present values: the conditions of the diagnosis."""

    def find(self, kind: str, subject: Subject) -> ActiveCondition | None:
        """Return the active condition of this kind and subject."""

    def current(self, active: ActiveCondition) -> Event:
        """Return an active condition with its present values."""


def live_entry(conditions: LiveConditions, entry: Entry) -> Entry:
    """Return an active condition with its present values; any other entry stays as it is."""
    active = conditions.find(entry.kind, entry.subject) if entry.is_active else None
    if active is None or active.event.condition != entry.condition:
        return entry
    return entry_of(conditions.current(active))


def live_entries(conditions: LiveConditions, entries: Iterable[Entry]) -> list[Entry]:
    """Return entries like `live_entry`."""
    return [live_entry(conditions, entry) for entry in entries]
