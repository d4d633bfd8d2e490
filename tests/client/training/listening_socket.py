"""The agent's side of the socket for tests. It accepts, reads and answers only when a test calls it."""

import json
import socket
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

from flyball.training.agent_link import AgentLink
from flyball.training.identity import Identity
from flyball.training.introduction import Introduction
from flyball.training.reporter import Reporter
from flyball.training.run import Run

SECONDS = 60.0


class ListeningSocket:
    """A listening Unix socket."""

    def __init__(self, path: Path, backlog: int = 16) -> None:
        self.path = path
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(str(path))
        self._listener.listen(backlog)
        self._listener.settimeout(SECONDS)
        self._accepted: list[socket.socket] = []
        self._rest = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def accept(self) -> socket.socket:
        """Accept the next connection."""
        accepted, _ = self._listener.accept()
        accepted.settimeout(SECONDS)
        self._accepted.append(accepted)
        self._rest = b""
        return accepted

    def lines(self) -> list[dict[str, Any]]:
        """Return the lines that have arrived on the newest connection."""
        connection = self._accepted[-1] if self._accepted else self.accept()
        data = self._rest
        connection.setblocking(False)
        try:
            while part := connection.recv(65536):
                data += part
        except BlockingIOError:
            pass
        connection.settimeout(SECONDS)
        *lines, self._rest = data.split(b"\n")
        return [json.loads(line) for line in lines]

    def send(self, *messages: dict[str, Any]) -> None:
        """Send messages on the newest connection."""
        self._accepted[-1].sendall(
            b"".join(json.dumps(each, separators=(",", ":")).encode() + b"\n" for each in messages)
        )

    def hang_up(self) -> None:
        """Close the newest connection."""
        self._accepted.pop().close()

    def close(self) -> None:
        """Close everything, as an agent does that ends. Its socket file stays, as after a kill."""
        for accepted in self._accepted:
            accepted.close()
        self._listener.close()


def open_run(path: Path, *, name: str = "a-run", report_ns: int = 0, total_steps: int | None = None) -> Run:
    """Return a run that reports at each step."""
    identity = Identity(rank=0, world_size=1, attempt=0, group="")
    introduction = Introduction(name, identity, total_steps=total_steps, labels={})
    return Run(introduction, Reporter(AgentLink(lambda: [str(path)]), 0), report_ns=report_ns)


def steps_of(lines: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the reports among lines."""
    return [line for line in lines if line["kind"] == "steps"]
