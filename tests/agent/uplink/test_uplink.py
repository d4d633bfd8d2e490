"""Tests of the uplink: every record reaches the collector once, despite broken connections."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flyball_agent.clock import KernelClock
from flyball_agent.self_metrics import SelfMetrics
from flyball_agent.settings import SpoolSettings, TlsSettings
from flyball_agent.spool.spool import Spool
from flyball_agent.spool.testing import a_tick, an_epoch
from flyball_agent.testing import MemoryCollector, until_true
from flyball_agent.uplink.stream import MAX_HELLO_EPOCHS, AgentState
from flyball_agent.uplink.uplink import Uplink, UplinkSettings, backoff_seconds
from flyball_proto.ranges import RangeSet
from flyball_proto.v1 import telemetry_pb2 as pb

EPOCH = an_epoch(1)


class Agent:
    """A spool and an uplink; the test acts as the sampler."""

    def __init__(self, directory: Path, *addresses: str, settings: SpoolSettings | None = None) -> None:
        self.self_metrics = SelfMetrics()
        self.spool = Spool(
            directory,
            settings or SpoolSettings(segment_bytes=16 * 1024),
            clock=KernelClock(),
            self_metrics=self.self_metrics,
            announce=lambda _kind, _text: None,
        )
        self.state = AgentState("host-a", "0.1.0", self.spool, KernelClock(), self.self_metrics)
        self.uplink = Uplink(
            UplinkSettings(addresses, TlsSettings(), max_backoff_seconds=0.2), self.state, chance=lambda: 0.1
        )
        self.stop = asyncio.Event()

    def tick(self, *sequences: int, epoch: bytes = EPOCH.id) -> None:
        for sequence in sequences:
            tick = a_tick(sequence)
            self.spool.append(tick)
            self.uplink.offer(epoch, tick)

    @asynccontextmanager
    async def running(self) -> AsyncIterator["Agent"]:
        task = asyncio.create_task(self.uplink.run(self.stop))
        try:
            yield self
        finally:
            self.stop.set()
            await asyncio.wait_for(task, 60)
            self.spool.close()


@pytest.fixture
async def collector() -> AsyncIterator[MemoryCollector]:
    """Yield a running collector."""
    async with MemoryCollector() as collector:
        yield collector
        assert collector.faults == []


def has(collector: MemoryCollector, following: int, epoch: bytes = EPOCH.id) -> bool:
    """Return True if the collector has every sequence below `following`."""
    held = collector.held.get(epoch)
    return held is not None and len(held.records) == following == RangeSet.of(held.records).prefix_from(0)


async def test_live_records_arrive_and_are_forgotten(tmp_path: Path, collector: MemoryCollector) -> None:
    """Records of a connected agent arrive live, in batches, each once; acknowledged records leave the spool."""
    agent = Agent(tmp_path, collector.address)
    agent.spool.begin(EPOCH)
    async with agent.running():
        await collector.until(lambda: bool(collector.hellos))
        await until_true(lambda: agent.self_metrics.connected)
        for sequence in range(40):
            agent.tick(sequence)
            await asyncio.sleep(0.005)
        await collector.until(lambda: has(collector, 40))
        held = collector.held[EPOCH.id]
        assert (held.received, held.replayed) == (40, 0)
        assert held.records[7] == a_tick(7).record
        await until_true(lambda: not agent.spool.held(EPOCH.id))
        batches = [kind for kind, _ in collector.messages if kind == "records"]
        assert len(batches) < 20
        assert collector.echoes >= 1
    assert collector.goodbyes == ["stopped"]


async def test_definitions_come_before_their_records(tmp_path: Path, collector: MemoryCollector) -> None:
    """A definition is sent once per stream, before the first record that needs it."""
    agent = Agent(tmp_path, collector.address)
    agent.spool.begin(EPOCH)
    agent.tick(*range(50))
    async with agent.running():
        await collector.until(lambda: has(collector, 50))
        agent.tick(50, 51)
        await collector.until(lambda: has(collector, 52))
    assert [kind for kind, _ in collector.messages].count("definition") == 1


async def test_the_backlog_of_all_epochs_is_replayed(tmp_path: Path, collector: MemoryCollector) -> None:
    """Records of earlier epochs are sent, oldest first, in messages of limited size."""
    before = Agent(tmp_path, collector.address)
    before.spool.begin(EPOCH)
    before.tick(*range(500))
    before.spool.close()
    agent = Agent(tmp_path, collector.address)
    agent.spool.begin(an_epoch(2))
    agent.tick(*range(20), epoch=an_epoch(2).id)
    collector.granting_bytes = 20_000
    async with agent.running():
        await collector.until(lambda: has(collector, 500) and has(collector, 20, an_epoch(2).id))
        await until_true(lambda: len(agent.spool.epochs()) == 1)
    assert collector.held[EPOCH.id].received == 500
    assert max(size for kind, size in collector.messages if kind == "records") < 24_000


async def test_without_a_grant_only_live_records_are_sent(tmp_path: Path, collector: MemoryCollector) -> None:
    """No backlog is sent before the collector grants it."""
    collector.granting_bytes = 0
    agent = Agent(tmp_path, collector.address)
    agent.spool.begin(EPOCH)
    agent.tick(*range(10))
    async with agent.running():
        await until_true(lambda: agent.self_metrics.connected)
        agent.tick(10, 11)
        await collector.until(lambda: bool(collector.held[EPOCH.id].records))
        await asyncio.sleep(0.2)
        assert sorted(collector.held[EPOCH.id].records) == [10, 11]
        await collector.send(pb.CollectorMessage(replay_grant=pb.ReplayGrant(bytes=10_000)))
        await collector.until(lambda: has(collector, 12))


async def test_a_collector_that_restarts_misses_nothing(tmp_path: Path, collector: MemoryCollector) -> None:
    """Records sent on a broken connection are sent again, but not those that the collector already has."""
    agent = Agent(tmp_path, collector.address)
    agent.spool.begin(EPOCH)
    async with agent.running():
        for round_ in range(4):
            agent.tick(*range(round_ * 25, round_ * 25 + 25))
            await asyncio.sleep(0.15)
            await collector.stop()
            await collector.start()
        await collector.until(lambda: has(collector, 100))


async def test_the_next_collector_is_tried(tmp_path: Path, collector: MemoryCollector) -> None:
    """If a collector is not reachable, the next one is tried after a short wait."""
    agent = Agent(tmp_path, "127.0.0.1:9", collector.address)
    agent.spool.begin(EPOCH)
    agent.tick(0, 1)
    async with agent.running():
        await collector.until(lambda: has(collector, 2))


async def test_a_rewind_sends_again(tmp_path: Path, collector: MemoryCollector) -> None:
    """Records that the collector dropped are sent again, under a grant."""
    collector.acknowledging = False
    agent = Agent(tmp_path, collector.address)
    agent.spool.begin(EPOCH)
    agent.tick(*range(30))
    async with agent.running():
        await collector.until(lambda: has(collector, 30))
        collector.held[EPOCH.id].records.clear()
        rewind = pb.Rewind(epoch=EPOCH.id)
        setattr(rewind, "from", 10)
        await collector.send(pb.CollectorMessage(rewind=rewind))
        await collector.until(lambda: len(collector.held[EPOCH.id].records) == 20)
        assert sorted(collector.held[EPOCH.id].records) == list(range(10, 30))


async def test_refused_records_are_not_sent_again(tmp_path: Path, collector: MemoryCollector) -> None:
    """Refused records are counted and are settled."""
    collector.refuse = lambda sequence: sequence % 2 == 0
    agent = Agent(tmp_path, collector.address)
    agent.spool.begin(EPOCH)
    agent.tick(*range(20))
    async with agent.running():
        await collector.until(lambda: len(collector.sequences().get(EPOCH.id, ())) == 10)
        await until_true(lambda: not agent.spool.held(EPOCH.id))
        agent.uplink.reconnect()
        await collector.until(lambda: len(collector.hellos) == 2)
    assert agent.self_metrics.records_refused == 10
    assert collector.held[EPOCH.id].received == 20


async def test_losses_are_declared(tmp_path: Path, collector: MemoryCollector) -> None:
    """Dropped records are declared lost, so that the others can be acknowledged and deleted."""
    small = SpoolSettings(max_bytes=32 * 1024, segment_bytes=8192)
    agent = Agent(tmp_path, collector.address, settings=small)
    agent.spool.begin(EPOCH)
    agent.tick(*range(1000))
    lost = agent.spool.lost(EPOCH.id)
    async with agent.running():
        await collector.until(lambda: EPOCH.id in collector.held and collector.held[EPOCH.id].settled == 1000)
        held = collector.held[EPOCH.id]
        assert held.lost == lost
        assert len(held.records) == 1000 - len(lost)
        await until_true(lambda: not agent.spool.lost(EPOCH.id) and not agent.spool.held(EPOCH.id))


async def test_deleted_records_are_declared_to_a_collector_with_an_empty_store(
    tmp_path: Path, collector: MemoryCollector
) -> None:
    """Records acknowledged by another collector and deleted are declared lost, so that others can be settled."""
    agent = Agent(tmp_path, collector.address)
    agent.spool.begin(EPOCH)
    agent.tick(*range(200))
    agent.spool.settle(EPOCH.id, 150)
    async with agent.running():
        await collector.until(lambda: EPOCH.id in collector.held and collector.held[EPOCH.id].settled == 200)
    assert collector.held[EPOCH.id].lost.prefix_from(0) == 200 - len(collector.held[EPOCH.id].records)


async def test_a_hello_names_a_limited_number_of_epochs(tmp_path: Path, collector: MemoryCollector) -> None:
    """A hello has a limited number of epochs; when these are settled, the next hello has the rest."""
    agent = Agent(tmp_path, collector.address)
    lives = MAX_HELLO_EPOCHS + 20
    for number in range(1, lives + 1):
        agent.spool.begin(an_epoch(number))
        agent.spool.append(a_tick(0))
    async with agent.running():
        await collector.until(lambda: len(collector.held) == lives)
        await until_true(lambda: len(agent.spool.epochs()) == 1)
    assert len(collector.held) == lives
    assert all(len(held.records) == 1 for held in collector.held.values())
    assert max(len(hello.epochs) for hello in collector.hellos) == MAX_HELLO_EPOCHS


async def test_a_new_epoch_reconnects(tmp_path: Path, collector: MemoryCollector) -> None:
    """After a change of the interval a new stream is opened, whose hello has both epochs."""
    agent = Agent(tmp_path, collector.address)
    agent.spool.begin(EPOCH)
    async with agent.running():
        agent.tick(*range(5))
        await collector.until(lambda: has(collector, 5))
        agent.spool.begin(an_epoch(2))
        agent.uplink.reconnect()
        agent.tick(*range(5), epoch=an_epoch(2).id)
        await collector.until(lambda: has(collector, 5, an_epoch(2).id))


async def test_the_inventory_follows_the_hello(tmp_path: Path, collector: MemoryCollector) -> None:
    """The inventory is sent at the start of a stream and when it changes."""
    agent = Agent(tmp_path, collector.address)
    agent.spool.begin(EPOCH)
    agent.uplink.set_inventory(pb.Inventory(kernel="6.1"))
    async with agent.running():
        await collector.until(lambda: len(collector.inventories) == 1)
        agent.uplink.set_inventory(pb.Inventory(kernel="6.1"))
        agent.uplink.set_inventory(pb.Inventory(kernel="6.12"))
        await collector.until(lambda: len(collector.inventories) == 2)
    assert [inventory.kernel for inventory in collector.inventories] == ["6.1", "6.12"]


async def test_a_collector_that_never_responds_does_no_harm(tmp_path: Path, collector: MemoryCollector) -> None:
    """Records stay in the spool and not in memory, and the agent stops at once."""
    collector.answering = False
    agent = Agent(tmp_path, collector.address)
    agent.spool.begin(EPOCH)
    async with agent.running():
        agent.tick(*range(1000))
        await collector.until(lambda: bool(collector.messages))
        assert not agent.self_metrics.connected
        started = asyncio.get_running_loop().time()
    assert asyncio.get_running_loop().time() - started < 2
    assert agent.spool.held(EPOCH.id) == RangeSet([(0, 1000)])


@given(st.integers(0, 10_000), st.floats(0, 1))
def test_backoff_is_limited(attempt: int, chance: float) -> None:
    """After any number of failures the wait is within the limit."""
    assert 0 <= backoff_seconds(attempt, 10, chance) <= 10
