"""Hundreds of hosts that come back at once: all are caught up, nothing is lost or doubled, the watchdog stays fed."""

import socket
import sys
import threading
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.processes import Collector, Process, wait_for
from tests.stored import read_stored

pytestmark = pytest.mark.faults

HOSTS = 300
AT_MOST_SECONDS = 400
WATCHDOG_SECONDS = 10
CUT_OFF = 3  # records of each host that may be under way when the load is killed


class Watchdog:
    """Read the notify socket like systemd: when did the daemon last send its watchdog signal?"""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.longest_seconds = 0.0
        self._fed: float | None = None
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(str(path))
        threading.Thread(target=self._listen, name="watchdog", daemon=True).start()

    def restarted(self) -> None:
        """A new process has its own time."""
        self._fed = None

    def _listen(self) -> None:
        while True:
            message, now = self._socket.recv(4096), time.monotonic()
            if b"WATCHDOG=1" in message:
                self.longest_seconds = max(self.longest_seconds, now - (self._fed or now))
                self._fed = now


def test_hundreds_of_hosts_that_reconnect_at_once_are_caught_up(tmp_path: Path, processes: ExitStack) -> None:
    """The collector is killed under 300 hosts; each reconnects within the second and replays what was not settled."""
    watchdog = Watchdog(tmp_path / "notify")
    environment = {"NOTIFY_SOCKET": str(watchdog.path), "WATCHDOG_USEC": str(WATCHDOG_SECONDS * 1_000_000)}
    settings = {"not_reporting_after_seconds": 2}
    collector = processes.enter_context(Collector(tmp_path / "collector", settings, environment=environment))
    collector.start_ready()
    fleet = processes.enter_context(_fleet(collector, tmp_path / "fleet.log"))
    fleet.start()
    wait_for("every host is there", lambda: _connected(collector) == HOSTS, pause_seconds=0.5)
    time.sleep(3)
    collector.kill()
    watchdog.restarted()
    collector.start_ready()
    wait_for("every host is back", lambda: _connected(collector) == HOSTS, pause_seconds=0.5)
    time.sleep(3)  # by then each has reported its backlog
    wait_for("nothing waits any more", lambda: _backlog_bytes(collector) == 0, pause_seconds=0.5)
    enough = 10 * HOSTS
    wait_for("records arrive", lambda: (collector.metric("flyball_collector_records_total") or 0) > enough)
    fleet.kill()
    collector.stop()
    assert watchdog.longest_seconds < WATCHDOG_SECONDS
    assert _stored(collector) > enough


def _fleet(collector: Collector, log: Path) -> Process:
    target = f"127.0.0.1:{collector.grpc_port}"
    options = [target, "--hosts", str(HOSTS), "--seconds", str(AT_MOST_SECONDS), "--ramp-seconds", "3"]
    return Process([sys.executable, "-m", "tests.benchmarks.fleet_load", *options], log)


def _connected(collector: Collector) -> int:
    return sum(host["connected"] for host in collector.get("/api/v1/hosts?status=up&limit=1000")["hosts"])


def _backlog_bytes(collector: Collector) -> int:
    return sum(host["backlog_bytes"] for host in collector.get("/api/v1/hosts?limit=1000")["hosts"])


def _stored(collector: Collector) -> int:
    """Return the number of records; assert that each host's are unique and without gaps."""
    total = 0
    for number in range(HOSTS):
        for found in read_stored(collector.database, f"load{number:05d}").values():
            assert max(found.rows.values()) == 1
            expected = range(min(found.rows), max(found.rows) + 1 - CUT_OFF)
            assert set(expected) <= set(found.rows), f"load{number:05d} has a gap"
            total += len(found.rows)
    return total
