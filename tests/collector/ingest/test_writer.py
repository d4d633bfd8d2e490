"""The writer: one block that the store will not have must not hold up the others, nor its own host for ever."""

from collections.abc import Sequence

from flyball_collector.blocks.block import Block
from flyball_collector.store.contract import StoreError
from flyball_collector.store.memory import MemoryStore
from flyball_collector.testing import AgentDouble, make_epoch, make_layout, make_record, running_ingest
from flyball_proto.ranges import RangeSet

LAYOUT = make_layout()
EPOCH = make_epoch()


class Picky(MemoryStore):
    """Will not have the rows of one host."""

    def put_blocks(self, blocks: Sequence[Block]) -> list[RangeSet]:
        if any(block.key.host == "bad" and block.present for block in blocks):
            raise StoreError("rows of 'bad' are not wanted")
        return super().put_blocks(blocks)


async def test_a_block_that_the_store_refuses_is_refused() -> None:
    """Its neighbours in the batch are stored; its own sequences settle as refused, so that the agent goes on."""
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
    """Whoever reads a block finds its layout."""

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
