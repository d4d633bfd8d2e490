import asyncio
import contextlib
import gc
import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2
from grpc_health.v1.health_pb2_grpc import HealthStub

from flyball_collector.collector import Collector, CollectorError, changed_keys
from flyball_collector.events import Events
from flyball_collector.settings import CollectorSettings
from flyball_collector.store.memory import MemoryStore
from flyball_collector.wire.acceptor import Acceptor
from flyball_daemon.settings import Loaded, load
from flyball_daemon.systemd_notifier import SystemdNotifier


def settings(*assignments: str) -> Loaded[CollectorSettings]:
    usual = ("grpc.listen=127.0.0.1:0", "http.listen=127.0.0.1:0", "store.url=memory:", "log_level=error")
    return load(CollectorSettings, assignments=[*usual, *assignments])


def get(port: int, path: str) -> tuple[int, bytes]:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=30) as answer:
        return answer.status, answer.read()


def ready_once_warm(port: int) -> tuple[int, bytes]:
    """Return the answer of `/readyz`; wait up to a minute if only the warm-up is missing."""
    deadline = time.monotonic() + 60
    while True:
        try:
            return get(port, "/readyz")
        except urllib.error.HTTPError as refusal:
            answer = refusal.read()
            only_warming = [each.partition(":")[0] for each in json.loads(answer)["reasons"]] == ["warming"]
            if not only_warming or time.monotonic() > deadline:
                return refusal.code, answer
        time.sleep(0.05)


