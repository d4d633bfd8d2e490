"""The contract of stores, run with each of them."""

import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from flyball_collector.blocks.assembly import build_block
from flyball_collector.blocks.block import Block, RowGroup
from flyball_collector.blocks.codec import decode
from flyball_collector.blocks.testing import SECOND_NS, START_NS, TEMPERATURE, rows, small_block, small_layout
from flyball_collector.store.contract import Document, Store, StoreConflict, StoreError
from flyball_collector.store.definitions import definition_id
from flyball_collector.store.minutes import HOUR_NS
from flyball_collector.store.testing import FACTORIES, ManualClock
from flyball_collector.tick import KnownLayout
from flyball_proto.ranges import RangeSet

EPOCH = b"e" * 16
FAR_NS = START_NS + 1000 * HOUR_NS
TEMPERATURES = [TEMPERATURE.name]


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(START_NS)


@pytest.fixture(params=sorted(FACTORIES))
def store(request: pytest.FixtureRequest, tmp_path: Path, clock: ManualClock) -> Iterator[Store]:
    opened = FACTORIES[request.param](tmp_path, clock)
    yield opened
    opened.close()


def define(store: Store, layout: KnownLayout) -> None:
    store.put_document("layout", definition_id(layout.digest), layout.layout.body)


def with_rows(block: Block, group: RowGroup, layout: KnownLayout) -> Block:
    layouts = {layout.digest: layout}
    return build_block(block.key, block.ticks, [group], RangeSet(), RangeSet(), block.received_ns, layouts)


def sequences(block: Block) -> list[int]:
    return [sequence for group in decode(block.payload) for sequence in group.sequences.tolist()]


def test_a_block_is_read_as_it_was_written(store: Store) -> None:
    """Rows, ranges and times are the same."""
    block = small_block(present=range(50), lost=[(50, 55)], refused=[(55, 58)])
    assert store.put_blocks([block]) == [RangeSet([(0, 58)])]
    assert list(store.read_blocks("a", START_NS, START_NS + HOUR_NS)) == [block]


def test_halves_of_a_block_are_merged(store: Store) -> None:
    """Two parts of one block settle the sequences of both, in one batch or in two."""
    store.put_blocks([small_block(present=range(20)), small_block(present=range(10, 40))])
    assert store.put_blocks([small_block(present=range(40, 60))]) == [RangeSet([(0, 60)])]
    (block,) = store.read_blocks("a", 0, FAR_NS)
    assert sequences(block) == list(range(60))


def test_repetition_changes_nothing(store: Store) -> None:
    """A repeated block is stored once."""
    block = small_block()
    store.put_blocks([block])
    store.put_blocks([block])
    assert [sequences(stored) for stored in store.read_blocks("a", 0, FAR_NS)] == [list(range(60))]


def test_a_lost_sequence_that_arrives_later_is_present(store: Store) -> None:
    """Present wins over lost, whichever was stored first."""
    store.put_blocks([small_block(present=(), lost=[(0, 60)])])
    store.put_blocks([small_block(present=range(30))])
    (block,) = store.read_blocks("a", 0, FAR_NS)
    assert (block.present, block.lost) == (RangeSet([(0, 30)]), RangeSet([(30, 60)]))


def test_settled_separates_epochs_and_hosts(store: Store) -> None:
    """Settled sequences are returned for each host and epoch, from the requested sequence on."""
    store.put_blocks(
        [
            small_block(number=0),
            small_block(number=1, present=range(60, 90)),
            small_block(number=3, present=(), lost=[(200, 240)]),
            small_block(host="b"),
            small_block(epoch=b"f" * 16, number=2),
        ]
    )
    assert store.settled("a", EPOCH, 0) == RangeSet([(0, 90), (200, 240)])
    assert store.settled("a", EPOCH, 70) == RangeSet([(70, 90), (200, 240)])
    assert store.settled("a", b"f" * 16, 0) == RangeSet([(120, 180)])
    assert store.settled("c", EPOCH, 0) == RangeSet()


def test_blocks_are_read_by_time_oldest_first(store: Store) -> None:
    """A block is in a range that it overlaps by one row, and only for its own host."""
    store.put_blocks([small_block(number=number) for number in (4, 2, 3)] + [small_block(host="b", number=3)])
    start = START_NS + 179 * SECOND_NS
    assert [b.key.number for b in store.read_blocks("a", start, start + 2 * SECOND_NS)] == [2, 3]
    assert [b.key.number for b in store.read_blocks("a", 0, FAR_NS)] == [2, 3, 4]


