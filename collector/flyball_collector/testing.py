"""Test doubles: a clock that tests move, a store that can fail or hang, records, and an agent."""

import asyncio
import threading
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Self

import grpc
from grpc import aio

from flyball_collector.adjustments.streams.adjust_streams import AdjustStreams
from flyball_collector.blocks.block import Block
from flyball_collector.fleet.fleet import Fleet
from flyball_collector.ingest.clock import Clock, SystemClock
from flyball_collector.ingest.server import IngestServer
from flyball_collector.ingest.session import Captured, refuse_captured
from flyball_collector.own_metrics import OwnMetrics
from flyball_collector.refused_agents import RefusedAgents
from flyball_collector.settings import CollectorSettings, GrpcSettings
from flyball_collector.store.contract import Document, Store, StoreUnavailable
from flyball_collector.store.memory import MemoryStore
from flyball_collector.wire.acceptor import Contexts
from flyball_proto import PROTOCOL_VERSION
from flyball_proto.layout import Column, Layout
from flyball_proto.metric import gauge
from flyball_proto.packing import pack
from flyball_proto.ranges import RangeSet
from flyball_proto.v1 import telemetry_pb2 as pb
from flyball_proto.v1.telemetry_pb2_grpc import TelemetryStub

SECOND_NS = 1_000_000_000
START_NS = 1_900_000_000 * SECOND_NS
CONNECT = "/flyball.v1.Telemetry/Connect"


class FakeClock:
    """A clock that only the test moves."""

    def __init__(self, now_ns: int = START_NS) -> None:
        self.now_ns = now_ns
        self.now = 1000.0

    def time_ns(self) -> int:
        return self.now_ns

    def monotonic(self) -> float:
        return self.now

    def advance(self, seconds: float) -> None:
        """Move both clocks."""
        self.now_ns += int(seconds * SECOND_NS)
        self.now += seconds


class FlakyStore(MemoryStore):
    """A store that is down while `down` is set, and hangs while `open` is cleared."""

    def __init__(self) -> None:
        super().__init__()
        self.down = False
        self.open = threading.Event()
        self.open.set()

    def put_blocks(self, blocks: Sequence[Block]) -> list[RangeSet]:
        self._check()
        return super().put_blocks(blocks)

    def settled(self, host: str, epoch: bytes, from_sequence: int) -> RangeSet:
        self._check()
        return super().settled(host, epoch, from_sequence)

    def put_document(self, kind: str, id: str, body: bytes, *, expected: int | None = None) -> int:  # noqa: A002
        self._check()
        return super().put_document(kind, id, body, expected=expected)

    def list_documents(self, kind: str, prefix: str = "") -> list[Document]:
        self._check()
        return super().list_documents(kind, prefix)

    def read_documents(
        self, kind: str, start: str, end: str, *, limit: int, newest_first: bool = False
    ) -> list[Document]:
        self._check()
        return super().read_documents(kind, start, end, limit=limit, newest_first=newest_first)

    def _check(self) -> None:
        self.open.wait()
        if self.down:
            raise StoreUnavailable("the store is down for a test")


def make_layout(columns: int = 3) -> Layout:
    """Return a layout of gauges with a label and a scale of 10."""
    metric = gauge("test_value_ratio", "ratio", "A value of a test.", ("item",), scale=10)
    return Layout(tuple(Column(metric, (f"item{index}",)) for index in range(columns)))


def make_record(
    sequence: int,
    layout: Layout,
    values: Sequence[float | None] | None = None,
    *,
    start_ns: int = START_NS,
    interval_ms: int = 1000,
    digest: int | None = None,
    **fields: object,
) -> bytes:
    """Return a serialized record. Its values default to the sequence in every column."""
    scales = [column.metric.scale for column in layout.columns]
    packed, validity = pack(values if values is not None else [float(sequence)] * len(scales), scales)
    since_ns = sequence * interval_ms * 1_000_000
    record = pb.Record(
        sequence=sequence,
        time_ns=start_ns + since_ns,
        boot_ns=SECOND_NS + since_ns,
        layout=layout.digest if digest is None else digest,
        values=packed,
        validity=validity,
    )
    record.MergeFrom(pb.Record(**fields))  # type: ignore[arg-type]  # checked by protobuf
    return record.SerializeToString()


def make_epoch(number: int = 1, *, interval_ms: int = 1000, boot_id: str = "boot-1") -> pb.Epoch:
    """Return an epoch whose id is made of a number."""
    return pb.Epoch(id=bytes([number]) * 16, started_ns=START_NS, boot_id=boot_id, interval_ms=interval_ms)


