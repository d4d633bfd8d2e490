"""A training process on the socket, line by line, and an agent's desk with its socket."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from flyball_agent.adjustments.desk import AdjustmentDesk
from flyball_agent.runs.registry import RunRegistry
from flyball_agent.runs.socket import RunSocket
from flyball_agent.self_metrics import SelfMetrics
from flyball_agent.testing import FakeHostClock
from flyball_proto.v1 import adjust_pb2 as adjust

ID = "00000000000000a1"
MICRO_BATCH: dict[str, Any] = {
    "name": "micro_batch", "value": 16, "choices": [1, 2, 4, 8, 16], "safety": 2, "when": "step",
    "lever": "micro_batch", "facts": {"per_rank": "64", "normalised": "tokens"}, "blocked": "",
}  # fmt: skip


def able(*values: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """Return the declaration of a rank."""
    return {
        "kind": "able", "attempt": 0, "policy": "auto", "step": 120, "step_seconds": 0.012, "register": "c10d",
        "values": list(values or (MICRO_BATCH,)), **fields,
    }  # fmt: skip


def offer(**fields: Any) -> adjust.CollectorAdjust:
    """Return an offer of the collector."""
    chosen = {
        "id": ID, "term": 1, "run": "a-run", "name": "micro_batch", "from": "16", "to": "8", "at_step": 240,
        "expires_seconds": 30, "safety": 2, "because": "memory_exhaustion", **fields,
    }  # fmt: skip
    return adjust.CollectorAdjust(offer=adjust.Offer(**chosen))


@dataclass
class TrainingClient:
    """One connection. `pushed` has the lines that answer nothing."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    pushed: list[dict[str, Any]]

    @classmethod
    async def connect(cls, path: Path, run: str = "a-run", rank: int = 0, world_size: int = 2, **more: Any) -> Self:
        """Connect and send a hello."""
        client = cls(*await asyncio.open_unix_connection(str(path)), [])
        hello = {"kind": "hello", "run": run, "rank": rank, "world_size": world_size, **more}
        assert await client.request(hello) == {"kind": "ok"}
        return client

    async def request(self, message: object) -> dict[str, Any]:
        """Send a message. Return its answer."""
        return await self.send(json.dumps(message).encode() + b"\n")

    async def send(self, line: bytes) -> dict[str, Any]:
        self.writer.write(line)
        while (answer := await self._next())["kind"] not in {"ok", "ignored", "error"}:
            self.pushed.append(answer)
        return answer

    async def pushed_line(self, kind: str) -> dict[str, Any]:
        """Wait for a line of this kind that the agent pushes."""
        while True:
            for line in self.pushed:
                if line["kind"] == kind:
                    self.pushed.remove(line)
                    return line
            self.pushed.append(await self._next())

    async def has_no(self, kind: str) -> bool:
        """Return True if the agent has pushed no such line until it answers another one."""
        assert (await self.request({"kind": "steps", "step": 1, "steps": 0, "step_seconds": 0}))["kind"] == "ok"
        return all(line["kind"] != kind for line in self.pushed)

    async def _next(self) -> dict[str, Any]:
        async with asyncio.timeout(20):
            line = await self.reader.readline()
        assert line, "the agent has closed the connection"
        found: dict[str, Any] = json.loads(line)
        return found

    def close(self) -> None:
        self.writer.close()


class DeskOfHost:
    """A desk behind a real socket. The test is the collector."""

    def __init__(self, folder: Path, *, enabled: bool = True) -> None:
        self.clock = FakeHostClock()
        self.seconds = 1000.0
        self.timers: list[tuple[float, Any]] = []
        self.self_metrics = SelfMetrics()
        self.socket = RunSocket(folder / "agent.sock", RunRegistry(), self.self_metrics)
        self.desk = AdjustmentDesk(
            lambda: self.socket,
            self.clock,
            enabled=enabled,
            now=lambda: self.seconds,
            later=lambda seconds, action: self.timers.append((self.seconds + seconds, action)),
        )
        self.socket.adjustments = self.desk
        self.desk.begin_stream(lambda: None)
        self._clients: list[TrainingClient] = []

    def advance(self, seconds: float) -> None:
        """Move the time of the desk."""
        self.seconds += seconds
        due = [action for at, action in self.timers if at <= self.seconds]
        self.timers = [(at, action) for at, action in self.timers if at > self.seconds]
        for action in due:
            action()

    def sent(self, kind: str) -> list[Any]:
        """Return the messages of a kind that the stream would send now. The others are dropped."""
        return [getattr(each, kind) for each in self.desk.outbox.take() if each.WhichOneof("kind") == kind]

    def refusals(self) -> list[tuple[int, str]]:
        """Return the rank and the reason of each offer that the agent has refused."""
        return [(each.rank, each.reason) for each in self.sent("answer") if each.verdict == adjust.Answer.REFUSED]

    async def client(self, **fields: Any) -> TrainingClient:
        """Return a process that has declared a micro-batch."""
        client = await self.connect(**fields)
        assert await client.request(able()) == {"kind": "ok"}
        return client

    async def connect(self, **fields: Any) -> TrainingClient:
        """Return a process that has sent a hello."""
        client = await TrainingClient.connect(self.socket.path, **fields)
        self._clients.append(client)
        return client

    async def stop(self) -> None:
        """Close the socket and all connections."""
        for client in self._clients:
            client.close()
        await self.socket.stop()


@asynccontextmanager
async def desk_of_host(folder: Path, *, enabled: bool = True) -> AsyncIterator[DeskOfHost]:
    """Run a socket with a desk."""
    host = DeskOfHost(folder, enabled=enabled)
    await host.socket.start()
    try:
        yield host
    finally:
        await host.stop()
