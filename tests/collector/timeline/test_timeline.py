"""The timeline: nothing is lost or duplicated, entries are shown at once, and they survive a restart."""

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import structlog

from flyball_collector.diagnosis.event import State
from flyball_collector.diagnosis.kinds import Severity
from flyball_collector.diagnosis.subject import Subject
from flyball_collector.own_metrics import OwnMetrics
from flyball_collector.store.contract import Store
from flyball_collector.store.memory import MemoryStore
from flyball_collector.store.sqlite import SqliteStore
from flyball_collector.testing import FlakyStore
from flyball_collector.timeline.active_entries import ActiveEntries
from flyball_collector.timeline.entry import Entry, EntryError, decode, encode, entry_of, event_of
from flyball_collector.timeline.entry_documents import CONDITION, EVENT, OF_HOST, OF_RUN
from flyball_collector.timeline.journal import Journal
from flyball_collector.timeline.query import Query, read_page
from flyball_collector.timeline.testing import NOW_NS, SECOND_NS, changed, cleared, make_event
from flyball_collector.timeline.timeline import Listener, Timeline, forget_before, no_listener


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    opened = SqliteStore(tmp_path / "flyball.db")
    yield opened
    opened.close()


@contextlib.asynccontextmanager
async def running(store: Store, listener: Listener = no_listener) -> AsyncIterator[Timeline]:
    """Run a timeline; at the end everything is written."""
    timeline = Timeline(store, Journal(store, OwnMetrics()), ActiveEntries(), listener)
    task = asyncio.create_task(timeline.run())
    try:
        yield timeline
    finally:
        timeline.close()
        await asyncio.wait_for(task, 60)
        timeline.journal.shut_down()


async def ids(timeline: Timeline, query: Query) -> list[str]:
    return [entry.id for entry in (await timeline.read(query))[0].entries]


def test_an_event_survives_encoding() -> None:
    """Event to entry to bytes and back changes nothing, except that non-finite numbers become unknown."""
    event = make_event(
        subject=Subject("node-1", "GPU-1", "run-7", 3, "/data"),
        seconds_left=90.0,
        seconds_left_low=40.0,
        seconds_left_high=200.0,
        level=0.93,
        gpu_index=3,
    )
    assert event_of(decode(encode(entry_of(event)))) == event
    assert entry_of(event).subject_text() == event.words() == "/data, GPU 3, rank 3, run run-7 on node-1"
    broken = entry_of(make_event(confidence=float("nan"), evidence={"a": float("inf"), "b": 1.0}))
    assert (broken.confidence, broken.evidence) == (None, {"b": 1.0})


def test_entries_without_a_gpu_number_are_read() -> None:
    """Entries of older versions have none: people see the beginning of the UUID, and nothing is added to them."""
    lines = (Path(__file__).parent / "entries_without_gpu_index.jsonl").read_bytes().splitlines()
    entries = [decode(line) for line in lines]
    assert {entry.gpu_index for entry in entries} == {None}
    assert [entry.subject_text() for entry in entries] == [
        "GPU 3f2a9c1e on node-7",
        "GPU 3f2a9c1e on node-7",
        "rank 3, run run-7 on node-7",
        "/data on node-7",
        "GPU 3f2a9c1e on node-7",
        "GPU 3f2a9c1e on node-7",
    ]
    assert [encode(entry) for entry in entries] == lines
    events = [event for entry in entries if (event := event_of(entry)) is not None]
    assert [event.state for event in events] == ["raised", "changed", "raised", "raised", "cleared"]
    assert [entry_of(event) for event in events] == entries[:5]


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b'{"id":"x","time_ns":1,"state":"perhaps","kind":"k"}', b"\xff"])
def test_damaged_bytes_are_not_an_entry(body: bytes) -> None:
    """They raise an error."""
    with pytest.raises(EntryError):
        decode(body)


def test_an_unknown_kind_is_kept_but_is_not_an_event() -> None:
    """The timeline shows it; the diagnosis does not load it."""
    entry = decode(b'{"id":"0-0-x","time_ns":1,"state":"raised","kind":"not_yet_known","condition":"x","new":1}')
    assert entry.kind == "not_yet_known"
    assert event_of(entry) is None


