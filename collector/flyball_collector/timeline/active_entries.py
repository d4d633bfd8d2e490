"""The newest entry of each active condition."""

from collections.abc import Iterable, Sequence

from flyball_collector.timeline.entry import Entry


class ActiveEntries:
    """Updated by the timeline and read by the notifier, both on the event loop."""

    def __init__(self) -> None:
        self._entries: dict[str, Entry] = {}
        self._sorted: tuple[Entry, ...] | None = ()

    def all(self) -> Sequence[Entry]:
        """Return the newest entry of every active condition, the worst first, then the oldest."""
        if self._sorted is None:
            entries = self._entries.values()
            self._sorted = tuple(sorted(entries, key=lambda entry: (-entry.severity_level, entry.raised_ns, entry.id)))
        return self._sorted

    def update(self, entry: Entry) -> Entry | None:
        """Add, replace or remove the condition of an entry; return the entry that it had before."""
        before = self._entries.get(entry.condition)
        if entry.condition:
            self._sorted = None
        if entry.is_active:
            self._entries[entry.condition] = entry
        else:
            self._entries.pop(entry.condition, None)
        return before

    def load(self, entries: Iterable[Entry]) -> None:
        """Add conditions from before a restart. Conditions that are already known stay as they are."""
        for entry in entries:
            self._entries.setdefault(entry.condition, entry)
        self._sorted = None