def test_minutes_are_the_same_before_and_after_rolling_up(store: Store) -> None:
    """The border between chunks and newer blocks is invisible in a series."""
    define(store, layout := small_layout())
    store.put_blocks([small_block(number=number, layout=layout) for number in range(130)])
    before = store.read_minutes("a", TEMPERATURES, START_NS, FAR_NS)
    assert store.roll_up(START_NS + 2 * HOUR_NS + 1) == 2
    after = store.read_minutes("a", TEMPERATURES, START_NS, FAR_NS)
    assert [series.column.labels for series in after] == [("GPU-0",), ("GPU-1",)]
    for old, new in zip(before, after, strict=True):
        assert old.column == new.column
        for name in ("times_ns", "minimum", "mean", "maximum", "counts"):
            np.testing.assert_array_equal(getattr(old, name), getattr(new, name))
    assert after[0].counts.tolist() == [60] * 130
    assert after[0].minimum[1] == 60.0
    assert after[0].maximum[1] == 119.0
    assert after[0].mean[1] == pytest.approx(89.5, abs=0.01)


def test_minutes_keep_the_last_code_of_a_state(store: Store) -> None:
    """A state's minute keeps the last code, because a mean of codes has no meaning."""
    define(store, layout := small_layout(gpus=1))
    values = np.zeros((60, layout.count), dtype=np.int64)
    values[:30, 1], values[30:, 1] = 1, 2
    group = rows(layout, range(60), values=values)
    store.put_blocks([with_rows(small_block(layout=layout), group, layout)])
    for _ in range(2):
        (series,) = store.read_minutes("a", ["gpu_throttle_state"], 0, FAR_NS)
        assert (series.minimum[0], series.mean[0], series.maximum[0]) == (1.0, 2.0, 2.0)
        store.roll_up(FAR_NS)


def test_a_late_half_replaces_its_point(store: Store) -> None:
    """A block that grows after its roll-up has one point with all its rows, before and after the next roll-up."""
    define(store, layout := small_layout(gpus=1))
    store.put_blocks([small_block(present=range(30), layout=layout), small_block(number=1, layout=layout)])
    store.roll_up(FAR_NS)
    store.put_blocks([small_block(present=range(30, 60), layout=layout)])
    for _ in range(2):
        (series,) = store.read_minutes("a", TEMPERATURES, 0, FAR_NS)
        assert series.counts.tolist() == [60, 60]
        assert series.maximum.tolist() == [59.0, 119.0]
        store.roll_up(FAR_NS)


def test_a_late_half_that_begins_an_hour_earlier_moves_its_point(store: Store) -> None:
    """The point follows its block into the hour before."""
    define(store, layout := small_layout(gpus=1))
    start = START_NS + HOUR_NS - 30 * SECOND_NS
    store.put_blocks([small_block(present=range(30, 60), layout=layout, epoch_start_ns=start)])
    store.roll_up(FAR_NS)
    store.put_blocks([small_block(present=range(30), layout=layout, epoch_start_ns=start)])
    for _ in range(2):
        (series,) = store.read_minutes("a", TEMPERATURES, 0, FAR_NS)
        assert (series.times_ns.tolist(), series.counts.tolist()) == ([start], [60])
        store.roll_up(FAR_NS)


def test_minutes_follow_a_changed_layout(store: Store) -> None:
    """A new GPU gets its own series; the others continue."""
    define(store, small := small_layout(gpus=1))
    define(store, large := small_layout(gpus=2))
    store.put_blocks([small_block(number=0, layout=small), small_block(number=1, layout=large)])
    for _ in range(2):
        series = store.read_minutes("a", TEMPERATURES, 0, FAR_NS)
        assert [(one.column.labels, len(one.times_ns)) for one in series] == [(("GPU-0",), 2), (("GPU-1",), 1)]
        store.roll_up(FAR_NS)


def test_unfinished_hours_are_not_rolled_up(store: Store) -> None:
    """Only whole hours before the given time become chunks."""
    define(store, layout := small_layout())
    store.put_blocks([small_block(layout=layout)])
    assert store.roll_up(START_NS + HOUR_NS - 1) == 0
    assert store.roll_up(START_NS + HOUR_NS) == 1
    assert store.roll_up(START_NS + HOUR_NS) == 0


