"""A private agent and collector that may adjust trainings, for the demonstrations. They end with it."""

import contextlib
import json
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

Answer = Any
T = TypeVar("T")

ALLOWED = {
    "adjustments.enabled": "true",
    "adjustments.policy": "auto",  # what a training may ask for; each demonstration's training asks for `auto`
    "adjustments.auto_safety": "2",
    "adjustments.cooldown_minutes": "0",  # the usual ten minutes would be too long for a demonstration
    "adjustments.max_per_hour": "60",
    "adjustments.watch_steps": "20",
}
"""Settings of the collector. Usually, adjustments are off, a person approves each, and three an hour are the most."""


class DemonstrationFailed(Exception):
    """Something did not happen in time. The message states what, and shows the end of the logs."""


class Daemons:
    """One collector and one agent on this machine."""

    def __init__(self, folder: Path, settings: Mapping[str, str], library: Path | None) -> None:
        self.folder = folder
        self.socket = folder / "agent.sock"
        grpc, http = _free_ports(2)
        self.url = f"http://127.0.0.1:{http}"
        collector = {
            "grpc.listen": f"127.0.0.1:{grpc}",
            "http.listen": f"127.0.0.1:{http}",
            "store.url": f"sqlite:///{folder / 'flyball.db'}",
            **ALLOWED,
            **settings,
        }
        agent = {
            "host": "demo",
            "collector": json.dumps([f"127.0.0.1:{grpc}"]),
            "state_directory": str(folder / "state"),
            "socket_path": str(self.socket),
            "adjustments.enabled": "true",
            "max_reconnect_backoff_seconds": "1",
        }
        if library is not None:
            agent["nvml_library"] = str(library)
        self._commands = {"collector": collector, "agent": agent}
        self._children: list[subprocess.Popen[bytes]] = []

    def start(self) -> None:
        """Start both, and wait until the host reports."""
        for name, settings in self._commands.items():
            options = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
            with (self.folder / f"{name}.log").open("wb") as log:
                command = [sys.executable, "-m", "flyball", name, *options]
                self._children.append(subprocess.Popen(command, stdout=log, stderr=log))
        self.wait("the host reports", lambda: self.get("/api/v1/hosts?status=up")["hosts"])

    def stop(self) -> None:
        """Stop the agent, then the collector."""
        for child in reversed(self._children):
            child.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(15)
            child.kill()
            child.wait()

    def get(self, path: str) -> Answer:
        """Return the answer to a GET request."""
        with urllib.request.urlopen(self.url + path, timeout=10) as answer:  # noqa: S310  our own loopback address
            return json.load(answer)

    def post(self, path: str, **fields: object) -> Answer:
        """Return the answer to a POST request of an operator."""
        headers = {"Content-Type": "application/json", "X-Flyball-Operator": "1"}
        request = urllib.request.Request(self.url + path, json.dumps(fields).encode(), headers)  # noqa: S310
        with urllib.request.urlopen(request, timeout=10) as answer:  # noqa: S310  our own loopback address
            return json.load(answer)

    def adjustments(self, run: str) -> list[Answer]:
        """Return the adjustments of a run, the oldest first."""
        found: list[Answer] = self.get(f"/api/v1/adjustments?run={run}")["adjustments"]
        return found[::-1]

    def value(self, run: str, name: str) -> object:
        """Return the newest value that the first rank has reported; None if it has not."""
        with contextlib.suppress(urllib.error.HTTPError):
            for each in self.get(f"/api/v1/runs/{run}/values")["values"]:
                if each["name"] == name:
                    return each["value"]
        return None

    def wait(self, what: str, check: Callable[[], T | None], seconds: float = 120.0) -> T:
        """Repeat a check until it returns something true. A refused connection counts as false."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            with contextlib.suppress(OSError, ValueError):
                if found := check():
                    return found
            for name, child in zip(self._commands, self._children, strict=False):
                if child.poll() is not None:
                    raise DemonstrationFailed(f"the {name} has ended:\n{self._log_ends()}")
            time.sleep(0.2)
        raise DemonstrationFailed(f"{what}: not within {seconds:.0f} s\n{self._log_ends()}")

    def _log_ends(self) -> str:
        logs = sorted(self.folder.glob("*.log"))
        return "\n".join(f"{log.name}:\n" + "\n".join(log.read_text().splitlines()[-20:]) for log in logs)


@contextlib.contextmanager
def daemons(settings: Mapping[str, str] | None = None, library: Path | None = None) -> Iterator[Daemons]:
    """Run a collector and an agent in a temporary folder. `library` has stand-in GPUs."""
    with tempfile.TemporaryDirectory(prefix="flyball-") as folder:
        started = Daemons(Path(folder), settings or {}, library)
        try:
            started.start()
            yield started
        finally:
            started.stop()


def _free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [int(each.getsockname()[1]) for each in sockets]
