"""Reads pages of the timeline from the store and from memory, filtered, newest or oldest first."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import structlog

from flyball_collector.diagnosis.kinds import Severity
from flyball_collector.store.contract import Document, Store
from flyball_collector.timeline.entry import Entry, EntryError, decode, time_bound
from flyball_collector.timeline.entry_documents import EVENT, OF_HOST, OF_RUN, host_prefix, run_prefix

_log = structlog.get_logger(__name__)

MAX_EXAMINED = 20_000
"""Entries that one page examines. If few match the filter, the caller continues with the cursor."""

_AT_ONCE = 500
_AFTER = "!"  # ids are equally long: no id is between one and the same with this suffix
_BEYOND = "g"  # sorts after every hexadecimal digit


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A filter of entries. Empty fields do not filter."""

    start_ns: int = 0
    end_ns: int | None = None
    host: str = ""
    run: str = ""
    gpu: str = ""
    condition: str = ""
    kinds: frozenset[str] = frozenset()
    states: frozenset[str] = frozenset()
    severity: Severity = Severity.INFO  # minimum
    oldest_first: bool = False
    cursor: str = ""  # the id of the last entry of the previous page
    limit: int = 100

    def matches(self, entry: Entry) -> bool:
        """Return True if an entry matches, regardless of its time."""
        return (
            (not self.host or entry.host == self.host)
            and (not self.run or entry.run == self.run)
            and (not self.gpu or entry.gpu == self.gpu)
            and (not self.condition or entry.condition == self.condition)
            and (not self.kinds or entry.kind in self.kinds)
            and (not self.states or entry.state in self.states)
            and entry.severity_level >= self.severity
        )


@dataclass(frozen=True, slots=True)
class EntryPage:
    """Some entries in the requested order. `following` is the cursor of the next page, empty at the end."""

    entries: tuple[Entry, ...]
    following: str


def read_page(store: Store | None, query: Query, memory: Iterable[Entry]) -> EntryPage:
    """Read one page. It blocks, so call it in a thread. Without a store it reads only the memory."""
    low, high = time_bound(query.start_ns), _BEYOND if query.end_ns is None else time_bound(query.end_ns)
    if query.cursor:
        low, high = (max(low, query.cursor + _AFTER), high) if query.oldest_first else (low, min(high, query.cursor))
    remembered = {entry.id: entry for entry in memory if query.matches(entry)}
    found: list[Entry] = []
    examined = 0
    while low < high:
        ids, stored = _read(store, query, low, high)
        last = len(ids) < _AT_ONCE
        seen_low, seen_high = _examined(low, high, ids, last, query)
        here = {id_: entry for id_, entry in remembered.items() if seen_low <= id_ < seen_high}
        here |= {entry.id: entry for entry in stored if query.matches(entry)}
        for id_ in sorted(here, reverse=not query.oldest_first):
            if len(found) == query.limit:
                return EntryPage(tuple(found), found[-1].id)
            found.append(here[id_])
        examined += len(ids)
        if last:
            break
        if examined >= MAX_EXAMINED:
            return EntryPage(tuple(found), ids[-1])
        low, high = (seen_high, high) if query.oldest_first else (low, seen_low)
    return EntryPage(tuple(found), "")


def _examined(low: str, high: str, ids: Sequence[str], last: bool, query: Query) -> tuple[str, str]:
    """Return the range of ids that was examined."""
    if last:
        return low, high
    return (low, ids[-1] + _AFTER) if query.oldest_first else (ids[-1], high)


def _read(store: Store | None, query: Query, low: str, high: str) -> tuple[list[str], list[Entry]]:
    """Return the next ids of the range, and their entries."""
    if store is None:
        return [], []
    newest_first = not query.oldest_first
    if not (query.host or query.run):
        documents = store.read_documents(EVENT, low, high, limit=_AT_ONCE, newest_first=newest_first)
        return [document.id for document in documents], _decoded(documents)
    kind, prefix = (OF_HOST, host_prefix(query.host)) if query.host else (OF_RUN, run_prefix(query.run))
    listed = store.read_documents(kind, prefix + low, prefix + high, limit=_AT_ONCE, newest_first=newest_first)
    ids = [document.id.removeprefix(prefix) for document in listed]
    return ids, _decoded(document for id_ in ids if (document := store.get_document(EVENT, id_)) is not None)


def _decoded(documents: Iterable[Document]) -> list[Entry]:
    entries = []
    for document in documents:
        try:
            entries.append(decode(document.body))
        except EntryError as error:
            _log.warning("timeline_entry_damaged", document=document.id, error=str(error))
    return entries