@pytest.fixture
def systemd(tmp_path: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind(str(tmp_path / "notify"))
        listener.settimeout(5)
        yield listener


async def test_it_serves_both_ports_and_stops_in_order(systemd: socket.socket) -> None:
    """Ready means that both ports answer; systemd gets STOPPING before anything closes."""
    collector = Collector(settings(), notifier=SystemdNotifier(systemd.getsockname(), watchdog_seconds=0.3))
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(collector.run())
        await asyncio.wait_for(collector.ready.wait(), 60)
        assert await asyncio.to_thread(ready_once_warm, collector.http_port) == (200, b'{"ok":true,"reasons":[]}')
        assert b"flyball_collector_build_info" in (await asyncio.to_thread(get, collector.http_port, "/metrics"))[1]
        async with grpc.aio.insecure_channel(f"127.0.0.1:{collector.grpc_port}") as channel:
            answer = await HealthStub(channel).Check(health_pb2.HealthCheckRequest(), timeout=30)
        assert answer.status == health_pb2.HealthCheckResponse.SERVING
        messages: list[str] = []
        async with asyncio.timeout(60):
            while "WATCHDOG=1" not in messages:
                messages += received(systemd)
                await asyncio.sleep(0.05)
        collector.stop()
    messages += received(systemd)
    assert messages[0].startswith("READY=1\nSTATUS=0 hosts")
    assert "WATCHDOG=1" in messages
    assert any(line.startswith("STOPPING=1") for line in messages)


def received(systemd: socket.socket) -> list[str]:
    systemd.setblocking(False)
    messages = []
    while True:
        try:
            messages.append(systemd.recv(1000).decode())
        except BlockingIOError:
            return messages


@pytest.mark.parametrize(
    ("assignment", "expected"),
    [
        ("grpc.listen=0.0.0.0:0", "beyond loopback"),
        ("store.url=mongodb://x", "unknown scheme"),
        ("http.tokens_file=/nowhere/tokens", "/nowhere/tokens"),
        ("http.listen=203.0.113.1:1", "beyond loopback"),
    ],
)
async def test_a_collector_that_cannot_start_reports_why(assignment: str, expected: str) -> None:
    """The error names the fault, and nothing is left open."""
    with pytest.raises(CollectorError, match=expected):
        await asyncio.wait_for(Collector(settings(assignment)).run(), 60)


@pytest.mark.parametrize("name", ["grpc", "http"])
def test_a_port_in_use_is_named(name: str) -> None:
    """The message names the key, the address and a remedy."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        addresses = {"grpc.listen": "127.0.0.1:0", "http.listen": "127.0.0.1:0", f"{name}.listen": address}
        options = [f"--set={key}={value}" for key, value in {**addresses, "store.url": "memory:"}.items()]
        command = [sys.executable, "-m", "flyball_collector.command", *options]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 1
    assert f"{name}.listen: {address}: " in done.stderr
    assert "another port" in done.stderr


async def test_adjustments_are_there_only_if_they_are_enabled() -> None:
    """Without the setting, there is neither a series nor a permission; with it, both are in one process."""
    for enabled in (True, False):
        collector = Collector(settings(f"adjustments.enabled={str(enabled).lower()}"))
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(collector.run())
            await asyncio.wait_for(collector.ready.wait(), 60)
            metrics = (await asyncio.to_thread(get, collector.http_port, "/metrics/collector"))[1]
            listed = json.loads((await asyncio.to_thread(get, collector.http_port, "/api/v1/adjustments"))[1])
            collector.stop()
        assert (b'flyball_adjustments_in_progress{state="proposed"} 0' in metrics) is enabled
        assert listed["enabled"] is enabled


async def test_the_diagnosis_hears_of_changes_that_took_effect() -> None:
    """The governor of a collector calls the diagnosis of this collector; otherwise a change would look like a fault."""
    collector, store = Collector(settings("adjustments.enabled=true")), MemoryStore()
    parts = (collector._fleet, collector._diagnosis, collector._start_up, collector._metrics)
    events = Events(collector._settings, store, *parts, time.time_ns)
    governor, _ = await collector._governor(store, events)
    assert governor is not None
    assert governor._delivery.followers == [collector._diagnosis.run_changed]


def test_a_reload_finds_the_changed_keys() -> None:
    """Only keys whose values differ are returned."""
    assert changed_keys(settings(), settings("log_level=debug", "store.seconds_hours=1")) == {
        "log_level",
        "store.seconds_hours",
    }


class CollectorProcess:
    """A real collector process with its log."""

    def __init__(self, directory: Path, environment: Mapping[str, str] | None = None) -> None:
        self.config = directory / "collector.toml"
        self.log = directory / "log"
        command = [sys.executable, "-m", "flyball_collector.command", "--config", str(self.config)]
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(command, stderr=log, env={**os.environ, **(environment or {})})

    def events(self) -> list[dict[str, Any]]:
        lines = self.log.read_text().splitlines()
        return [json.loads(line) for line in lines if line.startswith("{")]

    def named(self, name: str) -> list[dict[str, Any]]:
        return [event for event in self.events() if event["event"] == name]


def until(check: Callable[[], bool], seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not check():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_signals_reload_dump_and_stop(tmp_path: Path) -> None:
    """HUP applies some settings and names those that need a restart, USR1 dumps tasks, TERM ends with status 0."""
    text = f"""log_format = "json"
log_level = "info"
[store]
url = "sqlite:///{tmp_path}/flyball.db"
[grpc]
listen = "127.0.0.1:0"
[http]
listen = "127.0.0.1:0"
"""
    (tmp_path / "collector.toml").write_text(text)
    running = CollectorProcess(tmp_path)
    try:
        until(lambda: any(event["event"] == "collector_ready" for event in running.events()))
        running.config.write_text(text + "[limits]\nhosts = 9\n")
        running.process.send_signal(signal.SIGHUP)
        until(lambda: any(event["event"] == "settings_reloaded" for event in running.events()))
        (restart,) = [event for event in running.events() if event["event"] == "settings_need_restart"]
        assert restart["keys"] == ["limits.hosts"]
        for number, wrong in enumerate(("nonsense = 1\n", "other = 1\n", "other = 1\n"), 1):  # each is answered
            running.config.write_text(wrong)
            running.process.send_signal(signal.SIGHUP)
            until(lambda: len(running.named("settings_not_reloaded")) == number)  # noqa: B023  it is called here
        first, *others = running.named("settings_not_reloaded")
        assert "nonsense" in str(first)
        assert all("other" in str(each) for each in others)
        running.process.send_signal(signal.SIGUSR1)
        until(lambda: "Task heartbeat" in running.log.read_text())
        running.process.terminate()
        until(lambda: running.process.poll() is not None)
        assert running.process.returncode == 0
        assert not any(event["level"] == "error" and event["event"] == "library_message" for event in running.events())
    finally:
        running.process.kill()
        running.process.wait()
    connection = sqlite3.connect(tmp_path / "flyball.db")
    assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    connection.close()


async def test_the_end_of_the_listening_thread_ends_the_collector() -> None:
    """No agent could connect any more: systemd must start it again."""
    collector = Collector(settings())
    running = asyncio.create_task(collector.run())
    await asyncio.wait_for(collector.ready.wait(), 60)
    [acceptor] = [each for each in gc.get_objects() if type(each) is Acceptor and each.alive]
    acceptor._epoll.close()  # as if the kernel had taken it away
    with contextlib.suppress(OSError):  # wakes the thread, unless it has ended already
        socket.create_connection(("127.0.0.1", collector.grpc_port), 5).close()
    with pytest.raises(CollectorError, match="the thread that accepts agents ended"):
        await asyncio.wait_for(running, 60)
