"""Receives what processes report to the agent's socket, and starts commands under `flyball run`."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from flyball_agent.runs.messages import decode

FLYBALL = str(Path(sys.executable).parent / "flyball")
SECONDS = 120.0
"""More than any command here takes on a busy machine."""


class Reports:
    """The agent's side of the socket. It answers nothing, and reads when the test asks."""

    def __init__(self, path: Path) -> None:
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(str(path))
        self._listener.listen(64)
        self._listener.setblocking(False)

    def runs(self) -> list[list[dict[str, Any]]]:
        """Return the messages by connection. What was sent before the call has arrived: the kernel keeps it."""
        found: list[list[dict[str, Any]]] = []
        with suppress(BlockingIOError):
            while True:
                connection, _ = self._listener.accept()
                with connection:
                    found.append(_messages(connection))
        return [lines for lines in found if lines]

    def close(self) -> None:
        """Close the socket."""
        self._listener.close()


def _messages(connection: socket.socket) -> list[dict[str, Any]]:
    connection.setblocking(False)
    data = b""
    with suppress(BlockingIOError):
        while part := connection.recv(65536):
            data += part
    for line in data.splitlines():
        decode(line)  # the agent accepts it
    return [json.loads(line) for line in data.splitlines()]


@contextmanager
def listening(path: Path) -> Iterator[Reports]:
    """Receive reports at a socket."""
    reports = Reports(path)
    try:
        yield reports
    finally:
        reports.close()


def environment(**changes: str) -> dict[str, str]:
    """Return the environment of the tests without what a launcher, a scheduler or another run has set."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("FLYBALL_", "SLURM_"))}
    for name in ("PYTHONPATH", "RANK", "WORLD_SIZE", "MASTER_ADDR"):
        kept.pop(name, None)
    return kept | changes


def flyball_run(
    command: Sequence[str],
    *options: str,
    stdin: str | None = None,
    cwd: Path | None = None,
    variables: Mapping[str, str] | None = None,
) -> "subprocess.CompletedProcess[str]":
    """Run a command under `flyball run`."""
    words = [FLYBALL, "run", *options, "--", *command]
    return subprocess.run(
        words,
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS,
        cwd=cwd,
        env=environment(**(variables or {})),
    )


def total(lines: Sequence[Mapping[str, Any]], key: str) -> float:
    """Return the sum of a figure, or of a section, over all reports of a connection."""
    reports = [line for line in lines if line["kind"] == "steps"]
    return sum(float(line.get(key, 0) or line.get("section_seconds", {}).get(key, 0)) for line in reports)


def last_step(lines: Sequence[Mapping[str, Any]]) -> int:
    """Return the number of the last step that was reported."""
    return max((int(line["step"]) for line in lines if line["kind"] == "steps"), default=0)