def test_documents_have_revisions(store: Store, clock: ManualClock) -> None:
    """A write over an unexpected revision is refused and changes nothing."""
    assert store.put_document("event", "a/1", b"x", expected=0) == 1
    with pytest.raises(StoreConflict, match="revision 1, not 0"):
        store.put_document("event", "a/1", b"y", expected=0)
    clock.now_ns += 5
    assert store.put_document("event", "a/1", b"y", expected=1) == 2
    document = store.get_document("event", "a/1")
    assert document is not None
    assert (document.body, document.revision, document.updated_ns) == (b"y", 2, START_NS + 5)
    assert store.put_document("event", "a/1", b"z") == 3


def test_documents_are_written_together(store: Store, clock: ManualClock) -> None:
    """Existing ones get the next revision, new ones their first; of one name the last body stays."""
    store.put_document("host", "a", b"before")
    clock.now_ns += 1
    store.put_documents([("host", "a", b"new"), ("host", "b", b"first"), ("host", "b", b"second")])
    store.put_documents([])
    assert store.get_document("host", "a") == Document("host", "a", b"new", 2, clock.now_ns)
    assert store.get_document("host", "b") == Document("host", "b", b"second", 2, clock.now_ns)


def test_documents_are_listed_by_prefix_in_order(store: Store) -> None:
    """Prefixes are text, not patterns; deleting returns whether the document existed."""
    for id_ in ("b%", "b", "a", "b%2", "bc"):
        store.put_document("k", id_, b"")
    store.put_document("other", "b", b"")
    assert [d.id for d in store.list_documents("k", "b%")] == ["b%", "b%2"]
    assert [d.id for d in store.list_documents("k")] == ["a", "b", "b%", "b%2", "bc"]
    assert store.delete_document("k", "a")
    assert not store.delete_document("k", "a")
    assert store.get_document("k", "a") is None


def test_documents_are_read_by_range(store: Store) -> None:
    """From `start`, before `end`, sorted by id or in reverse, and no more than the limit."""
    store.put_documents([("k", f"{number:02}", b"%d" % number) for number in range(20)] + [("other", "05", b"")])
    assert [d.id for d in store.read_documents("k", "03", "06", limit=9)] == ["03", "04", "05"]
    assert [d.body for d in store.read_documents("k", "03", "06", limit=2, newest_first=True)] == [b"5", b"4"]
    assert [d.id for d in store.read_documents("k", "", "~", limit=3)] == ["00", "01", "02"]
    assert store.read_documents("k", "06", "03", limit=9) == []


def test_documents_are_written_and_deleted_together(store: Store) -> None:
    """One call writes some and deletes others; deleting a missing one is not an error."""
    store.put_documents([("k", "a", b""), ("k", "b", b"")])
    store.put_documents([("k", "c", b""), ("k", "d", b"")], forget=[("k", "a"), ("k", "d"), ("k", "nothing")])
    assert [d.id for d in store.list_documents("k")] == ["b", "c"]


def test_a_lease_has_one_holder_and_a_growing_token(store: Store, clock: ManualClock) -> None:
    """While it lasts, no other holder gets it; each new holder has a larger token; renewing keeps the token."""
    first = store.acquire_lease("active", "x", 10.0)
    assert first is not None
    assert store.acquire_lease("active", "y", 10.0) is None
    clock.now_ns += 9 * SECOND_NS
    renewed = store.acquire_lease("active", "x", 10.0)
    assert renewed is not None
    assert (renewed.token, renewed.expires_ns) == (first.token, clock.now_ns + 10 * SECOND_NS)
    clock.now_ns += 10 * SECOND_NS
    second = store.acquire_lease("active", "y", 10.0)
    assert second is not None
    assert second.token > first.token
    assert store.acquire_lease("active", "x", 10.0) is None


def test_an_expired_lease_has_a_new_token(store: Store, clock: ManualClock) -> None:
    """Another holder may have acted between expiry and renewal, so the old token must not be valid again."""
    first = store.acquire_lease("active", "x", 1.0)
    clock.now_ns += 2 * SECOND_NS
    again = store.acquire_lease("active", "x", 1.0)
    assert first is not None
    assert again is not None
    assert again.token > first.token


