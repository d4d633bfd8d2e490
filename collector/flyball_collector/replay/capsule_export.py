"""Exports an incident as a capsule: the collector's data of the affected hosts around an entry of the timeline."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from flyball_collector.diagnosis.scores.score_table import table_of
from flyball_collector.engine.player import Player
from flyball_collector.engine.settings import DiagnosisSettings
from flyball_collector.replay import capsule
from flyball_collector.replay.errors import ReplayError
from flyball_collector.replay.host_rows import RecentRows, definitions_of, read_host_rows
from flyball_collector.replay.stored_series import Find, HostRows, recording_of
from flyball_collector.store.contract import Store
from flyball_collector.timeline.entry import Entry, decode
from flyball_collector.timeline.entry_documents import EVENT
from flyball_collector.timeline.query import Query, read_page

MAX_SECONDS = 24 * 3600
MAX_ENTRIES = 10_000
SCORED_SECONDS = 1800
SCORES_EVERY = 10

_SECOND = 10**9
_PAGE = 1000


@dataclass(frozen=True, slots=True)
class CapsuleSpan:
    """Seconds to include before the condition was raised, and after the entry."""

    before: float = 900.0
    after: float = 300.0

    def around(self, entry: Entry) -> tuple[int, int]:
        """Return the start and end in nanoseconds."""
        raised = entry.raised_ns or entry.time_ns
        return raised - int(self.before * _SECOND), entry.time_ns + int(self.after * _SECOND)


@dataclass(frozen=True, slots=True)
class CapsuleWriter:
    """The collector's version and settings, and the agents' versions by host."""

    version: str
    settings: DiagnosisSettings
    agents: Mapping[str, str]


def find_entry(store: Store, name: str, memory: Sequence[Entry]) -> Entry | None:
    """Return the entry with this id, or the newest of the condition with this id. It blocks, so call it in a thread."""
    for entry in memory:  # newest first
        if name in {entry.id, entry.condition}:
            return entry
    document = store.get_document(EVENT, name)
    if document is not None:
        return decode(document.body)
    page = read_page(store, Query(condition=name, limit=1), ())
    return page.entries[0] if page.entries else None


def export_capsule(
    store: Store,
    recent: RecentRows,
    entry: Entry,
    hosts: Sequence[str],
    span: CapsuleSpan,
    writer: CapsuleWriter,
    now_ns: int,
    memory: Sequence[Entry] = (),
    captures: Iterable[tuple[str, bytes]] = (),
) -> bytes:
    """Return the capsule's bytes. It blocks, so call it in a thread."""
    start_ns, end_ns = span.around(entry)
    if not hosts:
        raise ReplayError("the event has no host, and no host of its run is known any more")
    if len(hosts) > capsule.MAX_HOSTS:
        raise ReplayError(f"the event affects {len(hosts)} hosts; the limit of a capsule is {capsule.MAX_HOSTS}")
    if end_ns - start_ns > MAX_SECONDS * _SECOND:
        raise ReplayError(f"a capsule covers up to {MAX_SECONDS // 3600} hours; choose a shorter time")
    rows = read_host_rows(store, hosts, start_ns, end_ns, recent)
    if not any(each.groups for each in rows):
        raise ReplayError("no data of that time are stored any more")
    manifest = capsule.Capsule(
        format=capsule.FORMAT,
        version=writer.version,
        agents={host: writer.agents[host] for host in hosts if host in writer.agents},
        written_ns=now_ns,
        start_ns=start_ns,
        end_ns=end_ns,
        hosts=tuple(hosts),
        event=msgspec.to_builtins(entry),
        events=tuple(msgspec.to_builtins(each) for each in _entries(store, hosts, start_ns, end_ns, memory)),
        scores=tuple(_scores(rows, definitions_of(store), writer.settings)),
        settings=msgspec.to_builtins(writer.settings),
    )
    return capsule.write(manifest, rows, definitions_of(store), captures)


def _scores(rows: Sequence[HostRows], find: Find, settings: DiagnosisSettings) -> Iterator[dict[str, Any]]:
    """Yield this version's scores of each host, every ten seconds of the last half hour."""
    recorded = recording_of(rows, find)
    newest = recorded.ticks[-1].corrected_ns if recorded.ticks else 0
    ticks = [tick for tick in recorded.ticks if tick.corrected_ns > newest - SCORED_SECONDS * _SECOND]
    player = Player(replace(recorded, ticks=ticks), settings)
    for number, _ in enumerate(player.play()):
        table = table_of(player.diagnosis)
        if table is None or player.diagnosis.view is None or number % SCORES_EVERY:
            continue
        for place, subject in enumerate(table.hosts.names):
            yield {
                "time_ns": player.diagnosis.view.now_ns,
                "host": subject.host,
                "base": _known(table.base, place),
                "scores": _known(table.scores, place),
                "primary": table.primary(place),
            }


def _known(scores: Mapping[str, NDArray[np.float64]], place: int) -> dict[str, float]:
    return {name: round(float(values[place]), 4) for name, values in scores.items() if np.isfinite(values[place])}


def _entries(store: Store, hosts: Sequence[str], start_ns: int, end_ns: int, memory: Sequence[Entry]) -> list[Entry]:
    """Return the timeline's entries of these hosts in the time range, oldest first."""
    found: dict[str, Entry] = {}
    for host in hosts:
        query = Query(start_ns=start_ns, end_ns=end_ns, host=host, oldest_first=True, limit=_PAGE)
        while len(found) < MAX_ENTRIES:
            page = read_page(store, query, memory)
            found.update((entry.id, entry) for entry in page.entries)
            if not page.following:
                break
            query = Query(
                start_ns=start_ns, end_ns=end_ns, host=host, oldest_first=True, limit=_PAGE, cursor=page.following
            )
    return [found[id_] for id_ in sorted(found)[:MAX_ENTRIES]]
