"""Gathering: rows survive packing, the byte count is true, and what is let go is the cheapest to get again."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from flyball_collector.blocks.block import BlockKey
from flyball_collector.ingest.door import Door
from flyball_collector.ingest.gather import Gatherer, OpenBlock
from flyball_collector.ingest.pack import PACK_ROWS, pack, row_groups, tick_bytes
from flyball_collector.testing import make_layout, make_record
from flyball_collector.tick import KnownLayout, Tick
from flyball_proto.ranges import RangeSet
from flyball_proto.v1 import telemetry_pb2 as pb

SMALL, LARGE = make_layout(3), make_layout(9)
DOOR = Door("host1", {layout.digest: KnownLayout(layout) for layout in (SMALL, LARGE)})
EPOCH = b"e" * 16


def tick(sequence: int, *, large: bool = False, holes: bool = False) -> Tick:
    layout = LARGE if large else SMALL
    count = len(layout.columns)
    values = [None if holes and n % 2 else float(sequence + n) for n in range(count)]
    events = [pb.HostEvent(kind="oom_kill")] if sequence % 5 == 0 else []
    return DOOR.read(
        make_record(sequence, layout, values, events=events, unavailable=sequence, tenancy=1), EPOCH, sequence
    )


def open_block(gatherer: Gatherer, number: int = 0, *, born: float = 0.0, replay: bool = False) -> OpenBlock:
    home: dict[int, OpenBlock] = {}
    block = OpenBlock(BlockKey("host1", EPOCH, number), 60, home, born, replay, 0)
    gatherer.open(block)
    return block


def fill(gatherer: Gatherer, block: OpenBlock, count: int) -> None:
    for sequence in range(count):
        gatherer.add(block, tick(sequence))


def overfill(gatherer: Gatherer, *blocks: OpenBlock) -> None:
    sequence = 0
    while not gatherer.over_budget:
        for block in blocks:
            gatherer.add(block, tick(sequence))
        sequence += 1


@given(st.lists(st.tuples(st.integers(0, 999), st.booleans(), st.booleans()), unique_by=lambda row: row[0]), st.data())
def test_rows_survive_packing(rows: list[tuple[int, bool, bool]], data: st.DataObject) -> None:
    """However the rows are split between packed, small and loose, each comes back as it was, in order of sequence."""
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


def test_rows_are_packed_small_only_where_memory_is_scarce() -> None:
    """A gatherer with room spares the compression; one that has used a quarter of its budget does not."""
    roomy, scarce = Gatherer(1 << 30), Gatherer(4 * tick_bytes(tick(0)))
    found = []
    for gatherer in (roomy, scarce):
        block = open_block(gatherer)
        fill(gatherer, block, PACK_ROWS)
        found.append([rows.compressed for rows in block.packed])
    assert found == [[False], [True]]


def test_rows_that_come_together_are_held_with_the_others() -> None:
    """Beside rows that came alone, each is there once; where memory is scarce they are compressed too."""
    [together] = pack([tick(sequence) for sequence in range(20, 40)])
    for gatherer in (Gatherer(1 << 30), Gatherer(4 * tick_bytes(tick(0)))):
        block = open_block(gatherer)
        fill(gatherer, block, PACK_ROWS + 3)
        gatherer.add_rows(block, together)
        gatherer.add(block, tick(50))
        [group] = block.groups()
        assert group.sequences.tolist() == [*range(PACK_ROWS + 3), *range(20, 40), 50]
        assert group.values[:, 0].tolist() == [10 * sequence for sequence in group.sequences.tolist()]
        assert [rows.compressed for rows in block.packed] == [gatherer.pressed] * 2


def test_the_byte_count_returns_to_zero() -> None:
    """Whatever is added is subtracted when it is done, dropped or forgotten."""
    gatherer = Gatherer(1 << 30)
    done, dropped, forgotten = (open_block(gatherer, n) for n in range(3))
    for block in (done, dropped, forgotten):
        fill(gatherer, block, PACK_ROWS + 3)
        gatherer.add_rows(block, pack([tick(30), tick(31)])[0])
    gatherer.ready(done)
    assert gatherer.take(10) == [done]
    gatherer.done(done)
    gatherer.forget(dropped)
    gatherer.forget(forgotten)
    assert gatherer.size_bytes == 0
    assert gatherer.open_blocks == 0


def test_packing_saves_memory() -> None:
    """Packed rows take a fraction of loose ones."""
    gatherer = Gatherer(1 << 30)
    block = open_block(gatherer)
    fill(gatherer, block, PACK_ROWS - 1)
    loose = gatherer.size_bytes
    gatherer.add(block, tick(PACK_ROWS - 1))
    assert gatherer.size_bytes < loose / 2


def test_a_block_that_comes_back_meets_what_came_meanwhile() -> None:
    """After a failed write, old and new rows, losses and refusals are together."""
    gatherer = Gatherer(1 << 30)
    block = open_block(gatherer)
    fill(gatherer, block, 5)
    block.lost = RangeSet([(20, 25)])
    gatherer.ready(block)
    gatherer.take(1)
    newer = OpenBlock(block.key, 60, block.home, 1.0, False, 0)
    gatherer.open(newer)
    gatherer.add(newer, tick(7))
    gatherer.give_back(block)
    [again] = gatherer.take(5)
    assert again.groups()[0].sequences.tolist() == [0, 1, 2, 3, 4, 7]
    assert again.lost == RangeSet([(20, 25)])
    gatherer.done(again)
    assert gatherer.size_bytes == 0


def test_replay_and_the_oldest_go_first() -> None:
    """Over budget, replayed blocks go before live ones, and among them the oldest."""
    gatherer = Gatherer(40_000)
    live_old, live_new = open_block(gatherer, 1, born=1.0), open_block(gatherer, 2, born=9.0)
    replayed = open_block(gatherer, 3, born=5.0, replay=True)
    overfill(gatherer, live_old, live_new, replayed)
    assert gatherer.shed() == [replayed.key]
    assert not gatherer.over_budget
    overfill(gatherer, live_new)
    assert gatherer.shed()[0] == live_old.key


def test_losses_outlive_dropped_rows() -> None:
    """What was declared lost is not declared again: it stays when rows go."""
    gatherer = Gatherer(1)
    block = open_block(gatherer)
    block.refused = RangeSet([(3, 4)])
    fill(gatherer, block, 2)
    assert gatherer.shed() == [block.key]
    assert (block.rows, block.packed, block.refused) == ([], (), RangeSet([(3, 4)]))
    assert gatherer.open_blocks == 1


def test_blocks_of_a_host_are_found_while_they_are_written() -> None:
    """Rows stay readable until they are stored."""
    gatherer = Gatherer(1 << 30)
    block = open_block(gatherer)
    gatherer.ready(block)
    gatherer.take(1)
    assert gatherer.of_host("host1") == [block]
    assert gatherer.of_host("host2") == []
