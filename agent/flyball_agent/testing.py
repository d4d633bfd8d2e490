"""Fakes for tests and demonstrations: a manual clock, a controllable probe, a collector in memory."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import grpc
import grpc.aio

from flyball_agent.probes.probe import ProbeSample, Value
from flyball_agent.uplink.channel import METHOD
from flyball_proto import PROTOCOL_VERSION
from flyball_proto.layout import Column, digest
from flyball_proto.metric import Metric, gauge
from flyball_proto.ranges import RangeSet
from flyball_proto.v1 import telemetry_pb2 as pb

SERVER_OPTIONS: tuple[tuple[str, int], ...] = (
    ("grpc.http2.min_recv_ping_interval_without_data_ms", 5_000),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.max_receive_message_length", 4 * 1024 * 1024),
    ("grpc.so_reuseport", 0),
)


class FakeHostClock:
    """A clock that moves only when a test moves it."""

    def __init__(self, wall_ns: int = 1_700_000_000_000_000_000, boot_ns: int = 1_000_000_000_000) -> None:
        self._wall_ns = wall_ns
        self._boot_ns = boot_ns

    def wall_ns(self) -> int:
        return self._wall_ns

    def boot_ns(self) -> int:
        return self._boot_ns

    def advance(self, seconds: float) -> None:
        """Move both clocks forward."""
        self._wall_ns += round(seconds * 1e9)
        self._boot_ns += round(seconds * 1e9)

    def step(self, seconds: float) -> None:
        """Move only the wall clock, as if someone set it."""
        self._wall_ns += round(seconds * 1e9)


READING = gauge("test_reading_ratio", "ratio", "A reading for tests.", ("resource",), scale=1000)


class FakeProbe:
    """Returns `values`, raises `error`, or waits while `gate` is closed."""

    metrics: Sequence[Metric] = (READING,)

    def __init__(
        self,
        name: str = "fake",
        values: Sequence[Value] = (0.5,),
        *,
        blocking: bool = False,
        every_seconds: float = 0.0,
    ) -> None:
        self.name = name
        self.blocking = blocking
        self.every_seconds = every_seconds
        self.values = values
        self.error: Exception | None = None
        self.gate = threading.Event()
        self.gate.set()
        self.reads = 0
        self._columns: tuple[Column, ...] = ()

    def read(self) -> ProbeSample:
        self.reads += 1
        self.gate.wait()
        if self.error is not None:
            raise self.error
        if len(self._columns) != len(self.values):
            self._columns = tuple(Column(READING, (f"{self.name}{i}",)) for i in range(len(self.values)))
        return ProbeSample(self._columns, self.values)


@dataclass(slots=True)
class ReceivedEpoch:
    """The records and losses of one epoch that the collector in memory has received."""

    epoch: pb.Epoch
    records: dict[int, bytes] = field(default_factory=dict)
    lost: RangeSet = field(default_factory=RangeSet)
    refused: RangeSet = field(default_factory=RangeSet)
    received: int = 0
    replayed: int = 0

    @property
    def settled(self) -> int:
        """End of the longest prefix in which every sequence is received, lost or refused."""
        return (RangeSet.of(self.records) | self.lost | self.refused).prefix_from(0)


class MemoryCollector:
    """A collector that implements the whole protocol over real gRPC and keeps everything in memory.

    A test may change its behaviour at any time through attributes: `acknowledging`, `granting_bytes` (the size of one
    replay grant, renewed when it is used up) and `answering` (False: it never sends a message).
    """

    def __init__(self, address: str = "127.0.0.1:0") -> None:
        self.address = address
        self.held: dict[bytes, ReceivedEpoch] = {}
        self.hellos: list[pb.Hello] = []
        self.goodbyes: list[str] = []
        self.inventories: list[pb.Inventory] = []
        self.definitions: dict[int, tuple[int, bytes]] = {}
        self.messages: list[tuple[str, int]] = []
        self.captured: list[pb.Captured] = []
        self.echoes = 0
        self.faults: list[str] = []
        self.acknowledging = True
        self.answering = True
        self.granting_bytes = 256 * 1024
        self.send_every_ms = 100
        self.max_message_bytes = 0
        self.refuse: Callable[[int], bool] = lambda _sequence: False
        self.changed = asyncio.Condition()
        self.services: list[grpc.GenericRpcHandler[Any, Any]] = []
        """Other services on the same port, added at the next start."""
        self._server: grpc.aio.Server | None = None
        self._streams: set[asyncio.Queue[pb.CollectorMessage]] = set()

    async def __aenter__(self) -> "MemoryCollector":
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def start(self, credentials: grpc.ServerCredentials | None = None) -> None:
        """Start to listen, and put the real port into `address`."""
        service, method = METHOD.strip("/").split("/")
        handler = grpc.stream_stream_rpc_method_handler(
            self._connect,
            request_deserializer=pb.AgentMessage.FromString,
            response_serializer=pb.CollectorMessage.SerializeToString,
        )
        self._server = grpc.aio.server(options=SERVER_OPTIONS)
        records = grpc.method_handlers_generic_handler(service, {method: handler})
        self._server.add_generic_rpc_handlers((records, *self.services))
        if credentials is None:
            port = self._server.add_insecure_port(self.address)
        else:
            port = self._server.add_secure_port(self.address, credentials)
        self.address = f"{self.address.rpartition(':')[0]}:{port}"
        await self._server.start()

    async def stop(self) -> None:
        """Break all streams. Received records stay, so that a following `start` is a restart."""
        if self._server is not None:
            await self._server.stop(None)
            self._server = None

    async def until(self, condition: Callable[[], bool], timeout_seconds: float = 60.0) -> None:
        """Wait until messages make a condition true."""
        async with asyncio.timeout(timeout_seconds), self.changed:
            await self.changed.wait_for(condition)

    async def send(self, message: pb.CollectorMessage) -> None:
        """Send a message on every open stream."""
        for outbox in self._streams:
            outbox.put_nowait(message)

    def sequences(self) -> dict[bytes, list[int]]:
        """Return the sequences that have arrived, per epoch."""
        return {epoch: sorted(held.records) for epoch, held in self.held.items()}

    async def _connect(
        self, requests: AsyncIterator[pb.AgentMessage], _context: grpc.aio.ServicerContext[Any, Any]
    ) -> AsyncIterator[pb.CollectorMessage]:
        outbox: asyncio.Queue[pb.CollectorMessage] = asyncio.Queue()
        self._streams.add(outbox)
        ended = pb.CollectorMessage()
        reading = asyncio.create_task(self._read(requests, outbox, ended))
        try:
            while (message := await outbox.get()) is not ended:
                message.sent_ns = 1 + len(self.messages)
                yield message
        finally:
            self._streams.discard(outbox)
            reading.cancel()

    async def _read(
        self,
        requests: AsyncIterator[pb.AgentMessage],
        outbox: "asyncio.Queue[pb.CollectorMessage]",
        ended: pb.CollectorMessage,
    ) -> None:
        known: set[int] = {0}
        async for message in requests:
            kind = message.WhichOneof("kind") or "unknown"
            self.messages.append((kind, message.ByteSize()))
            self.echoes += message.HasField("echo")
            if self.answering:
                self._take(kind, message, known, outbox)
            async with self.changed:
                self.changed.notify_all()
        outbox.put_nowait(ended)

    def _take(
        self, kind: str, message: pb.AgentMessage, known: set[int], outbox: "asyncio.Queue[pb.CollectorMessage]"
    ) -> None:
        match kind:
            case "hello":
                self._welcome(message.hello, outbox)
            case "inventory":
                self.inventories.append(message.inventory)
            case "definition":
                if digest(message.definition.body) != message.definition.digest:
                    self.faults.append("a definition's digest is wrong")
                known.add(message.definition.digest)
                self.definitions[message.definition.digest] = (message.definition.kind, message.definition.body)
            case "records":
                self._records(message.records, known, outbox)
            case "lost":
                held = self.held[message.lost.epoch]
                held.lost |= RangeSet((part.first, part.next) for part in message.lost.ranges)
                self._acknowledge(held, outbox)
            case "captured":
                self.captured.append(message.captured)
            case "goodbye":
                self.goodbyes.append(message.goodbye.reason)

    def _welcome(self, hello: pb.Hello, outbox: "asyncio.Queue[pb.CollectorMessage]") -> None:
        self.hellos.append(hello)
        answer = pb.CollectorMessage(
            welcome=pb.Welcome(
                protocol=PROTOCOL_VERSION,
                collector_version="in memory",
                settings=pb.AgentSettings(send_every_ms=self.send_every_ms, max_message_bytes=self.max_message_bytes),
            )
        )
        for spooled in hello.epochs:
            held = self.held.setdefault(spooled.epoch.id, ReceivedEpoch(spooled.epoch))
            answer.welcome.durable.add(epoch=spooled.epoch.id, settled=held.settled if self.acknowledging else 0)
        outbox.put_nowait(answer)
        self._grant(outbox)

    def _records(self, body: pb.Records, known: set[int], outbox: "asyncio.Queue[pb.CollectorMessage]") -> None:
        held = self.held[body.epoch]
        refused: list[int] = []
        for data in body.records:
            record = pb.Record.FromString(data)
            held.received += 1
            held.replayed += body.replay
            if not {record.layout, record.unavailable, record.tenancy} <= known:
                self.faults.append(f"record {record.sequence} arrived before a definition that it needs")
            if held.records.get(record.sequence, data) != data:
                self.faults.append(f"record {record.sequence} arrived twice with different content")
            if self.refuse(record.sequence):
                refused.append(record.sequence)
            else:
                held.records[record.sequence] = data
        if refused:
            held.refused |= RangeSet.of(refused)
            message = pb.CollectorMessage(refused=pb.Refused(epoch=body.epoch, reason="refused by the test"))
            for first, following in RangeSet.of(refused):
                message.refused.ranges.add(first=first, next=following)
            outbox.put_nowait(message)
        self._acknowledge(held, outbox)
        if body.replay:
            self._grant(outbox)

    def _acknowledge(self, held: ReceivedEpoch, outbox: "asyncio.Queue[pb.CollectorMessage]") -> None:
        if self.acknowledging:
            ack = pb.Acknowledgement(epoch=held.epoch.id, settled=held.settled)
            outbox.put_nowait(pb.CollectorMessage(acknowledgement=ack))

    def _grant(self, outbox: "asyncio.Queue[pb.CollectorMessage]") -> None:
        if self.granting_bytes:
            outbox.put_nowait(pb.CollectorMessage(replay_grant=pb.ReplayGrant(bytes=self.granting_bytes)))


async def until_true(condition: Callable[[], object], timeout_seconds: float = 60.0) -> None:
    """Poll a condition until it is true. Raise TimeoutError if it does not become true."""
    async with asyncio.timeout(timeout_seconds):
        while not condition():  # noqa: ASYNC110  another thread may make it true
            await asyncio.sleep(0.01)
