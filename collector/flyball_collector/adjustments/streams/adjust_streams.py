"""The agents' streams for adjustments: one for each host, separate from the stream of its records."""

import asyncio
import time
from collections.abc import Callable
from fnmatch import fnmatchcase
from typing import Protocol

import structlog
from google.protobuf.message import DecodeError

from flyball_collector.adjustments.settings import OFF, AdjustmentsSettings
from flyball_collector.adjustments.streams.stream_budget import (
    BYTES_A_SECOND,
    MESSAGES_A_SECOND,
    HostBudget,
    HostBudgets,
)
from flyball_collector.wire.call import Call
from flyball_collector.wire.client import ConnectedClient
from flyball_collector.wire.status import CallEnded, StatusCode
from flyball_proto.v1 import adjust_pb2 as pb
from flyball_proto.v1 import telemetry_pb2

_log = structlog.get_logger(__name__)

SERVICE = "flyball.v1.Adjust"
CONNECT = f"/{SERVICE}/Connect"
MESSAGE_BYTES = 96 * 1024
"""Of one message. A process declares its values in a line of at most 64 KiB."""

HELLO_SECONDS = 10.0
WRITE_SECONDS = 30.0
WAITING_MESSAGES = 512
MAX_FAULTS = 256
"""Messages of one stream that the governor could not use. An agent lets through only what is valid."""


class Governing(Protocol):
    """Decides about adjustments."""

    @property
    def term(self) -> int:
        """Return the fencing token."""

    def take(self, host: str, message: pb.AgentAdjust) -> str:
        """Take a message of an agent. Return what was wrong with it; empty if nothing."""

    def take_outcome(self, host: str, outcome: telemetry_pb2.AdjustmentOutcome) -> None:
        """Take an outcome from a host's record."""

    def host_lost(self, host: str) -> None:
        """Learn that a host's stream has ended."""


Identify = Callable[[str, ConnectedClient], None]
"""Raises `CallEnded` unless this client may act for the host."""


