"""A session: nothing remains of it when it is over."""

import asyncio
import gc
import weakref

from flyball_collector.ingest.session import Session
from flyball_collector.store.memory import MemoryStore
from flyball_collector.testing import AgentDouble, make_epoch, make_layout, make_record, running_ingest


async def test_a_stream_that_ended_leaves_no_reference_cycle() -> None:
    """Collecting the garbage of two thousand streams that end at once would block the event loop for a second."""
    layout, epoch = make_layout(), make_epoch()
    async with running_ingest(MemoryStore()) as running:
        agent = await AgentDouble.connect(running.port)
        await agent.greet(layout=layout)
        await agent.send(epoch.id, [make_record(sequence, layout) for sequence in range(2)])
        sessions = weakref.WeakSet(each for each in gc.get_objects() if type(each) is Session)
        assert len(sessions) == 1
        gc.disable()
        try:
            await agent.close()
            async with asyncio.timeout(60):
                while sessions:  # noqa: ASYNC110  it ends elsewhere
                    await asyncio.sleep(0.01)
        finally:
            gc.enable()
