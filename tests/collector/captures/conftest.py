"""A collector's captures with a real ingest server, and agents that send what a test wants."""

import asyncio
import hashlib
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from flyball_collector.captures.capture import Capture
from flyball_collector.captures.orders import CaptureOrders
from flyball_collector.captures.request import CaptureRequest
from flyball_collector.captures.settings import CapturesSettings
from flyball_collector.captures.targets import CaptureTarget
from flyball_collector.own_metrics import OwnMetrics
from flyball_collector.store.contract import Store
from flyball_collector.store.memory import MemoryStore
from flyball_collector.store.store_urls import open_store
from flyball_collector.testing import AgentDouble, FakeClock, running_ingest
from flyball_proto.v1 import telemetry_pb2 as pb

PART = 128 * 1024


def target(host: str = "host1", rank: int = 0) -> CaptureTarget:
    return CaptureTarget(rank, host, 4711, has_client=True, connected=True)


def request(what: str = "trace", **fields: object) -> CaptureRequest:
    return CaptureRequest("run", what, **fields)  # type: ignore[arg-type]  # the test's own names


def part(capture: str, body: bytes, offset: int = 0, size: int = PART, **fields: object) -> pb.Captured:
    """Return a part of a result, as an honest agent sends it except for some fields."""
    message = pb.Captured(
        id=capture,
        state=pb.Captured.DATA,
        source="client",
        file_name="trace.json.gz",
        size_bytes=len(body),
        offset=offset,
        data=body[offset : offset + size],
        sha256=hashlib.sha256(body).digest(),
    )
    message.MergeFrom(pb.Captured(**fields))  # type: ignore[arg-type]  # checked by protobuf
    return message


@dataclass
class AgentsDouble:
    """Keeps what is sent to agents, for tests without a connection."""

    orders: list[pb.CaptureOrder] = field(default_factory=list)
    nexts: list[pb.CaptureNext] = field(default_factory=list)
    connected: bool = True

    def order_capture(self, host: str, order: pb.CaptureOrder) -> bool:  # noqa: ARG002
        self.orders.append(order)
        return self.connected

    def capture_next(self, host: str, message: pb.CaptureNext) -> None:  # noqa: ARG002
        self.nexts.append(message)

    def version_of(self, host: str) -> str:  # noqa: ARG002
        return "0.1.0"


@dataclass
class Desk:
    """Captures without a connection, and the clock that decides when they take too long."""

    orders: CaptureOrders
    agents: AgentsDouble
    clock: FakeClock
    store: Store
    metrics: OwnMetrics

    def order(self, host: str = "host1", **fields: object) -> Capture:
        return self.orders.order(request(**fields), [target(host)])[0]  # type: ignore[arg-type]

    def state(self, capture: Capture) -> tuple[str, str]:
        found = self.orders.captures.get(capture.id)
        assert found is not None
        return found.state, found.detail

    async def upload(self, capture: Capture, body: bytes, size: int = PART) -> None:
        """Send a result as an honest agent does."""
        for offset in range(0, len(body), size):
            assert self.orders.take(capture.host, part(capture.id, body, offset, size))
            await self.orders.written()


@asynccontextmanager
async def open_desk(store: Store, settings: CapturesSettings | None = None) -> AsyncIterator[Desk]:
    clock, metrics, agents = FakeClock(), OwnMetrics(), AgentsDouble()
    orders = CaptureOrders(store, settings or CapturesSettings(), metrics, clock.time_ns, clock.monotonic)
    orders.agents = agents
    running = asyncio.create_task(orders.run())
    await asyncio.sleep(0)
    await orders.written()
    try:
        yield Desk(orders, agents, clock, store, metrics)
    finally:
        await orders.written()
        running.cancel()
        await asyncio.wait([running])
        orders.shut_down()


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    """A store of each kind."""
    return MemoryStore() if request.param == "memory" else open_store(f"sqlite:///{tmp_path / 'flyball.db'}")


@pytest.fixture
async def desk() -> AsyncIterator[Desk]:
    """Captures in memory."""
    async with open_desk(MemoryStore()) as desk:
        yield desk


@dataclass
class Connected:
    """Captures of hosts with real streams."""

    orders: CaptureOrders
    port: int
    metrics: OwnMetrics

    async def agent(self, host: str = "host1") -> AgentDouble:
        agent = await AgentDouble.connect(self.port, host)
        await agent.greet()
        return agent


@pytest.fixture
async def connected() -> AsyncIterator[Connected]:
    """Captures behind a real ingest server."""
    store, clock, metrics = MemoryStore(), FakeClock(), OwnMetrics()
    orders = CaptureOrders(store, CapturesSettings(), metrics, clock.time_ns, clock.monotonic)
    async with running_ingest(store, captured=orders.take) as running:
        orders.agents = running.server
        task = asyncio.create_task(orders.run())
        yield Connected(orders, running.port, metrics)
        task.cancel()
        await asyncio.wait([task])
        orders.shut_down()


async def until(check: Callable[[], bool], seconds: float = 60.0) -> None:
    """Wait for a condition."""
    async with asyncio.timeout(seconds):
        while not check():  # noqa: ASYNC110  another thread makes it true
            await asyncio.sleep(0.01)


def some_bytes(length: int) -> bytes:
    """Return bytes that do not compress."""
    return os.urandom(length)
