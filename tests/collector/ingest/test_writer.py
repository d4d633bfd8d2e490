"""The writer: a block that the store refuses must not hold up other blocks or its own host."""

import asyncio
import os
from collections.abc import Sequence

import pytest

from flyball_collector.blocks.block import Block, BlockKey
from flyball_collector.ingest.block_buffer import BlockBuffer, OpenBlock
from flyball_collector.ingest.block_builder import LARGE_FLEET
from flyball_collector.ingest.counts import Counts
from flyball_collector.ingest.writer import BlockWriter
from flyball_collector.store.contract import StoreError
from flyball_collector.store.memory import MemoryStore
from flyball_collector.testing import AgentDouble, make_epoch, make_layout, make_record, running_ingest
from flyball_proto.ranges import RangeSet
from tests.collector.ingest.test_block_buffer import open_block, tick

LAYOUT = make_layout()
EPOCH = make_epoch()


class Picky(MemoryStore):
    """Refuses the rows of one host."""

    def put_blocks(self, blocks: Sequence[Block]) -> list[RangeSet]:
        if any(block.key.host == "bad" and block.present for block in blocks):
            raise StoreError("rows of 'bad' are not wanted")
        return super().put_blocks(blocks)


async def test_a_block_that_the_store_refuses_is_refused() -> None:
    """Its neighbours in the batch are stored; its own sequences settle as refused, so that the agent continues."""
    store = Picky()
    async with running_ingest(store) as running:
        bad, good = await AgentDouble.connect(running.port, "bad"), await AgentDouble.connect(running.port, "good")
        for agent in (bad, good):
            await agent.greet(layout=LAYOUT)
            await agent.send(EPOCH.id, [make_record(n, LAYOUT) for n in range(60)])
        await good.acknowledged(60)
        await bad.acknowledged(60)
        [refused] = store.read_blocks("bad", 0, 1 << 62)
        assert refused.refused == RangeSet([(0, 60)])
        [stored] = store.read_blocks("good", 0, 1 << 62)
        assert stored.present == RangeSet([(0, 60)])
        assert running.server.counts.blocks_failed == 1
        assert running.server.store_up
        await bad.close()
        await good.close()


async def test_definitions_are_stored_before_the_blocks_that_need_them() -> None:
    """A reader of a block finds its layout."""

    class Ordered(MemoryStore):
        def put_blocks(self, blocks: Sequence[Block]) -> list[RangeSet]:
            assert self.get_document("layout", f"{LAYOUT.digest:016x}") is not None
            return super().put_blocks(blocks)

    async with running_ingest(Ordered()) as running:
        agent = await AgentDouble.connect(running.port)
        await agent.greet(layout=LAYOUT)
        await agent.send(EPOCH.id, [make_record(n, LAYOUT) for n in range(60)])
        await agent.acknowledged(60)
        await agent.close()


async def test_a_large_fleet_has_a_builder_process_that_ends_with_the_writer() -> None:
    """The first block beyond the size of a large fleet starts it."""
    buffer, stored = BlockBuffer(1 << 30), asyncio.Queue[BlockKey]()

    async def write(block: OpenBlock) -> None:
        buffer.add(block, tick(block.key.number * block.ticks))
        buffer.mark_ready(block)
        assert await asyncio.wait_for(stored.get(), 20) == block.key

    writer = BlockWriter(MemoryStore(), buffer, Counts(), lambda key, _: stored.put_nowait(key), 20)
    running = asyncio.create_task(writer.run())
    await write(open_block(buffer))
    assert not writer.builder_pid
    newest = [open_block(buffer, number) for number in range(1, LARGE_FLEET + 1)][-1]
    await write(newest)
    pid = writer.builder_pid
    assert pid is not None
    writer.close()
    await running
    writer.shut_down()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
