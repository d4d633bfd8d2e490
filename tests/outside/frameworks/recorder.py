"""A socket of an agent that keeps each line which a training sends."""

import json
import socket
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

from flyball_agent.runs.messages import BadLine, decode
from tests.processes import wait_for

Line = dict[str, Any]


class Recorder:
    """Listens like an agent, in threads, and checks each line as the agent does."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.connections: list[list[Line]] = []  # the lines of each, in the order in which they were opened
        self.rejected: list[str] = []  # what a real agent would not accept
        self._open = 0
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(path))
        self._listener.listen(64)
        threading.Thread(target=self._accept, name="recorder", daemon=True).start()

    def _accept(self) -> None:
        while True:
            with suppress(OSError):
                connection, _ = self._listener.accept()
                lines: list[Line] = []
                self.connections.append(lines)
                self._open += 1
                threading.Thread(target=self._read, args=(connection, lines), name="recorder", daemon=True).start()
                continue
            return

    def _read(self, connection: socket.socket, lines: list[Line]) -> None:
        with connection, connection.makefile("rb") as incoming, suppress(ConnectionResetError):
            for line in incoming:
                try:
                    decode(line)
                except BadLine as error:
                    self.rejected.append(f"{error}: {line!r}")
                lines.append(json.loads(line))
                with suppress(OSError):  # the training may have ended
                    connection.sendall(b'{"kind":"ok"}\n')
        self._open -= 1

    def wait_closed(self) -> Self:
        """Wait until each training has closed its connection."""
        wait_for("the connections are closed", lambda: self._open == 0)
        return self

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.close()


def steps_of(lines: list[Line]) -> list[Line]:
    """Return the reports of steps."""
    return [line for line in lines if line["kind"] == "steps"]


def total(lines: list[Line], name: str) -> float | None:
    """Return the sum of a field over all reports, or None if no report has it."""
    values = [line[name] for line in steps_of(lines) if name in line]
    return sum(values) if values else None


def sections(lines: list[Line]) -> dict[str, float]:
    """Return the sums of all sections in seconds."""
    found: dict[str, float] = {}
    for line in steps_of(lines):
        for name, seconds in line.get("section_seconds", {}).items():
            found[name] = found.get(name, 0.0) + seconds
    return found
