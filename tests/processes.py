"""Run real agents and collectors as child processes; used by the fault tests and the benchmarks."""

import contextlib
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self, TypeVar

import psutil

_BINARIES = Path(sys.executable).parent

T = TypeVar("T")


class GaveUp(AssertionError):
    """Something did not happen in time."""


_reserved: list[socket.socket] = []  # until this process ends


def free_port() -> int:
    """Reserve a loopback port. No other test gets it, and no outgoing connection does, but a server can listen on it.

    Linux lets a second socket listen on a port if both have SO_REUSEADDR and the first one does not listen.
    """
    reservation = socket.socket()
    reservation.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    reservation.bind(("127.0.0.1", 0))
    _reserved.append(reservation)
    return int(reservation.getsockname()[1])


def wait_for(what: str, check: Callable[[], T | None], *, seconds: float = 120.0, pause_seconds: float = 0.05) -> T:
    """Repeat the check until it returns something true.

    What cannot be read yet counts as false: a refused connection, an HTTP error, an answer that a killed process left
    incomplete, a missing file. A long limit only delays failures, and a busy machine may need it.
    """
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError, http.client.HTTPException):  # urllib's errors are of the first kind
            if answer := check():
                return answer
        time.sleep(pause_seconds)
    raise GaveUp(f"{what}: not within {seconds:g} s")


class Process:
    """One child process with its log and its resource usage."""

    def __init__(self, command: Sequence[str], log: Path, environment: Mapping[str, str] | None = None) -> None:
        self.log = log
        self._command = list(command)
        self._environment = {**os.environ, **(environment or {})}
        self._child: subprocess.Popen[bytes] | None = None

    def start(self) -> Self:
        """Start the process, or start it again."""
        with self.log.open("ab") as log:
            self._child = subprocess.Popen(self._command, stdout=log, stderr=log, env=self._environment)
        return self

    @property
    def child(self) -> subprocess.Popen[bytes]:
        if self._child is None:
            raise GaveUp(f"{self._command[0]} was never started")
        return self._child

    @property
    def pid(self) -> int:
        return self.child.pid

    def alive(self) -> bool:
        return self.child.poll() is None

    def send(self, number: signal.Signals) -> None:
        self.child.send_signal(number)

    def kill(self) -> None:
        """Kill with SIGKILL and wait for the end."""
        self.child.kill()
        self.child.wait()

    def stop(self, seconds: float = 60.0) -> int:
        """Send SIGTERM and return the exit status."""
        if self.alive():
            self.child.terminate()
        try:
            return self.child.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            raise GaveUp(f"{self._command[0]} did not stop within {seconds:g} s; its log: {self.tail()}") from None

    def cpu_seconds(self) -> float:
        """Return the CPU time used so far by all threads and child processes."""
        times = [process.cpu_times() for process in self._family()]
        return float(sum(each.user + each.system for each in times))

    def resident_bytes(self) -> int:
        """Return the resident memory of the process and its children; shared pages count for each."""
        return sum(int(process.memory_info().rss) for process in self._family())

    def _family(self) -> list[psutil.Process]:
        parent = psutil.Process(self.pid)
        return [parent, *parent.children()]

    def tail(self, lines: int = 30) -> str:
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._child is not None and self.alive():
            self.send(signal.SIGCONT)
            self.child.kill()
            self.child.wait()


class Collector(Process):
    """A collector with its own SQLite store."""

    def __init__(self, directory: Path, settings: Mapping[str, object] | None = None, **options: Any) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self.directory = directory
        self.grpc_port, self.http_port = free_port(), free_port()
        self.database = directory / "flyball.db"
        chosen: dict[str, object] = {
            "grpc.listen": f"127.0.0.1:{self.grpc_port}",
            "http.listen": f"127.0.0.1:{self.http_port}",
            "store.url": f"sqlite:///{self.database}",
            **(settings or {}),
        }
        super().__init__(
            [str(_BINARIES / "flyball-collector"), *_as_options(chosen)], directory / "collector.log", **options
        )

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.http_port}"

    def get(self, path: str, timeout_seconds: float = 30.0) -> Any:
        """GET a path of the API as JSON."""
        with urllib.request.urlopen(self.url + path, timeout=timeout_seconds) as answer:
            return json.load(answer)

    def metric(self, name: str) -> float | None:
        """Return the sum of a metric's samples, or None if the metric is missing."""
        page = "/metrics/collector" if name.startswith("flyball_collector_") else "/metrics"
        with urllib.request.urlopen(self.url + page, timeout=30) as answer:
            lines = answer.read().decode().splitlines()
        values = [float(line.rsplit(" ", 1)[1]) for line in lines if line.split("{")[0].split(" ")[0] == name]
        return sum(values) if values else None

    def start_ready(self) -> Self:
        """Start the collector and wait until it is ready."""
        self.start()
        wait_for("the collector is ready", lambda: self._answers("/readyz"))
        return self

    def _answers(self, path: str) -> bool:
        if not self.alive():
            raise GaveUp(f"the collector ended: {self.tail()}")
        try:
            with urllib.request.urlopen(self.url + path, timeout=10) as answer:
                return bool(answer.status == 200)
        except urllib.error.HTTPError:
            return False


class Agent(Process):
    """An agent with its own state directory."""

    def __init__(
        self, directory: Path, collector_port: int, settings: Mapping[str, object] | None = None, **options: Any
    ) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self.directory = directory
        self.state = directory / "state"
        self.socket = directory / "agent.sock"
        chosen: dict[str, object] = {
            "host": "node-1",
            "collector": json.dumps([f"127.0.0.1:{collector_port}"]),
            "state_directory": str(self.state),
            "socket_path": str(self.socket),
            "max_reconnect_backoff_seconds": 0.5,
            **(settings or {}),
        }
        super().__init__([str(_BINARIES / "flyball-agent"), *_as_options(chosen)], directory / "agent.log", **options)


def _as_options(settings: Mapping[str, object]) -> Iterator[str]:
    for key, value in settings.items():
        yield from ("--set", f"{key}={value}")
