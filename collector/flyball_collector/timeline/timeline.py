"""The timeline: accepts entries on the event loop, keeps recent and active ones in memory, and has them stored."""

import asyncio
import random
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Sequence

import structlog

from flyball_collector.diagnosis.event import Event, State
from flyball_collector.store.contract import Store, StoreError
from flyball_collector.timeline.active_entries import ActiveEntries
from flyball_collector.timeline.entry import Entry, EntryError, decode, entry_of, event_of, time_bound
from flyball_collector.timeline.entry_documents import (
    CONDITION,
    EVENT,
    OF_HOST,
    Name,
    Put,
    deletions_of,
    document_names_of,
    host_prefix,
    puts_of,
)
from flyball_collector.timeline.journal import Journal
from flyball_collector.timeline.query import EntryPage, Query, read_page

_log = structlog.get_logger(__name__)

REMEMBERED = 4096
"""Newest entries kept in memory: they are shown before they are written, and while the store is down."""

_MAX_DELAY_SECONDS = 10.0
_AT_ONCE = 500


Listener = Callable[[Entry, Entry | None], Iterable[Put]]
"""Called with every new entry and the last one of its condition. Returned documents are written with the entry."""


def no_listener(_: Entry, __: Entry | None) -> Iterable[Put]:
    """Return no documents."""
    return ()


class Timeline:
    """The collector's timeline. Everything except reading happens on the event loop."""

    def __init__(
        self,
        store: Store,
        journal: Journal,
        active: ActiveEntries,
        listener: Listener = no_listener,
        *,
        remembered: int = REMEMBERED,
    ) -> None:
        self._store = store
        self._recent: deque[Entry] = deque(maxlen=remembered)
        self._recent_ids: set[str] = set()
        self._active = active
        self.journal = journal
        self._listener = listener
        self.loaded = asyncio.Event()

    def active(self) -> Sequence[Entry]:
        """Return the newest entry of every active condition, the worst first, then the oldest."""
        return self._active.all()

    def recent(self) -> list[Entry]:
        """Return the newest entries, newest first."""
        return sorted(self._recent, key=lambda entry: entry.id, reverse=True)

    def add_events(self, events: Sequence[Event]) -> list[Entry]:
        """Add the diagnosis's events of one second."""
        return [self.add(entry_of(event)) for event in events]

    def add(self, entry: Entry) -> Entry:
        """Add an entry and queue it for writing. A known entry changes nothing."""
        if entry.id in self._recent_ids:
            return entry
        before = self._active.update(entry)
        self._remember(entry)
        puts = [*puts_of(entry), *self._listener(entry, before)]
        self.journal.add(puts, deletions_of(entry), minor=entry.state not in {State.RAISED, State.CLEARED})
        return entry

    async def load(self) -> list[Event]:
        """Load the conditions that were active before a restart. Nothing may be raised or cleared before that."""
        entries, wait = await self._stored_conditions(), 0.25
        while entries is None:
            await asyncio.sleep(random.uniform(0.1, 1.0) * wait)  # noqa: S311  jitter, not a secret
            entries, wait = await self._stored_conditions(), min(2 * wait, _MAX_DELAY_SECONDS)
        self._active.load(entries)
        for entry in entries:
            self._remember(entry)
        self.loaded.set()
        return [event for entry in entries if (event := event_of(entry)) is not None]

    async def read(self, query: Query, *, call: "Caller | None" = None) -> tuple[EntryPage, bool]:
        """Return a page, and False if the store failed and only the memory was read."""
        memory = list(self._recent)
        try:
            return await (call or in_a_thread)(lambda: read_page(self._store, query, memory)), True
        except StoreError as error:
            _log.warning("timeline_read_from_memory", error=str(error))
            return read_page(None, query, memory), False

    def remove_host(self, host: str) -> None:
        """Delete the entries of a host. It blocks, so call it in a thread."""
        prefix = host_prefix(host)
        while True:
            listed = self._store.read_documents(OF_HOST, prefix + time_bound(0), prefix + "g", limit=_AT_ONCE)
            if not listed:
                return
            names: list[Name] = []
            for document in listed:
                names += _names(self._store, document.id.removeprefix(prefix))
                names.append((OF_HOST, document.id))
            self._store.put_documents((), forget=names)

    def forget_recent(self, host: str) -> None:
        """Forget recent entries of a host. The diagnosis clears its active conditions."""
        kept = [entry for entry in self._recent if entry.host != host]
        self._recent.clear()
        self._recent.extend(kept)
        self._recent_ids = {entry.id for entry in kept}

    async def run(self) -> None:
        """Write until closed and everything is written, or the store is down."""
        await self.journal.run()

    def close(self) -> None:
        """Write what is left, then end."""
        self.journal.close()

    def _remember(self, entry: Entry) -> None:
        if len(self._recent) == self._recent.maxlen:
            self._recent_ids.discard(self._recent[0].id)
        self._recent.append(entry)
        self._recent_ids.add(entry.id)

    async def _stored_conditions(self) -> list[Entry] | None:
        try:
            documents = await asyncio.to_thread(self._store.list_documents, CONDITION)
        except StoreError as error:
            _log.error("loading_conditions_failed", error=str(error))
            return None
        entries = []
        for document in documents:
            try:
                entries.append(decode(document.body))
            except EntryError as error:
                _log.warning("condition_damaged", document=document.id, error=str(error))
        return entries


Caller = Callable[[Callable[[], EntryPage]], Awaitable[EntryPage]]
"""Runs a blocking function in a thread."""


async def in_a_thread(function: Callable[[], EntryPage]) -> EntryPage:
    """Run the function in any thread."""
    return await asyncio.to_thread(function)


def forget_before(store: Store, before_ns: int) -> int:
    """Delete older entries, except the newest of active conditions. Return the number of deleted entries. It blocks."""
    gone = 0
    while True:
        listed = store.read_documents(EVENT, time_bound(0), time_bound(before_ns), limit=_AT_ONCE)
        if not listed:
            return gone
        store.put_documents((), forget=[name for document in listed for name in _places(document.id, document.body)])
        gone += len(listed)


def _names(store: Store, id_: str) -> list[Name]:
    document = store.get_document(EVENT, id_)
    return [] if document is None else _places(id_, document.body)


def _places(id_: str, body: bytes) -> list[Name]:
    try:
        return list(document_names_of(decode(body)))
    except EntryError:  # damaged: its lists are unknown, and refer to a missing entry
        return [(EVENT, id_)]
