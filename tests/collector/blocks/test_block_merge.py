"""Merging blocks: the laws that make repetition and racing writers harmless."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flyball_collector.blocks.assembly import build_block
from flyball_collector.blocks.block import Block, BlockKey
from flyball_collector.blocks.block_merge import merge_blocks
from flyball_collector.blocks.codec import decode
from flyball_collector.blocks.errors import BlockError
from flyball_collector.blocks.testing import rows, small_block, small_layout
from flyball_proto.ranges import RangeSet

TICKS = 12
FIRST = 3 * TICKS
LAYOUTS = [small_layout(gpus=1), small_layout(gpus=2)]
KNOWN = {layout.digest: layout for layout in LAYOUTS}
SEQUENCES = st.sets(st.integers(FIRST, FIRST + TICKS - 1))


@st.composite
def blocks(draw: st.DrawFn) -> Block:
    """Return blocks of one key that may differ in everything."""
    made = []
    for layout in LAYOUTS:
        if sequences := sorted(draw(SEQUENCES)):
            shape = (len(sequences), layout.count)
            values = np.array(draw(st.integers(0, 3))) + np.arange(shape[0] * shape[1]).reshape(shape)
            extras = {s: draw(st.binary(max_size=3)) for s in sequences[:1]}
            received = draw(st.sampled_from([0, 1]))
            made.append(rows(layout, sequences, epoch_start_ns=10**18 + received, values=values, extras=extras))
    lost, refused = (RangeSet.of(draw(SEQUENCES)) for _ in range(2))
    return build_block(BlockKey("a", b"e" * 16, 3), TICKS, made, lost, refused, draw(st.integers(0, 3)), KNOWN)


def numbers(block: Block) -> list[int]:
    return sorted(sequence for group in decode(block.payload) for sequence in group.sequences.tolist())


@settings(max_examples=40)
@given(blocks(), blocks())
def test_order_does_not_matter(a: Block, b: Block) -> None:
    """Merging a with b gives the same bytes as b with a."""
    assert merge_blocks(a, b) == merge_blocks(b, a)


@settings(max_examples=40)
@given(blocks(), blocks(), blocks())
def test_grouping_does_not_matter(a: Block, b: Block, c: Block) -> None:
    """Three blocks give the same result, whichever two are merged first."""
    assert merge_blocks(merge_blocks(a, b), c) == merge_blocks(a, merge_blocks(b, c))


@settings(max_examples=40)
@given(blocks(), blocks())
def test_repetition_does_not_matter(a: Block, b: Block) -> None:
    """Merging a block again changes nothing."""
    assert merge_blocks(a, a) == a
    assert merge_blocks(merge_blocks(a, b), b) == merge_blocks(a, b)


@settings(max_examples=40)
@given(blocks(), blocks())
def test_nothing_is_lost_or_duplicated(a: Block, b: Block) -> None:
    """Every sequence settled in either is settled once: present over lost, lost over refused."""
    both = merge_blocks(a, b)
    assert both.present == a.present | b.present
    assert both.settled == a.settled | b.settled
    assert numbers(both) == sorted(set(numbers(a)) | set(numbers(b)))
    assert len(both.settled) == len(both.present) + len(both.lost) + len(both.refused)
    assert RangeSet.of(numbers(both)) == both.present


def test_the_row_received_first_stays() -> None:
    """If two collectors received a record, the earlier receipt is kept."""
    layout = small_layout()
    early = rows(layout, [0])
    late = rows(layout, [0])
    late.received_ns[:] += 5
    key, empty = BlockKey("a", b"e" * 16, 0), RangeSet()
    first, second = (build_block(key, 60, [group], empty, empty, 0, {layout.digest: layout}) for group in (early, late))
    (group,) = decode(merge_blocks(second, first).payload)
    assert group.received_ns.tolist() == early.received_ns.tolist()


def test_different_blocks_are_not_merged() -> None:
    """Key and number of ticks must be equal."""
    with pytest.raises(BlockError, match="not the same block"):
        merge_blocks(small_block(number=0), small_block(number=1))


def test_sequences_outside_of_a_block_are_refused() -> None:
    """A block holds only its own sequences."""
    with pytest.raises(BlockError, match=r"sequences RangeSet\(\[\(60, 61\)\]\) are outside 0 … 59"):
        small_block(present=[59, 60])
    with pytest.raises(BlockError, match="are outside"):
        small_block(number=1, present=(), lost=[(0, 120)])


def test_rows_that_do_not_fit_their_layout_are_refused() -> None:
    """The number of columns must be the layout's."""
    one, two = LAYOUTS
    group = rows(one, [0])
    key, empty = BlockKey("a", b"e" * 16, 0), RangeSet()
    with pytest.raises(BlockError, match="which is unknown"):
        build_block(key, 60, [group], empty, empty, 0, {two.digest: two})
    with pytest.raises(BlockError, match=r"rows of 3 columns for layout .*, which has 5 columns"):
        build_block(key, 60, [group], empty, empty, 0, {one.digest: two})
