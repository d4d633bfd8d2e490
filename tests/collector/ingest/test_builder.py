"""The builder: a process of its own builds what a thread would, and whoever loses it loses no block."""

import os
import signal
from collections.abc import Iterator
from dataclasses import replace

import pytest

from flyball_collector.blocks.errors import BlockError
from flyball_collector.ingest.builder import Builder
from flyball_collector.ingest.counts import Counts
from flyball_collector.ingest.gather import Gatherer, OpenBlock
from flyball_proto.ranges import RangeSet
from tests.collector.ingest.test_gather import open_block, tick

LARGE = 4
TICKS = 60


@pytest.fixture
def counts() -> Counts:
    return Counts()


@pytest.fixture
def builder(counts: Counts) -> Iterator[Builder]:
    builder = Builder(counts, large_fleet=LARGE, limit_seconds=20)
    yield builder
    builder.close()


@pytest.fixture
def blocks() -> list[OpenBlock]:
    """Three of one epoch, with holes and of two layouts; of the last some is lost and most has not come."""
    gatherer = Gatherer(1 << 30)
    opened = [open_block(gatherer, number) for number in range(3)]
    for block, count in zip(opened, (TICKS, TICKS, 7), strict=True):
        for row in range(count):
            sequence = block.key.number * TICKS + row
            gatherer.add(block, tick(sequence, large=row > TICKS // 2, holes=row % 3 == 0))
    opened[2].lost = RangeSet([(2 * TICKS + 30, 2 * TICKS + 40)])
    return opened


def test_a_process_builds_what_a_thread_builds(builder: Builder, blocks: list[OpenBlock]) -> None:
    """Byte for byte; a small fleet needs no process, and all batches of a large one the same."""
    here = builder.build(blocks, of_all=LARGE - 1)
    assert not builder.pid
    assert builder.build(blocks, of_all=LARGE) == here
    first = builder.pid
    assert first is not None
    assert builder.build(blocks[2:], of_all=LARGE) == here[2:]
    assert builder.pid == first
    assert [len(block.present) for block in here] == [TICKS, TICKS, 7]


def test_a_lost_process_loses_no_block(builder: Builder, blocks: list[OpenBlock], counts: Counts) -> None:
    """Killed between two batches: the thread builds the next one, it is counted, and another process the one after."""
    here = builder.build(blocks, of_all=LARGE)
    pid = builder.pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    assert builder.build(blocks, of_all=LARGE) == here
    assert counts.builder_failures == 1
    assert builder.build(blocks, of_all=LARGE) == here
    assert builder.pid not in {None, pid}
    assert counts.builder_failures == 1


def test_it_ends_with_the_builder(builder: Builder, blocks: list[OpenBlock]) -> None:
    """Nobody is left behind."""
    builder.build(blocks, of_all=LARGE)
    pid = builder.pid
    assert pid is not None
    builder.close()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_a_block_that_cannot_be_built_is_told(builder: Builder, blocks: list[OpenBlock], counts: Counts) -> None:
    """By the process as by the thread, with the reason; the process lives on."""
    wrong = replace(blocks[0], key=blocks[1].key)
    for hosts in (1, LARGE, LARGE):
        with pytest.raises(BlockError, match=r"sequences .* are not in 60 … 119"):
            builder.build([blocks[1], wrong], of_all=hosts)
    assert counts.builder_failures == 0


def test_rows_of_another_width_than_their_layout_are_told(builder: Builder, counts: Counts) -> None:
    """Before a process sees them: what cannot be stored is no loss of the process."""
    gatherer = Gatherer(1 << 30)
    block = open_block(gatherer)
    gatherer.add(block, replace(tick(0), layout=tick(0, large=True).layout))
    with pytest.raises(BlockError, match=r"rows of 3 columns for layout .*, which is of 9"):
        builder.build([block], of_all=LARGE)
    assert not builder.pid
    assert counts.builder_failures == 0