def make_hello(host: str, *epochs: pb.SpooledEpoch, protocol: int = PROTOCOL_VERSION) -> pb.Hello:
    """Return a hello. Without epochs it lists one that has just begun."""
    spooled = epochs or (pb.SpooledEpoch(epoch=make_epoch()),)
    return pb.Hello(host=host, agent_version="1.2.3", protocol=protocol, epochs=spooled)


def make_definition(layout: Layout) -> pb.Definition:
    """Return a layout as a definition."""
    return pb.Definition(kind=pb.Definition.LAYOUT, digest=layout.digest, body=layout.body)


@dataclass(slots=True)
class AgentDouble:
    """Sends messages over a real stream and keeps those that it receives."""

    host: str
    channel: aio.Channel
    call: aio.StreamStreamCall[pb.AgentMessage, pb.CollectorMessage]
    received: list[pb.CollectorMessage] = field(default_factory=list)

    @classmethod
    async def connect(
        cls,
        port: int,
        host: str = "host1",
        credentials: grpc.ChannelCredentials | None = None,
    ) -> Self:
        """Open a stream without sending anything."""
        options = [("grpc.use_local_subchannel_pool", 1)]
        address = f"localhost:{port}"
        if credentials is None:
            channel = aio.insecure_channel(address, options=options)
        else:
            channel = aio.secure_channel(address, credentials, options=options)
        stub = TelemetryStub(channel)
        return cls(host, channel, stub.Connect())  # type: ignore[call-arg]  # the stubs know the blocking form

    async def write(self, message: pb.AgentMessage) -> None:
        """Send one message. A stream that has ended is noticed when it is read."""
        with suppress(asyncio.InvalidStateError, aio.AioRpcError):
            await self.call.write(message)

    async def greet(self, *epochs: pb.SpooledEpoch, layout: Layout | None = None) -> pb.Welcome:
        """Send hello, define a layout, and wait for the welcome."""
        await self.write(pb.AgentMessage(hello=make_hello(self.host, *epochs), sent_boot_ns=SECOND_NS))
        welcome = (await self.receive("welcome")).welcome
        if layout is not None:
            await self.write(pb.AgentMessage(definition=make_definition(layout)))
        return welcome

    async def send(
        self, epoch: bytes, records: Iterable[bytes], *, replay: bool = False, backlog_bytes: int = 0
    ) -> None:
        """Send records."""
        message = pb.Records(epoch=epoch, records=records, replay=replay, backlog_bytes=backlog_bytes)
        await self.write(pb.AgentMessage(records=message))

    async def receive(self, kind: str, seconds: float = 5.0) -> pb.CollectorMessage:
        """Return the next message of that kind. Others are kept in `received`."""
        async with asyncio.timeout(seconds):
            while True:
                message = await self.call.read()
                if not isinstance(message, pb.CollectorMessage):
                    raise ConnectionError(f"stream ended: {await self.call.code()} {await self.call.details()}")
                self.received.append(message)
                if message.WhichOneof("kind") == kind:
                    return message

    async def acknowledged(self, settled: int, seconds: float = 5.0) -> pb.Acknowledgement:
        """Wait until everything below `settled` is acknowledged."""
        while (message := await self.receive("acknowledgement", seconds)).acknowledgement.settled < settled:
            pass
        return message.acknowledgement

    async def ended(self, seconds: float = 5.0) -> tuple[grpc.StatusCode, str]:
        """Wait for the end of the stream. Return its status and message."""
        async with asyncio.timeout(seconds):
            with suppress(aio.AioRpcError):
                while isinstance(message := await self.call.read(), pb.CollectorMessage):
                    self.received.append(message)
            return await self.call.code(), str(await self.call.details())

    async def close(self) -> None:
        """Disconnect without a goodbye."""
        self.call.cancel()
        await self.channel.close(None)


@dataclass(slots=True)
class RunningIngest:
    """A running ingest server with its parts."""

    server: IngestServer
    port: int
    fleet: Fleet
    store: Store
    metrics: OwnMetrics


@asynccontextmanager
async def running_ingest(
    store: Store,
    settings: CollectorSettings | None = None,
    clock: Clock | None = None,
    contexts: Contexts | None = None,
    refused_agents: RefusedAgents | None = None,
    captured: Captured = refuse_captured,
    adjust: AdjustStreams | None = None,
) -> AsyncIterator[RunningIngest]:
    """Run an ingest server on a free port of loopback."""
    settings = settings if settings is not None else CollectorSettings(grpc=GrpcSettings(listen="127.0.0.1:0"))
    fleet, metrics = Fleet(settings.limits.hosts), OwnMetrics()
    server = IngestServer(
        settings, fleet, store, metrics, clock or SystemClock(), contexts, refused_agents, captured, adjust
    )
    port = await server.start()
    try:
        yield RunningIngest(server, port, fleet, store, metrics)
    finally:
        await server.stop(grace=2.0)