class AdjustStreams:
    """Serves Adjust.Connect, and sends to the hosts. Only the event loop may call it."""

    def __init__(
        self,
        settings: AdjustmentsSettings,
        governor: Governing,
        *,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._settings = settings
        self._governor = governor
        self._monotonic = monotonic
        self._streams: dict[str, _Stream] = {}
        self._budgets = HostBudgets()

    @property
    def hosts(self) -> frozenset[str]:
        """Return the hosts with a stream."""
        return frozenset(self._streams)

    def send(self, host: str, message: pb.CollectorAdjust) -> bool:
        """Send a message without waiting. Return False if the host has no stream, or leaves messages unread."""
        stream = self._streams.get(host)
        return stream is not None and stream.put(message)

    def take_outcomes(self, host: str, record: telemetry_pb2.Record) -> None:
        """Pass the outcomes of a host's record to the governor."""
        if self._settings.enabled:
            for outcome in record.adjustments:
                self._governor.take_outcome(host, outcome)

    def remove(self, host: str) -> None:
        """End the stream of a host that is removed from the fleet."""
        if (stream := self._streams.get(host)) is not None:
            stream.end(StatusCode.ABORTED, f"host {host!r} was removed from the fleet")

    def stop(self) -> None:
        """End all streams, because the collector stops."""
        for stream in tuple(self._streams.values()):
            stream.end(StatusCode.UNAVAILABLE, "the collector is stopping; reconnect")

    async def serve(self, call: Call, identify: Identify) -> None:
        """Serve one call. It ends by `CallEnded`, or when the agent disconnects."""
        hello = await _hello(call)
        host = hello.host
        identify(host, call.client)
        if reason := self._not_allowed(host):
            call.abort(StatusCode.PERMISSION_DENIED, reason)
        budget = self._budgets.of(host, self._monotonic())
        stream = _Stream(call, host, hello.epoch, self._governor, budget, self._monotonic)
        self._begin(stream)
        try:
            await stream.run(hello.term)
        finally:
            if self._streams.get(host) is stream:
                del self._streams[host]
                self._governor.host_lost(host)

    def _not_allowed(self, host: str) -> str:
        if not self._settings.enabled:
            return OFF
        patterns = self._settings.hosts
        if patterns and not any(fnmatchcase(host, pattern) for pattern in patterns):
            return f"adjustments are not allowed on host {host!r} (adjustments.hosts)"
        return ""

    def _begin(self, stream: "_Stream") -> None:
        """Make a stream the one of its host. Ranks of an earlier start of the agent are unknown until they declare."""
        older = self._streams.get(stream.host)
        self._streams[stream.host] = stream
        if older is not None:
            older.end(StatusCode.ABORTED, f"superseded by a newer stream of host {stream.host!r}")
            if older.epoch != stream.epoch:
                self._governor.host_lost(stream.host)


class _Stream:
    """One call, after its hello."""

    def __init__(
        self,
        call: Call,
        host: str,
        epoch: bytes,
        governor: Governing,
        budget: HostBudget,
        monotonic: Callable[[], float],
    ) -> None:
        self.host = host
        self.epoch = epoch
        self._call = call
        self._governor = governor
        self._monotonic = monotonic
        self._waiting: asyncio.Queue[pb.CollectorAdjust] = asyncio.Queue(WAITING_MESSAGES)
        self._ending: tuple[StatusCode, str] | None = None
        self._task: asyncio.Task[None] | None = None
        self._budget = budget
        self._faults = 0

    def put(self, message: pb.CollectorAdjust) -> bool:
        """Add a message to those that wait. Return False if too many do."""
        if self._ending is not None or self._waiting.full():
            return False
        self._waiting.put_nowait(message)
        return True

    def end(self, code: StatusCode, message: str) -> None:
        """End the stream from another task."""
        if self._ending is None:
            self._ending = (code, message)
            if self._task is not None:
                self._task.cancel()

    async def run(self, newest_term: int) -> None:
        """Serve until the agent leaves, violates the protocol, or is superseded."""
        if newest_term > self._governor.term:
            text = f"the agent has seen term {newest_term}; this collector has {self._governor.term} and may not act"
            raise CallEnded(StatusCode.FAILED_PRECONDITION, text)
        self._task = asyncio.current_task()
        sender = asyncio.create_task(self._send(), name=f"adjust-send-{self.host}")
        try:
            while (raw := await self._call.read(self._take)) is not None:
                self._take(raw)
        except asyncio.CancelledError:
            if self._ending is None:
                raise  # the agent disconnected
            if self._task is not None:
                self._task.uncancel()
            raise CallEnded(*self._ending) from None
        finally:
            self._task = None
            sender.cancel()

    def _take(self, raw: bytes) -> bool:
        """Handle a message without waiting. Return True: it is consumed."""
        if not self._budget.spend(len(raw), self._monotonic()):
            text = f"more than {MESSAGES_A_SECOND:g} messages or {BYTES_A_SECOND:g} bytes a second about adjustments"
            raise CallEnded(StatusCode.RESOURCE_EXHAUSTED, text)
        message = _parsed(raw)
        kind = message.WhichOneof("kind")
        if kind == "hello":
            raise CallEnded(StatusCode.INVALID_ARGUMENT, "a stream has one hello")
        if kind is None:  # of a newer version
            return True
        if fault := self._governor.take(self.host, message):
            self._faults += 1
            if self._faults == 1:
                _log.warning("adjustment_message_unused", host=self.host, kind=kind, reason=fault)
            if self._faults > MAX_FAULTS:
                text = f"more than {MAX_FAULTS} messages that cannot be used; the last one: {fault}"
                raise CallEnded(StatusCode.INVALID_ARGUMENT, text[:400])
        return True

    async def _send(self) -> None:
        """Send the welcome, then what waits."""
        message = pb.CollectorAdjust(welcome=pb.AdjustWelcome(term=self._governor.term))
        while True:
            try:
                async with asyncio.timeout(WRITE_SECONDS):
                    await self._call.write(message.SerializeToString())
            except CallEnded:
                return  # the call is over, and its reader has the status
            except TimeoutError:
                self.end(StatusCode.RESOURCE_EXHAUSTED, f"the agent left messages unread for {WRITE_SECONDS:g} s")
                return
            message = await self._waiting.get()


async def _hello(call: Call) -> pb.AdjustHello:
    try:
        raw = await asyncio.wait_for(call.read(), HELLO_SECONDS)
    except TimeoutError:
        call.abort(StatusCode.DEADLINE_EXCEEDED, f"no hello within {HELLO_SECONDS:g} s")
    if raw is None:
        call.abort(StatusCode.INVALID_ARGUMENT, "the stream ended without a hello")
    message = _parsed(raw)
    if message.WhichOneof("kind") != "hello":
        call.abort(StatusCode.INVALID_ARGUMENT, "the first message of a stream must be hello")
    return message.hello


def _parsed(raw: bytes) -> pb.AgentAdjust:
    try:
        return pb.AgentAdjust.FromString(raw)
    except DecodeError as error:
        text = f"message of {len(raw)} bytes is not a valid AgentAdjust: {error}"
        raise CallEnded(StatusCode.INVALID_ARGUMENT, text) from None
