"""One agent's stream with its connection: reads and checks messages, sends answers, and ends with a clear status."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial

from google.protobuf.message import DecodeError

from flyball_collector.ingest.agent_stream import AgentStream
from flyball_collector.ingest.clock import Clock
from flyball_collector.ingest.counts import Counts
from flyball_collector.ingest.hello import SpooledEpoch, check_hello
from flyball_collector.ingest.identity import check_certificate
from flyball_collector.ingest.intake import Intake
from flyball_collector.ingest.message_size import check_size
from flyball_collector.ingest.rejection import Rejection
from flyball_collector.ingest.source import Source
from flyball_collector.ingest.stream_outbox import StreamOutbox
from flyball_collector.ingest.time_slices import run_in_slices
from flyball_collector.refused_agents import RefusedAgents
from flyball_collector.wire.call import Call
from flyball_collector.wire.status import CallEnded, StatusCode
from flyball_proto.ranges import RangeSet
from flyball_proto.v1 import telemetry_pb2 as pb

HELLO_SECONDS = 10.0
WRITE_SECONDS = 30.0

_NOT_REFUSED = frozenset({"removed", "stopping", "superseded"})  # reasons of the collector, not faults of the agent

MAX_UNORDERED = 256
"""An agent may not know yet that the collector has given a capture up, or was restarted."""

Captured = Callable[[str, pb.Captured], bool]
"""Takes a host's message about a capture. Returns False if it belongs to no order."""


def refuse_captured(_host: str, _captured: pb.Captured) -> bool:
    """Return False: nothing was ordered."""
    return False


AskStore = Callable[[str, Sequence[SpooledEpoch]], Awaitable[dict[bytes, RangeSet | None]]]


