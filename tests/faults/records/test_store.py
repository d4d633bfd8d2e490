"""The store locked, full or gone: no acknowledgement, the live view goes on, and it recovers by itself."""

import os
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.judge import assert_whole, last_sequence
from tests.processes import Agent, Collector, wait_for
from tests.raw_agent import RawAgent
from tests.stored import read_stored

pytestmark = pytest.mark.faults


def test_a_locked_store_acknowledges_nothing_and_recovers(tmp_path: Path, processes: ExitStack) -> None:
    """While another process holds the database, records wait; afterwards they are stored and acknowledged."""
    settings = {"store.time_limit_seconds": 3, "not_reporting_after_seconds": 2}
    collector = processes.enter_context(Collector(tmp_path / "collector", settings)).start_ready()
    with RawAgent(collector.grpc_port, "patient").open() as agent:
        agent.wait("welcomed", lambda a: bool(a.replies))
        lock = sqlite3.connect(collector.database, isolation_level=None)
        lock.execute("BEGIN EXCLUSIVE")
        agent.send_records(range(60))
        wait_for("the live view goes on", lambda: last_sequence(collector, "patient") == 59)
        wait_for("the outage is loud", lambda: collector.metric("flyball_collector_store_up") == 0)
        assert agent.settled() == 0
        lock.execute("ROLLBACK")
        lock.close()
        agent.wait("acknowledged once it is durable", lambda a: a.settled() == 60)
    wait_for("the store is up again", lambda: collector.metric("flyball_collector_store_up") == 1)
    assert sorted(read_stored(collector.database, "patient")[agent.epoch].rows) == list(range(60))


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A filesystem of six mebibytes of its own."""
    if os.geteuid() != 0:
        pytest.skip("mounting a small tmpfs needs root")
    mount = tmp_path / "small"
    mount.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=6m", "tmpfs", str(mount)], check=True)
    yield mount
    subprocess.run(["umount", "--lazy", str(mount)], check=True)


def test_a_full_disk_stops_acknowledging_and_recovers(small_disk: Path, processes: ExitStack) -> None:
    """A full store is reported, the live view stays, and writing continues when there is room again."""
    settings = {"store.url": f"sqlite:///{small_disk}/flyball.db", "not_reporting_after_seconds": 2}
    collector = processes.enter_context(Collector(small_disk.parent / "collector", settings))
    collector.database = small_disk / "flyball.db"
    collector.start_ready()
    with RawAgent(collector.grpc_port, "cramped").open() as agent:
        agent.wait("welcomed", lambda a: bool(a.replies))
        ballast = small_disk / "ballast"
        _fill(ballast)
        agent.send_records(range(60))
        wait_for("the live view goes on", lambda: last_sequence(collector, "cramped") == 59)
        wait_for("the outage is loud", lambda: collector.metric("flyball_collector_store_up") == 0)
        assert agent.settled() == 0
        ballast.unlink()
        agent.wait("acknowledged once there is room", lambda a: a.settled() == 60)
    assert collector.alive()


def _fill(path: Path) -> None:
    with path.open("wb", buffering=0) as ballast:
        try:
            while True:
                ballast.write(bytes(4096))
        except OSError:
            return


def test_an_agents_full_disk_degrades_to_memory_and_is_logged(
    small_disk: Path, collector: Collector, processes: ExitStack
) -> None:
    """With no room for the spool the agent goes on at its pace, reports it, and comes back to the disk."""
    agent = _agent_on(small_disk, collector, processes)
    agent.start()
    wait_for("the host is heard", lambda: last_sequence(collector, "node-1") > 3)
    ballast = small_disk / "ballast"
    _fill(ballast)
    wait_for("the agent logs it", lambda: "spool_degraded" in agent.log.read_text())
    before = last_sequence(collector, "node-1")
    wait_for("it goes on at its pace", lambda: last_sequence(collector, "node-1") > before + 20)
    ballast.unlink()
    wait_for("it comes back to the disk", lambda: "spool_recovered" in agent.log.read_text())
    assert_whole(collector, agent, "node-1", at_least=20)


def test_what_no_disk_and_no_collector_takes_is_declared_lost(
    small_disk: Path, collector: Collector, processes: ExitStack
) -> None:
    """A memory ring that runs over while the collector is away drops its oldest records and declares which."""
    agent = _agent_on(
        small_disk, collector, processes, **{"spool.memory_bytes": 16384, "interval_seconds": 0.1}
    ).start()
    wait_for("the host is heard", lambda: last_sequence(collector, "node-1") > 3)
    _fill(small_disk / "ballast")
    wait_for("the disk is full", lambda: "spool_degraded" in agent.log.read_text())
    collector.kill()
    time.sleep(5)  # for many times as many records as there is memory for
    collector.start_ready()
    wait_for("heard again", lambda: last_sequence(collector, "node-1") > 60)
    (found,) = assert_whole(collector, agent, "node-1", at_least=20).values()
    assert found.lost
    assert not found.lost & found.present


def test_an_agents_read_only_disk_never_stops_it(small_disk: Path, collector: Collector, processes: ExitStack) -> None:
    """A disk that takes nothing from the first moment costs durability, not readings."""
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    agent = _agent_on(small_disk, collector, processes).start()
    wait_for("the host reports anyway", lambda: last_sequence(collector, "node-1") > 20)
    assert "spool_degraded" in agent.log.read_text()
    subprocess.run(["mount", "-o", "remount,rw", str(small_disk)], check=True)
    wait_for("it comes back to the disk", lambda: "spool_recovered" in agent.log.read_text())
    assert_whole(collector, agent, "node-1", at_least=20)


def _agent_on(disk: Path, collector: Collector, processes: ExitStack, **settings: object) -> Agent:
    chosen = {"interval_seconds": 0.2, "state_directory": disk / "state", **settings}
    return processes.enter_context(Agent(disk.parent / "node-1", collector.grpc_port, chosen))


def test_losing_the_database_file_is_noticed(tmp_path: Path, processes: ExitStack) -> None:
    """A deleted database does not end the collector, and readiness gives the reason."""
    collector = processes.enter_context(
        Collector(tmp_path / "collector", {"not_reporting_after_seconds": 2})
    ).start_ready()
    with RawAgent(collector.grpc_port, "bereft").open() as agent:
        agent.send_records(range(60))
        agent.wait("settled", lambda a: a.settled() == 60)
        for path in collector.directory.glob("flyball.db*"):
            path.unlink()
        agent.send_records(range(60, 120))
        time.sleep(3)
        assert collector.alive()
        wait_for("the live view goes on", lambda: last_sequence(collector, "bereft") == 119)