async def test_an_entry_is_shown_before_it_is_stored_and_once_after(store: SqliteStore) -> None:
    """A read right after adding has it from memory; a later one has it once, from memory and the store."""
    async with running(store) as timeline:
        timeline.add_events([event := make_event()])
        first = await ids(timeline, Query())
        await timeline.journal.written()
        assert first == await ids(timeline, Query()) == [entry_of(event).id]
        timeline.add_events([event])  # repeated
        assert await ids(timeline, Query()) == first
    assert [document.id for document in store.list_documents(EVENT)] == first


async def test_active_conditions_survive_a_restart(store: SqliteStore) -> None:
    """The last entry of every condition that was not cleared is loaded, and none of the others."""
    stays, ends = make_event(), make_event("disk_full", at=1)
    worse = changed(stays, severity=Severity.CRITICAL, because="worse")
    async with running(store) as timeline:
        timeline.add_events([stays, ends])
        timeline.add_events([worse, cleared(ends)])
        assert [entry.because for entry in timeline.active()] == ["worse"]
    again = Timeline(store, Journal(store, OwnMetrics()), ActiveEntries())
    assert not again.loaded.is_set()
    assert await again.load() == [worse]
    assert again.loaded.is_set()
    assert [entry.condition for entry in again.active()] == [stays.condition]
    assert len(await ids(again, Query())) == 4


async def test_a_store_that_is_down_loses_nothing() -> None:
    """Events wait and are written later; meanwhile memory is read and reported as the source; one line is logged."""
    store = FlakyStore()
    store.down = True
    with structlog.testing.capture_logs() as logs:
        async with running(store) as timeline:
            for second in range(20):
                event = make_event(at=second)
                timeline.add_events([event] if second % 2 else [event, cleared(event)])
            await asyncio.sleep(0.3)
            page, complete = await timeline.read(Query(limit=100))
            assert (len(page.entries), complete) == (30, False)
            store.down = False
            await asyncio.wait_for(timeline.journal.written(), 60)
    assert len(store.list_documents(EVENT)) == 30
    assert len(store.list_documents(CONDITION)) == 10
    assert [line["event"] for line in logs if "timeline" in line["event"]].count("timeline_write_failed") == 1
    assert logs[-1]["event"] == "timeline_store_recovered"


async def test_memory_is_limited_while_the_store_is_down() -> None:
    """Beyond the limit, changes are dropped first, then the oldest entries; every loss is counted."""
    store, metrics = FlakyStore(), OwnMetrics()
    store.down = True
    timeline = Timeline(store, Journal(store, metrics, max_waiting=100), ActiveEntries())
    raised = [make_event(at=second) for second in range(80)]
    timeline.add_events(raised)
    timeline.add_events([changed(event) for event in raised])
    assert len(timeline.journal) == 80
    timeline.add_events([make_event(at=1000 + second) for second in range(30)])
    assert len(timeline.journal) == 100
    assert metrics.registry.get_sample_value("flyball_collector_events_dropped_total") == 90
    assert metrics.registry.get_sample_value("flyball_collector_events_waiting") == 100


async def test_pages_contain_everything_once(store: SqliteStore) -> None:
    """Following the cursor, in either order and with any filter, gives each matching entry once."""
    dice = random.Random(7)
    events = [
        make_event(
            dice.choice(["memory_exhaustion", "straggler", "host_lost"]),
            at=dice.randrange(1000),
            subject=Subject(
                dice.choice(["node-1", "node-2"]), run=dice.choice(["", "run-1"]), rank=dice.randrange(10**6)
            ),
        )
        for _ in range(1200)
    ]
    async with running(store) as timeline:
        timeline.add_events(events)
        await timeline.journal.written()
    entries = sorted((entry_of(event) for event in events), key=lambda entry: entry.id)
    queries = [
        Query(limit=101),
        Query(limit=101, host="node-1"),
        Query(limit=77, run="run-1", kinds=frozenset({"straggler"})),
        Query(limit=13, start_ns=NOW_NS + 200 * SECOND_NS, end_ns=NOW_NS + 300 * SECOND_NS),
        Query(limit=50, severity=Severity.CRITICAL, states=frozenset({"raised"})),
        Query(limit=50, host="node-9"),
    ]
    for query in queries:
        for oldest_first in (True, False):
            wanted = [
                entry.id
                for entry in entries
                if query.matches(entry) and query.start_ns <= entry.time_ns < (query.end_ns or 2**63)
            ]
            found, cursor = [], ""
            while True:
                step = {f: getattr(query, f) for f in query.__slots__} | {
                    "oldest_first": oldest_first,
                    "cursor": cursor,
                }
                page = read_page(store, Query(**step), ())
                found += [entry.id for entry in page.entries]
                assert len(page.entries) <= query.limit
                if not (cursor := page.following):
                    break
            assert found == (wanted if oldest_first else wanted[::-1])


