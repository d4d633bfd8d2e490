"""Tests of the daemon as a process: it samples, sends, reloads and stops."""

import asyncio
import json
import os
import signal
import socket
import sys
from asyncio.subprocess import Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from flyball_agent.standin.library import StandIn
from flyball_agent.standin.scenarios import make_scenario
from flyball_agent.testing import MemoryCollector, until_true
from flyball_proto.layout import Layout
from flyball_proto.ranges import RangeSet
from flyball_proto.unavailable_reading import Reason, parse_unavailable
from flyball_proto.v1 import telemetry_pb2 as pb
from tests.agent.adjustments.training_client import ID, TrainingClient, able, offer
from tests.agent.uplink.adjust_service import ScriptedAdjustService


@pytest.fixture
async def collector() -> AsyncIterator[MemoryCollector]:
    """Yield a running collector."""
    async with MemoryCollector() as collector:
        yield collector
        assert collector.faults == []


@dataclass
class Installation:
    """The directories and settings of one agent."""

    root: Path
    collector: str

    @property
    def socket_path(self) -> Path:
        return self.root / "run" / "agent.sock"

    def write(self, **keys: object) -> Path:
        settings: dict[str, object] = {
            "host": "host-a",
            "collector": [self.collector],
            "interval_seconds": 0.1,
            "state_directory": str(self.root / "state"),
            "socket_path": str(self.socket_path),
            "log_format": "json",
            "max_reconnect_backoff_seconds": 0.2,
            **keys,
        }
        path = self.root / "agent.toml"
        path.write_text("\n".join(f"{key} = {json.dumps(value)}" for key, value in settings.items()))
        return path

    async def start(self, **environment: str) -> Process:
        return await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "flyball_agent.command",
            "--config",
            str(self.root / "agent.toml"),
            env={**os.environ, **environment},
            stderr=asyncio.subprocess.PIPE,
        )

    @asynccontextmanager
    async def running(self, **environment: str) -> AsyncIterator[Process]:
        process = await self.start(**environment)
        try:
            yield process
        finally:
            if process.returncode is None:
                process.kill()
            _, output = await process.communicate()
            print(output.decode())  # pytest shows it if the test fails


@pytest.fixture
def agent(tmp_path: Path, collector: MemoryCollector) -> Installation:
    """Return an agent that connects to the collector of the fixture."""
    agent = Installation(tmp_path, collector.address)
    agent.write()
    return agent


def records(collector: MemoryCollector) -> int:
    return sum(len(held.records) for held in collector.held.values())


async def end(process: Process) -> float:
    """Stop the process with SIGTERM and return the seconds that it took."""
    started = asyncio.get_running_loop().time()
    process.terminate()
    await asyncio.wait_for(process.wait(), 60)
    return asyncio.get_running_loop().time() - started


