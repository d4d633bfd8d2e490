"""The block builder: its worker process builds the same blocks as a thread, and no block is lost with the process."""

import os
import signal
from collections.abc import Iterator
from dataclasses import replace

import pytest

from flyball_collector.blocks.errors import BlockError
from flyball_collector.ingest.block_buffer import BlockBuffer, OpenBlock
from flyball_collector.ingest.block_builder import BlockBuilder
from flyball_collector.ingest.counts import Counts
from flyball_proto.ranges import RangeSet
from tests.collector.ingest.test_block_buffer import open_block, tick

LARGE = 4
TICKS = 60


@pytest.fixture
def counts() -> Counts:
    return Counts()


@pytest.fixture
def builder(counts: Counts) -> Iterator[BlockBuilder]:
    builder = BlockBuilder(counts, large_fleet=LARGE, limit_seconds=20)
    yield builder
    builder.close()


@pytest.fixture
def blocks() -> list[OpenBlock]:
    """Return three blocks of one epoch, with gaps and two layouts; the last has lost sequences and is mostly empty."""
    buffer = BlockBuffer(1 << 30)
    opened = [open_block(buffer, number) for number in range(3)]
    for block, count in zip(opened, (TICKS, TICKS, 7), strict=True):
        for row in range(count):
            sequence = block.key.number * TICKS + row
            buffer.add(block, tick(sequence, large=row > TICKS // 2, holes=row % 3 == 0))
    opened[2].lost = RangeSet([(2 * TICKS + 30, 2 * TICKS + 40)])
    return opened


def test_the_process_builds_the_same_blocks_as_a_thread(builder: BlockBuilder, blocks: list[OpenBlock]) -> None:
    """They are equal byte for byte. A small fleet needs no process; all batches of a large one use the same process."""
    here = builder.build(blocks, of_all=LARGE - 1)
    assert not builder.pid
    assert builder.build(blocks, of_all=LARGE) == here
    first = builder.pid
    assert first is not None
    assert builder.build(blocks[2:], of_all=LARGE) == here[2:]
    assert builder.pid == first
    assert [len(block.present) for block in here] == [TICKS, TICKS, 7]


def test_no_block_is_lost_with_the_process(builder: BlockBuilder, blocks: list[OpenBlock], counts: Counts) -> None:
    """After a kill between two batches the thread builds the next one, it is counted, and then a new process starts."""
    here = builder.build(blocks, of_all=LARGE)
    pid = builder.pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    assert builder.build(blocks, of_all=LARGE) == here
    assert counts.builder_failures == 1
    assert builder.build(blocks, of_all=LARGE) == here
    assert builder.pid not in {None, pid}
    assert counts.builder_failures == 1


def test_the_process_ends_with_the_builder(builder: BlockBuilder, blocks: list[OpenBlock]) -> None:
    """No process remains."""
    builder.build(blocks, of_all=LARGE)
    pid = builder.pid
    assert pid is not None
    builder.close()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_an_invalid_block_is_reported(builder: BlockBuilder, blocks: list[OpenBlock], counts: Counts) -> None:
    """The process gives the same reason as the thread, and continues to run."""
    wrong = replace(blocks[0], key=blocks[1].key)
    for hosts in (1, LARGE, LARGE):
        with pytest.raises(BlockError, match=r"sequences .* are outside 60 … 119"):
            builder.build([blocks[1], wrong], of_all=hosts)
    assert counts.builder_failures == 0


def test_rows_wider_than_their_layout_are_reported(builder: BlockBuilder, counts: Counts) -> None:
    """They are found before the process gets them, so its loss is not counted."""
    buffer = BlockBuffer(1 << 30)
    block = open_block(buffer)
    buffer.add(block, replace(tick(0), layout=tick(0, large=True).layout))
    with pytest.raises(BlockError, match=r"rows of 3 columns for layout .*, which has 9"):
        builder.build([block], of_all=LARGE)
    assert not builder.pid
    assert counts.builder_failures == 0