class Session:
    """Runs in the task of its call. Other tasks end it with `end`."""

    def __init__(
        self,
        call: Call,
        intake: Intake,
        counts: Counts,
        clock: Clock,
        ask_store: AskStore,
        welcome: pb.Welcome,
        *,
        verified: bool,
        admit: Callable[[], None],
        refused_agents: RefusedAgents,
        captured: Captured = refuse_captured,
    ) -> None:
        self._call = call
        self._intake = intake
        self._counts = counts
        self._clock = clock
        self._ask_store = ask_store
        self._welcome = welcome
        self._verified = verified
        self._admit = admit  # raises `Rejection` if no stream is free
        self._refused_agents = refused_agents
        self._captured = captured
        self._unordered = 0  # messages about captures that were not ordered
        self._claimed_host = ""  # as its hello claims
        self.admitted = False
        self._task: asyncio.Task[None] | None = None
        self._ending: Rejection | None = None
        self._stream: AgentStream | None = None
        self._source: Source | None = None
        self.writing_since: float | None = None

    def end(self, code: StatusCode, reason: str, message: str) -> None:
        """End the stream from another task."""
        if self._ending is None and self._task is not None:
            self._ending = Rejection(code, reason, message)
            self._task.cancel()

    async def run(self) -> None:
        """Serve until the agent leaves, violates the protocol, or is superseded."""
        self._task = asyncio.current_task()
        try:
            await self._serve()
            return
        except Rejection as rejection:
            ending = rejection.with_traceback(None)  # its frames hold the refused message
        except asyncio.CancelledError:
            if self._ending is None:
                raise  # the agent disconnected
            ending = self._ending
            if self._task is not None:
                self._task.uncancel()
        finally:
            if self._stream is not None:
                self._intake.detach(self._stream)
            self._task = self._stream = None  # break the reference cycle
        self._note_rejection(ending)
        self._call.abort(ending.code, ending.message)

    def _note_rejection(self, rejection: Rejection) -> None:
        self._counts.rejected_streams[rejection.reason] += 1
        if rejection.reason not in _NOT_REFUSED:
            client = self._call.client
            self._refused_agents.record(
                host=self._claimed_host,
                certificate=client.certificate,
                address=client.address,
                reason=rejection.message,
            )

    async def _serve(self) -> None:
        try:
            raw = await asyncio.wait_for(self._call.read(), HELLO_SECONDS)
        except TimeoutError:
            raise Rejection(StatusCode.DEADLINE_EXCEEDED, "hello", f"no hello within {HELLO_SECONDS:g} s") from None
        if raw is None:
            return  # the agent left without a message
        message = self._parse(raw)
        if message.WhichOneof("kind") != "hello":
            raise Rejection(StatusCode.INVALID_ARGUMENT, "hello", "the first message of a stream must be hello")
        sender: asyncio.Task[None] | None = None
        try:
            source, stream = await self._greet(message)
            sender = asyncio.create_task(self._send(stream.outbox), name=f"send-{stream.host}")
            at_once = partial(self._handle_fast, source, stream)
            while (raw := await self._call.read(at_once)) is not None:
                await self._handle(source, stream, raw)
        finally:
            if sender is not None:
                sender.cancel()

    async def _greet(self, message: pb.AgentMessage) -> tuple[Source, AgentStream]:
        self._claimed_host = message.hello.host
        greeting = check_hello(message.hello)
        if self._verified:
            check_certificate(greeting.host, self._call.client.names)
        if self._stream is None:
            self._admit()
            self.admitted = True
            self._stream = AgentStream(greeting.host, self.end, StreamOutbox())
        elif self._stream.host != greeting.host:
            raise Rejection(
                StatusCode.INVALID_ARGUMENT, "hello", f"the stream of {self._stream.host!r} changed its host"
            )
        source = self._source = self._intake.attach(self._stream, greeting)
        durable = await self._ask_store(greeting.host, self._intake.unknown_epochs(source, greeting))
        welcome = self._intake.greet(source, greeting, durable)
        welcome.MergeFrom(self._welcome)
        self._intake.note_message(source, message, self._clock.time_ns())
        self._stream.outbox.welcome(welcome)
        return source, self._stream

    async def _handle(self, source: Source, stream: AgentStream, raw: bytes) -> None:
        """Handle any message."""
        message, received_ns = self._parse(raw), self._clock.time_ns()
        if not _needs_wait(message):
            self._handle_now(source, stream, message, raw, received_ns)
            return
        self._count(source, message, raw, received_ns)
        if message.HasField("hello"):
            await self._greet(message)  # the agent began a new epoch
        else:
            await self._replay(source, stream, message.records, len(raw), received_ns)

    def _handle_fast(self, source: Source, stream: AgentStream, raw: bytes) -> bool:
        """Handle a message that needs no wait, without waking the task. Return False if it needs one."""
        message = self._parse(raw)
        if _needs_wait(message):
            return False
        self._handle_now(source, stream, message, raw, self._clock.time_ns())
        return True

    def _count(self, source: Source, message: pb.AgentMessage, raw: bytes, received_ns: int) -> None:
        self._counts.messages += 1
        self._counts.message_bytes += len(raw)
        self._intake.note_message(source, message, received_ns)

    def _handle_now(
        self, source: Source, stream: AgentStream, message: pb.AgentMessage, raw: bytes, received_ns: int
    ) -> None:
        self._count(source, message, raw, received_ns)
        kind = message.WhichOneof("kind")
        if kind == "records":
            self._intake.records.take(source, stream, message.records, received_ns)
        elif kind == "definition":
            self._intake.define(source, stream, message.definition)
        elif kind == "lost":
            self._intake.records.take_lost(source, message.lost)
        elif kind == "inventory":
            self._intake.take_inventory(source, message.inventory)
        elif kind == "goodbye":
            self._intake.goodbye(source)
        elif kind == "captured":
            self._take_captured(stream.host, message.captured)
        # nothing to do for a kind of a newer version, or for a lone echo

    def _take_captured(self, host: str, captured: pb.Captured) -> None:
        if not self._captured(host, captured):
            self._unordered += 1
            if self._unordered > MAX_UNORDERED:
                what = f"more than {MAX_UNORDERED} messages about captures that were not ordered"
                raise Rejection(StatusCode.RESOURCE_EXHAUSTED, "captures", what)

    async def _replay(
        self, source: Source, stream: AgentStream, records: pb.Records, size: int, received_ns: int
    ) -> None:
        """Take replayed records. A newer stream of the host cancels this task where it yields."""
        await run_in_slices(self._intake.records.replay(source, stream, records, size, received_ns), self._clock)

    @staticmethod
    def _parse(raw: bytes) -> pb.AgentMessage:
        check_size(raw)
        try:
            return pb.AgentMessage.FromString(raw)
        except DecodeError as error:
            raise Rejection(
                StatusCode.INVALID_ARGUMENT,
                "unreadable",
                f"message of {len(raw)} bytes is not a valid AgentMessage: {error}",
            ) from None

    async def _send(self, outbox: StreamOutbox) -> None:
        """Send messages as they come. The transport does flow control; `WRITE_SECONDS` limits a stuck write."""
        while True:
            await outbox.wake.wait()
            outbox.wake.clear()
            for message in outbox.drain():
                message.sent_ns = self._clock.time_ns()
                self.writing_since = self._clock.monotonic()
                try:
                    await self._call.write(message.SerializeToString())
                except CallEnded:
                    return  # the stream is over, and its reader has the status
                self.writing_since = None


def _needs_wait(message: pb.AgentMessage) -> bool:
    """Return True if handling the message may wait, for the store or in a replay."""
    return message.HasField("hello") or (message.HasField("records") and message.records.replay)
