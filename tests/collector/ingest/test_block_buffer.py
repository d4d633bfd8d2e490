"""The block buffer: packing keeps rows, the byte count is exact, and the cheapest rows to get again go first."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from flyball_collector.blocks.block import BlockKey
from flyball_collector.ingest.block_buffer import BlockBuffer, OpenBlock
from flyball_collector.ingest.packed_rows import PACK_ROWS, pack, row_groups, tick_bytes
from flyball_collector.ingest.record_reader import RecordReader
from flyball_collector.testing import make_layout, make_record
from flyball_collector.tick import KnownLayout, Tick
from flyball_proto.ranges import RangeSet
from flyball_proto.v1 import telemetry_pb2 as pb

SMALL, LARGE = make_layout(3), make_layout(9)
DOOR = RecordReader("host1", {layout.digest: KnownLayout(layout) for layout in (SMALL, LARGE)})
EPOCH = b"e" * 16


def tick(sequence: int, *, large: bool = False, holes: bool = False) -> Tick:
    layout = LARGE if large else SMALL
    count = len(layout.columns)
    values = [None if holes and n % 2 else float(sequence + n) for n in range(count)]
    events = [pb.HostEvent(kind="oom_kill")] if sequence % 5 == 0 else []
    return DOOR.read(
        make_record(sequence, layout, values, events=events, unavailable=sequence, tenancy=1), EPOCH, sequence
    )


def open_block(buffer: BlockBuffer, number: int = 0, *, born: float = 0.0, replay: bool = False) -> OpenBlock:
    home: dict[int, OpenBlock] = {}
    block = OpenBlock(BlockKey("host1", EPOCH, number), 60, home, born, replay, 0)
    buffer.open(block)
    return block


def fill(buffer: BlockBuffer, block: OpenBlock, count: int) -> None:
    for sequence in range(count):
        buffer.add(block, tick(sequence))


def overfill(buffer: BlockBuffer, *blocks: OpenBlock) -> None:
    sequence = 0
    while not buffer.over_budget:
        for block in blocks:
            buffer.add(block, tick(sequence))
        sequence += 1


@given(st.lists(st.tuples(st.integers(0, 999), st.booleans(), st.booleans()), unique_by=lambda row: row[0]), st.data())
def test_rows_survive_packing(rows: list[tuple[int, bool, bool]], data: st.DataObject) -> None:
    """Rows come back unchanged and in order of sequence, whether they were packed, compressed or neither."""
    ticks = [tick(sequence, large=large, holes=holes) for sequence, large, holes in rows]
    small, cut = sorted((data.draw(st.integers(0, len(ticks))), data.draw(st.integers(0, len(ticks)))))
    groups = row_groups([*pack(ticks[:small], small=True), *pack(ticks[small:cut])], ticks[cut:])
    assert sum(len(group.sequences) for group in groups) == len(ticks)
    by_sequence = {t.sequence: t for t in ticks}
    for group in groups:
        assert np.all(np.diff(group.sequences) > 0)
        for row, sequence in enumerate(group.sequences.tolist()):
            source = by_sequence[sequence]
            assert source.layout.digest == group.layout
            assert np.array_equal(group.values[row], source.values)
            known = source.valid if source.valid is not None else np.ones(source.layout.count, np.bool_)
            assert np.array_equal(group.valid[row], known)
            stamps = (group.agent_ns[row], group.boot_ns[row], group.received_ns[row], group.unavailable[row])
            assert stamps == (source.agent_ns, source.boot_ns, source.received_ns, source.unavailable)
            assert group.extras.get(sequence, b"") == source.extras


def test_rows_are_compressed_only_where_memory_is_scarce() -> None:
    """A buffer with room skips compression; one that uses more than a quarter of its budget does not."""
    roomy, scarce = BlockBuffer(1 << 30), BlockBuffer(4 * tick_bytes(tick(0)))
    found = []
    for buffer in (roomy, scarce):
        block = open_block(buffer)
        fill(buffer, block, PACK_ROWS)
        found.append([rows.compressed for rows in block.packed])
    assert found == [[False], [True]]


def test_rows_added_together_join_the_others() -> None:
    """Each row is there once; where memory is scarce they are compressed as well."""
    [together] = pack([tick(sequence) for sequence in range(20, 40)])
    for buffer in (BlockBuffer(1 << 30), BlockBuffer(4 * tick_bytes(tick(0)))):
        block = open_block(buffer)
        fill(buffer, block, PACK_ROWS + 3)
        buffer.add_rows(block, together)
        buffer.add(block, tick(50))
        [group] = block.groups()
        assert group.sequences.tolist() == [*range(PACK_ROWS + 3), *range(20, 40), 50]
        assert group.values[:, 0].tolist() == [10 * sequence for sequence in group.sequences.tolist()]
        assert [rows.compressed for rows in block.packed] == [buffer.nearly_full] * 2


def test_the_byte_count_returns_to_zero() -> None:
    """Added bytes are subtracted when a block is done, dropped or discarded."""
    buffer = BlockBuffer(1 << 30)
    done, dropped, forgotten = (open_block(buffer, n) for n in range(3))
    for block in (done, dropped, forgotten):
        fill(buffer, block, PACK_ROWS + 3)
        buffer.add_rows(block, pack([tick(30), tick(31)])[0])
    buffer.mark_ready(done)
    assert buffer.take(10) == [done]
    buffer.done(done)
    buffer.discard(dropped)
    buffer.discard(forgotten)
    assert buffer.size_bytes == 0
    assert buffer.open_blocks == 0


def test_packing_saves_memory() -> None:
    """Packed rows take a fraction of the memory of unpacked ones."""
    buffer = BlockBuffer(1 << 30)
    block = open_block(buffer)
    fill(buffer, block, PACK_ROWS - 1)
    loose = buffer.size_bytes
    buffer.add(block, tick(PACK_ROWS - 1))
    assert buffer.size_bytes < loose / 2


def test_a_block_that_is_put_back_merges_with_newer_rows() -> None:
    """After a failed write, old and new rows, losses and refusals are together."""
    buffer = BlockBuffer(1 << 30)
    block = open_block(buffer)
    fill(buffer, block, 5)
    block.lost = RangeSet([(20, 25)])
    buffer.mark_ready(block)
    buffer.take(1)
    newer = OpenBlock(block.key, 60, block.home, 1.0, False, 0)
    buffer.open(newer)
    buffer.add(newer, tick(7))
    buffer.put_back(block)
    [again] = buffer.take(5)
    assert again.groups()[0].sequences.tolist() == [0, 1, 2, 3, 4, 7]
    assert again.lost == RangeSet([(20, 25)])
    buffer.done(again)
    assert buffer.size_bytes == 0


def test_replayed_and_oldest_blocks_are_dropped_first() -> None:
    """Over budget, replayed blocks are dropped before live ones, the oldest first."""
    buffer = BlockBuffer(40_000)
    live_old, live_new = open_block(buffer, 1, born=1.0), open_block(buffer, 2, born=9.0)
    replayed = open_block(buffer, 3, born=5.0, replay=True)
    overfill(buffer, live_old, live_new, replayed)
    assert buffer.shed() == [replayed.key]
    assert not buffer.over_budget
    overfill(buffer, live_new)
    assert buffer.shed()[0] == live_old.key


def test_losses_survive_dropped_rows() -> None:
    """Losses are not declared again, so they stay when rows are dropped."""
    buffer = BlockBuffer(1)
    block = open_block(buffer)
    block.refused = RangeSet([(3, 4)])
    fill(buffer, block, 2)
    assert buffer.shed() == [block.key]
    assert (block.rows, block.packed, block.refused) == ([], (), RangeSet([(3, 4)]))
    assert buffer.open_blocks == 1


def test_blocks_of_a_host_are_found_during_a_write() -> None:
    """Rows stay readable until they are stored."""
    buffer = BlockBuffer(1 << 30)
    block = open_block(buffer)
    buffer.mark_ready(block)
    buffer.take(1)
    assert buffer.blocks_of("host1") == [block]
    assert buffer.blocks_of("host2") == []
