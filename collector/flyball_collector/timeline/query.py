"""Reading the timeline: a page of entries from the store and from memory, filtered, newest or oldest first."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import structlog

from flyball_collector.diagnosis.kinds import Severity
from flyball_collector.store.contract import Document, Store
from flyball_collector.timeline.documents import EVENT, OF_HOST, OF_RUN, host_prefix, run_prefix
from flyball_collector.timeline.entry import Entry, EntryError, decode, time_bound

_log = structlog.get_logger(__name__)

MAX_LOOKED_AT = 20_000
"""Entries that one page looks at; when few of them fit the filter, the caller goes on where it ended."""

_AT_ONCE = 500
_AFTER = "!"  # ids are equally long: no id lies between one and the same with this behind it
_BEYOND = "g"  # behind every hexadecimal digit


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """Which entries are wanted; what is empty is no filter."""

    start_ns: int = 0
    end_ns: int | None = None
    host: str = ""
    run: str = ""
    gpu: str = ""
    condition: str = ""
    kinds: frozenset[str] = frozenset()
    states: frozenset[str] = frozenset()
    severity: Severity = Severity.INFO  # at least
    oldest_first: bool = False
    cursor: str = ""  # the id of the last entry of the page before
    limit: int = 100

    def fits(self, entry: Entry) -> bool:
        """Whether an entry is wanted, its time apart."""
        return (
            (not self.host or entry.host == self.host)
            and (not self.run or entry.run == self.run)
            and (not self.gpu or entry.gpu == self.gpu)
            and (not self.condition or entry.condition == self.condition)
            and (not self.kinds or entry.kind in self.kinds)
            and (not self.states or entry.state in self.states)
            and entry.badness >= self.severity
        )


@dataclass(frozen=True, slots=True)
class Page:
    """Some entries in the order that was asked for; `following` is the cursor of the next page, empty at the end."""

    entries: tuple[Entry, ...]
    following: str


def read_page(store: Store | None, query: Query, memory: Iterable[Entry]) -> Page:
    """One page. Blocks: call it in a thread. Without a store: of what is in memory."""
    low, high = time_bound(query.start_ns), _BEYOND if query.end_ns is None else time_bound(query.end_ns)
    if query.cursor:
        low, high = (max(low, query.cursor + _AFTER), high) if query.oldest_first else (low, min(high, query.cursor))
    remembered = {entry.id: entry for entry in memory if query.fits(entry)}
    found: list[Entry] = []
    looked_at = 0
    while low < high:
        ids, stored = _look(store, query, low, high)
        whole = len(ids) < _AT_ONCE
        seen_low, seen_high = _seen(low, high, ids, whole, query)
        here = {id_: entry for id_, entry in remembered.items() if seen_low <= id_ < seen_high}
        here |= {entry.id: entry for entry in stored if query.fits(entry)}
        for id_ in sorted(here, reverse=not query.oldest_first):
            if len(found) == query.limit:
                return Page(tuple(found), found[-1].id)
            found.append(here[id_])
        looked_at += len(ids)
        if whole:
            break
        if looked_at >= MAX_LOOKED_AT:
            return Page(tuple(found), ids[-1])
        low, high = (seen_high, high) if query.oldest_first else (low, seen_low)
    return Page(tuple(found), "")


def _seen(low: str, high: str, ids: Sequence[str], whole: bool, query: Query) -> tuple[str, str]:
    """The range of ids that has been looked at."""
    if whole:
        return low, high
    return (low, ids[-1] + _AFTER) if query.oldest_first else (ids[-1], high)


def _look(store: Store | None, query: Query, low: str, high: str) -> tuple[list[str], list[Entry]]:
    """The next ids of the range, and their entries."""
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
