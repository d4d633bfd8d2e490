"""Results share the stream with records: orders arrive, parts follow one another, and no record waits for them."""

import asyncio
import hashlib
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from flyball_agent.captures.desk import CaptureDesk, DeskSettings
from flyball_agent.captures.known_processes import AgentProcesses
from flyball_agent.captures.results import CaptureResults, ResultNote
from flyball_agent.runs.registry import RunRegistry
from flyball_agent.spool.testing import an_epoch
from flyball_agent.testing import MemoryCollector, until_true
from flyball_proto.v1 import telemetry_pb2 as pb
from tests.agent.uplink.test_uplink import Agent, has

ID = "00000000000000b2"
EPOCH = an_epoch(1)


@pytest.fixture
async def collector() -> AsyncIterator[MemoryCollector]:
    """A collector that stores parts as they come."""
    async with MemoryCollector() as collector:
        yield collector
        assert collector.faults == []


def desk_of(agent: Agent, folder: Path) -> CaptureDesk:
    processes = AgentProcesses(RunRegistry(), bytes, lambda: None)
    desk = CaptureDesk(DeskSettings("host-a", Path("/proc"), None), CaptureResults(folder), processes)
    desk.results.prepare()
    agent.state.captures = desk
    return desk


async def test_a_result_of_many_parts_lets_every_record_pass(tmp_path: Path, collector: MemoryCollector) -> None:
    """While 4 MB are sent part by part, live records go on, and the result is whole."""
    agent, body = Agent(tmp_path / "spool", collector.address), os.urandom(4 * 1024 * 1024 + 77)
    desk = desk_of(agent, tmp_path / "captures")
    agent.spool.begin(EPOCH)
    async with agent.running():
        await until_true(lambda: agent.self_metrics.connected)
        desk.results.add_bytes(ID, body, ResultNote("client", "trace.json.gz"))
        got, sequence = b"", 0
        while len(got) < len(body):
            await collector.until(lambda: len(collector.captured) > 0)
            part = collector.captured.pop(0)
            assert part.offset == len(got)
            got += part.data
            agent.tick(sequence)
            sequence += 1
            await collector.send(pb.CollectorMessage(capture_next=pb.CaptureNext(id=ID, offset=len(got))))
        assert hashlib.sha256(got).digest() == part.sha256
        await collector.until(lambda: has(collector, sequence))
        assert collector.held[EPOCH.id].replayed == 0
        await collector.send(pb.CollectorMessage(capture_next=pb.CaptureNext(id=ID, forget=True)))
        await until_true(lambda: not list((tmp_path / "captures").iterdir()))
    desk.stop()


async def test_a_collector_that_stops_asking_stops_only_the_result(tmp_path: Path, collector: MemoryCollector) -> None:
    """Without an answer to a part, no other part is sent, and records go on."""
    agent = Agent(tmp_path / "spool", collector.address)
    desk = desk_of(agent, tmp_path / "captures")
    agent.spool.begin(EPOCH)
    async with agent.running():
        await until_true(lambda: agent.self_metrics.connected)
        desk.results.add_bytes(ID, os.urandom(1024 * 1024), ResultNote("client", "trace.json.gz"))
        for sequence in range(20):
            agent.tick(sequence)
            await asyncio.sleep(0.01)
        await collector.until(lambda: has(collector, 20))
        assert [part.offset for part in collector.captured] == [0]
    desk.stop()


async def test_an_order_is_answered_on_the_stream(tmp_path: Path, collector: MemoryCollector) -> None:
    """The agent answers at once that it knows no such process. An agent without captures ignores the order."""
    agent = Agent(tmp_path / "spool", collector.address)
    desk = desk_of(agent, tmp_path / "captures")
    agent.spool.begin(EPOCH)
    order = pb.CollectorMessage(capture=pb.CaptureOrder(id=ID, what="stacks", run="r", pid=2**22 + 1))
    async with agent.running():
        await until_true(lambda: agent.self_metrics.connected)
        await collector.send(order)
        await collector.until(lambda: len(collector.captured) == 1)
        assert collector.captured[0].state == pb.Captured.FAILED
        assert "belongs to no run on this host" in collector.captured[0].detail
        agent.state.captures = None
        await collector.send(order)
        agent.tick(0)
        await collector.until(lambda: has(collector, 1))
        assert len(collector.captured) == 1
    desk.stop()