def test_removing_a_host_keeps_the_others(store: Store) -> None:
    """Blocks, series and documents of the host are deleted; definitions and hosts with similar names stay."""
    define(store, layout := small_layout())
    store.put_blocks([small_block(host=host, number=n, layout=layout) for host in ("a", "ab") for n in range(2)])
    store.roll_up(FAR_NS)
    store.put_blocks([small_block(number=2, layout=layout)])
    for id_ in ("a", "a/1", "ab"):
        store.put_document("event", id_, b"")
    assert store.remove_host("a") == 3
    assert store.remove_host("a") == 0
    assert list(store.read_blocks("a", 0, FAR_NS)) == []
    assert store.read_minutes("a", TEMPERATURES, 0, FAR_NS) == []
    assert store.settled("a", EPOCH, 0) == RangeSet()
    assert [d.id for d in store.list_documents("event")] == ["ab"]
    assert len(store.read_minutes("ab", TEMPERATURES, 0, FAR_NS)) == 2
    assert store.get_document("layout", definition_id(layout.digest)) is not None


def test_expiry_uses_the_time_of_receipt(store: Store) -> None:
    """Late data stay for their full time, however old the readings are; minute series outlive the seconds."""
    define(store, layout := small_layout(gpus=1))
    old = small_block(number=0, layout=layout)
    late = small_block(number=1, layout=layout, received_ns=START_NS + 5 * HOUR_NS)
    store.put_blocks([old, late])
    store.roll_up(FAR_NS)
    assert store.expire(blocks_before_ns=START_NS + HOUR_NS, minutes_before_ns=0, max_bytes=None) == 1
    assert [b.key.number for b in store.read_blocks("a", 0, FAR_NS)] == [1]
    assert len(store.read_minutes("a", TEMPERATURES, 0, FAR_NS)[0].times_ns) == 2
    store.expire(blocks_before_ns=0, minutes_before_ns=START_NS + 6 * HOUR_NS, max_bytes=None)
    assert store.read_minutes("a", TEMPERATURES, 0, FAR_NS) == []


def test_blocks_are_deleted_first_over_the_size_limit(store: Store) -> None:
    """The store deletes the oldest blocks, keeps the minute series, and shrinks."""
    define(store, layout := small_layout(gpus=1))
    noise = np.random.default_rng(1).integers(0, 1 << 60, (60, layout.count))
    blocks = [
        with_rows(small_block(number=n, layout=layout), rows(layout, range(60 * n, 60 * n + 60), values=noise), layout)
        for n in range(300)
    ]
    store.put_blocks(blocks)
    store.roll_up(FAR_NS)
    limit = 150_000 + sum(len(block.payload) for block in blocks) // 2
    dropped = store.expire(blocks_before_ns=0, minutes_before_ns=0, max_bytes=limit)
    assert 0 < dropped < 300
    assert store.size_bytes() <= limit
    assert [b.key.number for b in store.read_blocks("a", 0, FAR_NS)] == list(range(dropped, 300))
    assert len(store.read_minutes("a", TEMPERATURES, 0, FAR_NS)[0].times_ns) == 300


def test_threads_share_a_store(store: Store) -> None:
    """Many threads that write parts of the same blocks and read meanwhile lose nothing."""
    faults: list[BaseException] = []

    def write(part: int) -> None:
        try:
            for number in range(5):
                first = 60 * number + 15 * part
                store.put_blocks([small_block(number=number, present=range(first, first + 15))])
                store.settled("a", EPOCH, 0)
                list(store.read_blocks("a", 0, FAR_NS))
        except BaseException as fault:  # noqa: BLE001  the test reports the thread's exception
            faults.append(fault)

    threads = [threading.Thread(target=write, args=(part,)) for part in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == []
    assert store.settled("a", EPOCH, 0) == RangeSet([(0, 300)])


def test_a_block_with_other_ticks_is_refused(store: Store) -> None:
    """The ticks of an epoch's blocks never change: such a block is an error, and nothing of its batch is stored."""
    store.put_blocks([small_block()])
    other = replace(small_block(), ticks=600)
    with pytest.raises(StoreError, match="600 ticks"):
        store.put_blocks([small_block(number=7), other])
    assert store.settled("a", EPOCH, 0) == RangeSet([(0, 60)])
