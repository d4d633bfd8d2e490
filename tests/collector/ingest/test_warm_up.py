"""The warm-up: a restarted collector knows its hosts and their last readings."""

import asyncio
import time

from flyball_collector.store.memory import MemoryStore
from flyball_collector.testing import (
    AgentDouble,
    FlakyStore,
    RunningIngest,
    make_epoch,
    make_layout,
    make_record,
    running_ingest,
)
from flyball_proto.v1 import telemetry_pb2 as pb

LAYOUT = make_layout()
EPOCH = make_epoch()


async def fill(store: MemoryStore) -> None:
    """Store 30 seconds of records of a host that then disconnects."""
    async with running_ingest(store) as running:
        agent = await AgentDouble.connect(running.port)
        await agent.greet(layout=LAYOUT)
        await agent.write(pb.AgentMessage(inventory=pb.Inventory(kernel="6.1")))
        start_ns = time.time_ns() - 30_000_000_000
        records = [make_record(n, LAYOUT, start_ns=start_ns) for n in range(30)]
        await agent.send(EPOCH.id, records)
        while running.server.counts.records < 30:  # noqa: ASYNC110  what is waited for happens elsewhere
            await asyncio.sleep(0.01)
        await agent.close()


async def wait_for_warm_up(running: RunningIngest) -> None:
    async with asyncio.timeout(60):
        while running.server.warming:  # noqa: ASYNC110  what is waited for happens elsewhere
            await asyncio.sleep(0.01)


async def test_hosts_and_readings_are_restored() -> None:
    """Name, version, inventory and newest readings are known before the agent reconnects."""
    store = MemoryStore()
    await fill(store)
    async with running_ingest(store) as running:
        await wait_for_warm_up(running)
        state = running.fleet.get("host1")
        assert state is not None
        assert (state.connected, state.agent_version) == (False, "1.2.3")
        assert state.inventory is not None
        assert state.inventory.kernel == "6.1"
        assert [value for _, value in running.fleet.readings(state)] == [29.0, 29.0, 29.0]


async def test_a_damaged_document_is_skipped() -> None:
    """One unreadable host does not affect the others."""
    store = MemoryStore()
    await fill(store)
    store.put_document("host", "broken", b"{")
    async with running_ingest(store) as running:
        await wait_for_warm_up(running)
        assert [state.name for state in running.fleet.hosts()] == ["host1"]


async def test_a_store_that_is_down_is_retried() -> None:
    """The warm-up waits for the store, and streams do not wait for the warm-up."""
    store = FlakyStore()
    await fill(store)
    store.down = True
    async with running_ingest(store) as running:
        agent = await AgentDouble.connect(running.port, "other")
        await agent.greet()
        assert running.server.warming
        store.down = False
        await wait_for_warm_up(running)
        assert {state.name for state in running.fleet.hosts()} == {"host1", "other"}
        await agent.close()