async def test_a_sparse_filter_does_not_scan_the_whole_store(store: SqliteStore) -> None:
    """A page examines a limited number of entries; the cursor continues until all are found."""
    entries = [
        entry_of(make_event("host_lost" if second == 3 else "disk_full", f"n{second}", at=second))
        for second in range(25_000)
    ]
    store.put_documents([(EVENT, entry.id, encode(entry)) for entry in entries])
    first = read_page(store, Query(kinds=frozenset({"host_lost"})), ())
    assert first.entries == ()
    assert first.following
    rest = read_page(store, Query(kinds=frozenset({"host_lost"}), cursor=first.following), ())
    assert [entry.host for entry in rest.entries] == ["n3"]
    assert not rest.following


async def test_a_removed_host_leaves_no_entries(store: SqliteStore) -> None:
    """Its entries are deleted from every list; those of a host with a similar name, and of a run of its name, stay."""
    async with running(store) as timeline:
        for host in ("a", "ab", "a/b"):
            timeline.add_events([make_event("straggler", at=5, subject=Subject(host, run="a", rank=1))])
        await timeline.journal.written()
        timeline.forget_recent("a")
        await asyncio.to_thread(timeline.remove_host, "a")
        assert {entry.host for entry in (await timeline.read(Query()))[0].entries} == {"ab", "a/b"}
        store.remove_host("a")
        assert {entry.host for entry in (await timeline.read(Query(run="a")))[0].entries} == {"ab", "a/b"}
        assert await ids(timeline, Query(host="a")) == []


async def test_old_entries_expire_and_active_ones_stay(store: SqliteStore) -> None:
    """Entries are deleted from every list after their time; a condition that is still active survives a restart."""
    async with running(store) as timeline:
        timeline.add_events([make_event("straggler", at=s, subject=Subject("a", run="r", rank=s)) for s in range(1100)])
    assert forget_before(store, NOW_NS + 1090 * SECOND_NS) == 1090
    assert forget_before(store, NOW_NS + 1090 * SECOND_NS) == 0
    assert [len(store.list_documents(kind)) for kind in (EVENT, OF_HOST, OF_RUN, CONDITION)] == [10, 10, 10, 1100]


async def test_a_change_that_the_store_refuses_does_not_stop_others() -> None:
    """It is given up with an error log; the rest of its batch is written."""

    class Picky(MemoryStore):
        def put_document(self, kind: str, id: str, body: bytes, *, expected: int | None = None) -> int:  # noqa: A002
            from flyball_collector.store.contract import StoreError  # noqa: PLC0415

            if b"poison" in body:
                raise StoreError("this cannot be stored")
            return super().put_document(kind, id, body, expected=expected)

    store = Picky()
    with structlog.testing.capture_logs() as logs:
        async with running(store) as timeline:
            timeline.add_events([make_event(at=0), make_event(at=1, because="poison"), make_event(at=2)])
    assert len(store.list_documents(EVENT)) == 2
    assert "timeline_change_refused" in [line["event"] for line in logs]


async def test_a_listeners_documents_are_stored_with_the_entry(store: SqliteStore) -> None:
    """The listener also gets the last entry of the condition."""
    heard: list[tuple[str, str | None]] = []

    def listen(entry: Entry, before: Entry | None) -> list[tuple[str, str, bytes]]:
        heard.append((entry.state, before.state if before else None))
        return [("heard", entry.id, b"")]

    event = make_event()
    async with running(store, listen) as timeline:
        timeline.add_events([event])
        timeline.add_events([changed(event, severity=Severity.WARNING), cleared(event)])
    assert heard == [("raised", None), ("changed", "raised"), ("cleared", "changed")]
    assert [d.id for d in store.list_documents("heard")] == [d.id for d in store.list_documents(EVENT)]


def test_at_one_time_raised_sorts_before_cleared() -> None:
    """Ids keep the order of what can happen within one second of diagnosis."""
    event = make_event()
    over = entry_of(cleared(event, after=0))
    assert entry_of(event).id < over.id
    assert over.state == State.CLEARED
