"""The agent's two sockets for tests: orders go out on one, results come in on the other."""

import json
import os
import socket
from pathlib import Path
from typing import Any

from flyball.captures.delivery import SUFFIX
from tests.client.training.listening_socket import SECONDS, ListeningSocket, open_run

ORDER = {"kind": "capture", "id": "00000000000000c3", "steps": 2, "seconds": 30, "max_bytes": 10**7}


class CapturingAgent:
    """An agent that orders captures of one run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.socket = ListeningSocket(folder / "agent.sock")
        self.results = socket.socket(socket.AF_UNIX)
        self.place = str(folder / f"agent.sock{SUFFIX}")
        self.results.bind(self.place)
        self.results.listen(8)
        self.results.settimeout(SECONDS)
        self.run = open_run(self.socket.path)
        self.run.step()
        self.socket.lines()

    def close(self) -> None:
        self.run.finish()
        self.socket.close()
        self.results.close()

    def order(self, what: str, **fields: object) -> None:
        """Send an order. The run reads it at its next step."""
        self.socket.send({**ORDER, "what": what, "socket": self.place, **fields})

    def steps(self, count: int) -> None:
        for _ in range(count):
            self.run.step()

    def answers(self) -> list[dict[str, Any]]:
        """Return what the run has answered on its connection."""
        self.run.step()
        return [line for line in self.socket.lines() if line["kind"] == "captured"]

    def failure(self) -> str:
        """Return the reason that the run has answered."""
        (answer,) = [each for each in self.answers() if each["state"] == "failed"]
        assert answer["id"] == ORDER["id"]
        return str(answer["detail"])

    def result(self) -> tuple[dict[str, Any], bytes]:
        """Return the description and the content of the result that the run has delivered."""
        connection, _ = self.results.accept()
        with connection:
            connection.settimeout(SECONDS)
            line, descriptors, _, _ = socket.recv_fds(connection, 4096, 4)
        (descriptor,) = descriptors
        with open(descriptor, "rb") as file:  # noqa: PTH123  a descriptor
            content = file.read()
        return json.loads(line), content


def temporary_folders() -> list[str]:
    """Return the folders of captures that were left behind."""
    return [path.name for path in Path(os.environ["TMPDIR"]).iterdir() if path.name.startswith("flyball-capture-")]