async def test_it_samples_sends_and_stops(agent: Installation, collector: MemoryCollector) -> None:
    """Records without gaps and the inventory arrive; SIGTERM ends the agent soon, with a goodbye."""
    async with agent.running() as process:
        await collector.until(lambda: records(collector) >= 20 and bool(collector.inventories))
        assert await end(process) < 20  # below one second on an idle machine
        assert process.returncode == 0
    (held,) = collector.held.values()
    assert held.settled == len(held.records)
    assert collector.goodbyes == ["stopped"]
    assert collector.hellos[0].host == "host-a"
    times = [pb.Record.FromString(held.records[n]).time_ns for n in sorted(held.records)]
    phases = sorted(time_ns % 100_000_000 / 1e6 for time_ns in times)
    assert phases[len(phases) // 4] < 20  # a busy machine delays some


async def test_a_kill_loses_nothing(agent: Installation, collector: MemoryCollector) -> None:
    """Records from before SIGKILL, with or without a connection, are sent after the restart."""
    await collector.stop()
    async with agent.running() as process:
        await until_true(lambda: spooled(agent) > 60_000)
        process.kill()
        await process.wait()
    await collector.start()
    async with agent.running() as process:
        await collector.until(lambda: len(collector.held) == 2)
        first, second = collector.held.values()
        await collector.until(lambda: len(first.records) > 5 and len(second.records) > 5)
        assert RangeSet.of(first.records) == RangeSet([(0, len(first.records))])
        assert not first.lost
        await end(process)


def spooled(agent: Installation) -> int:
    return sum(path.stat().st_size for path in (agent.root / "state" / "spool").glob("*.spool"))


async def connected(path: Path) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Connect as soon as the agent listens. The file of the socket is there a moment before that."""
    async with asyncio.timeout(60):
        while True:
            try:
                return await asyncio.open_unix_connection(str(path))
            except (FileNotFoundError, ConnectionRefusedError):
                await asyncio.sleep(0.01)


async def test_a_step_report_is_in_the_record(agent: Installation, collector: MemoryCollector) -> None:
    """A step report on the socket is in the record of the next tick."""
    async with agent.running() as process:
        reader, writer = await connected(agent.socket_path)
        writer.write(b'{"kind":"hello","run":"a-run"}\n{"kind":"steps","step":7,"steps":1,"step_seconds":0.25}\n')
        assert json.loads(await reader.readline()) == {"kind": "ok"}

        def reported() -> list[int]:
            every = [pb.Record.FromString(data) for held in collector.held.values() for data in held.records.values()]
            return [report.step for record in every for report in record.steps]

        await collector.until(lambda: bool(reported()))
        assert reported() == [7]
        writer.close()
        await end(process)


async def test_a_new_interval_starts_a_new_epoch(agent: Installation, collector: MemoryCollector) -> None:
    """SIGHUP reloads the settings; the old epoch ends, and the new one has the new interval."""
    async with agent.running() as process:
        await collector.until(lambda: records(collector) > 3)
        agent.write(interval_seconds=0.2)
        process.send_signal(signal.SIGHUP)
        await collector.until(lambda: len(collector.held) == 2 and len(list(collector.held.values())[1].records) > 3)
        assert [held.epoch.interval_ms for held in collector.held.values()] == [100, 200]
        assert collector.hellos[-1].epochs[-1].epoch.interval_ms == 200
        await end(process)


async def test_a_change_of_probes_keeps_the_epoch(agent: Installation, collector: MemoryCollector) -> None:
    """A disabled probe disappears at the next tick, and no sequence is missing."""
    async with agent.running() as process:
        await collector.until(lambda: records(collector) > 3)
        with agent.write().open("a") as file:
            file.write('\n[probes]\ndisabled = ["memory"]\n')
        before = records(collector)
        process.send_signal(signal.SIGHUP)
        await collector.until(lambda: records(collector) > before + 15)
        await end(process)
    (held,) = collector.held.values()
    assert held.settled == len(held.records)
    layouts = {pb.Record.FromString(data).layout for data in held.records.values()}
    assert len(layouts) >= 2


async def test_bad_settings_change_nothing(agent: Installation, collector: MemoryCollector) -> None:
    """An error in the file is logged at each reload, and the agent continues with the old settings."""
    async with agent.running() as process:
        await collector.until(lambda: records(collector) > 3)
        agent.write(interval_seconds=0.7)
        for _ in range(2):
            process.send_signal(signal.SIGHUP)
            before = records(collector)
            await collector.until(lambda: records(collector) > before + 5)  # noqa: B023  it is called here
        await end(process)
        _, errors = await process.communicate()
    assert errors.count(b"settings_not_reloaded") == 2
    assert len(collector.held) == 1


async def test_adjustments_follow_the_settings(agent: Installation, collector: MemoryCollector) -> None:
    """An offer reaches a process, its answer the stream and the record; a reload ends both at once."""
    service = ScriptedAdjustService()
    await collector.stop()
    collector.services.append(service.handler)
    await collector.start()
    agent.write(**{"adjustments.enabled": True})
    async with agent.running() as process:
        await collector.until(lambda: records(collector) > 3)
        client = await TrainingClient.connect(agent.socket_path)
        assert (await client.pushed_line("adjustments"))["enabled"] is True
        await client.request(able())
        await until_true(lambda: service.streams and service.kinds() == ["hello", "able"])
        service.send(offer())
        await client.pushed_line("offer")
        await client.request({"kind": "prepared", "id": ID, "step": 131})
        await until_true(lambda: service.kinds() == ["hello", "able", "answer"])
        await until_true(lambda: outcomes(collector) == [(ID, "prepared", 131)])
        agent.write(**{"adjustments.enabled": False})
        process.send_signal(signal.SIGHUP)
        assert (await client.pushed_line("withdraw"))["id"] == ID
        assert (await client.pushed_line("adjustments"))["enabled"] is False
        assert (await client.request(able()))["kind"] == "ignored"
        client.close()
        await end(process)


def outcomes(collector: MemoryCollector) -> list[tuple[str, str, int]]:
    """Return the outcomes of adjustments in the records."""
    found = [pb.Record.FromString(data) for held in collector.held.values() for data in held.records.values()]
    return [(each.id, each.outcome, each.step) for record in found for each in record.adjustments]


async def test_systemd_is_notified(agent: Installation, tmp_path: Path) -> None:
    """The agent sends READY after the first tick, WATCHDOG while it samples, STATUS, and STOPPING at the end."""
    address = tmp_path / "notify"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind(str(address))
        listener.settimeout(60)
        async with agent.running(NOTIFY_SOCKET=str(address), WATCHDOG_USEC="2000000") as process:
            words: list[bytes] = []
            while not any(b"WATCHDOG=1" in word for word in words) or not any(b"READY=1" in word for word in words):
                words.append(await asyncio.to_thread(listener.recv, 4096))
            assert any(b"STATUS=" in word and b"readings every 0.1 s" in word for word in words)
            await end(process)
            while b"STOPPING=1" not in words[-1]:
                words.append(await asyncio.to_thread(listener.recv, 4096))


async def test_two_agents_cannot_share_a_state_directory(agent: Installation, collector: MemoryCollector) -> None:
    """The second agent names the process of the first one and does not affect it."""
    async with agent.running() as first:
        await collector.until(lambda: records(collector) > 0)
        async with agent.running() as second:
            _, errors = await asyncio.wait_for(second.communicate(), 60)
        assert second.returncode == 1
        assert f"process {first.pid}" in errors.decode()
        assert "Traceback" not in errors.decode()
        await end(first)


async def test_without_a_state_directory_records_stay_in_memory(
    agent: Installation, collector: MemoryCollector
) -> None:
    """Without write permission records are sent from memory, and the host reports a degraded spool."""
    blocked = agent.root / "blocked"
    blocked.write_text("no directory")
    agent.write(state_directory=str(blocked))
    async with agent.running() as process:
        await collector.until(lambda: records(collector) > 5)
        await end(process)
    (held,) = collector.held.values()
    events = [event.kind for data in held.records.values() for event in pb.Record.FromString(data).events]
    assert events == ["spool_degraded"]


async def test_metrics_of_the_agent_are_among_the_readings(agent: Installation, collector: MemoryCollector) -> None:
    """The metrics of the agent itself are in the records."""
    async with agent.running() as process:
        await collector.until(lambda: records(collector) > 3)
        await end(process)
    layouts = [body for kind, body in collector.definitions.values() if kind == pb.Definition.LAYOUT]
    names = {column.metric.name for column in Layout.parse(layouts[0]).columns}
    assert {"agent_cpu_seconds_total", "agent_spool_bytes", "agent_probe_seconds_total", "memory_used_bytes"} <= names


async def test_a_hanging_driver_stops_neither_ticks_nor_shutdown(
    agent: Installation, collector: MemoryCollector
) -> None:
    """While NVML hangs, records continue with the reason, and SIGTERM ends the agent long before the driver answers."""
    standin = StandIn(agent.root / "nvml", make_scenario("steady", 2).hang("nvmlDeviceGetTemperatureV", 60))
    agent.write(nvml_library=str(standin.library))
    async with agent.running() as process:
        await collector.until(lambda: records(collector) > 20)
        assert await end(process) < 20
        assert process.returncode == 0
    unavailable = [
        unavailable_reading
        for kind, body in collector.definitions.values()
        if kind == pb.Definition.UNAVAILABLE
        for unavailable_reading in parse_unavailable(body)
        if unavailable_reading.probe == "nvidia"
    ]
    assert Reason.TIMED_OUT in {missing.reason for missing in unavailable}, unavailable
