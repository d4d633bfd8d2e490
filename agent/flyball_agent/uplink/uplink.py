"""Keeps a stream to one of the collectors open, for as long as the agent lives."""

import asyncio
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import grpc
import grpc.aio
import structlog

from flyball_agent.record import Tick
from flyball_agent.settings import TlsSettings
from flyball_agent.uplink.channel import METHOD, open_channel
from flyball_agent.uplink.stream import GOODBYE_SECONDS, Self, Stream, StreamFailed
from flyball_proto.v1 import telemetry_pb2 as pb

_log = structlog.get_logger(__name__)

FIRST_BACKOFF_SECONDS = 0.5
STEADY_SECONDS = 10.0
"""A stream that lived this long was no flapping one: the next attempt is made at once."""


@dataclass(frozen=True, slots=True)
class UplinkSettings:
    """What of the agent's settings concerns the uplink; may be replaced while it runs."""

    collectors: Sequence[str]
    tls: TlsSettings
    compression: bool = False
    max_backoff_seconds: float = 10.0


def backoff_seconds(attempt: int, longest: float, chance: float) -> float:
    """Full jitter: anywhere between nothing and a bound that doubles with each attempt in vain."""
    return chance * min(longest, FIRST_BACKOFF_SECONDS * 2.0 ** min(attempt, 16))


class Uplink:
    """Connects, speaks, and connects again."""

    def __init__(self, settings: UplinkSettings, me: Self, *, chance: Callable[[], float] = random.random) -> None:
        self.settings = settings
        self._me = me
        self._chance = chance
        self._stream: Stream | None = None
        self._again = asyncio.Event()
        self._last_failure = ""
        self._failures = 0
        self.state = "not connected yet"

    def offer(self, epoch: bytes, tick: Tick) -> None:
        """Called in the sampler's thread with each new record; never blocks, keeps nothing without a stream."""
        stream = self._stream
        live = stream.live if stream is not None else None
        if live is not None and live.epoch == epoch:
            live.put(tick)

    def set_inventory(self, inventory: pb.Inventory) -> None:
        """What the host is; sent now and at the beginning of each stream."""
        if inventory != self._me.inventory:
            self._me.inventory = inventory
            self._me.inventory_version += 1
            if self._stream is not None:
                self._stream.wake()

    def reconnect(self) -> None:
        """End the stream and begin anew: other settings, or another epoch."""
        self._again.set()

    async def run(self, stop: asyncio.Event) -> None:
        """Until told to stop."""
        attempt = turn = 0
        loop = asyncio.get_running_loop()
        while not stop.is_set():
            self._again.clear()
            addresses = self.settings.collectors
            address = addresses[turn % len(addresses)]
            turn += 1
            started = loop.time()
            await self._speak(address, stop)
            attempt = 0 if loop.time() - started >= STEADY_SECONDS or self._again.is_set() else attempt + 1
            delay = backoff_seconds(attempt, self.settings.max_backoff_seconds, self._chance())
            await first_of(stop, self._again, timeout_seconds=delay)

    async def _speak(self, address: str, stop: asyncio.Event) -> None:
        """One connection, from opening to closing."""
        try:
            channel = open_channel(address, self.settings.tls, compression=self.settings.compression)
        except OSError as error:
            self._failed(address, f"certificate files: {error}")
            return
        connect: Any = channel.stream_stream  # the published stubs do not know that serializers may be left out
        call = connect(METHOD, response_deserializer=pb.CollectorMessage.FromString)()
        self._stream = stream = Stream(call, self._me, stop)
        speaking = asyncio.create_task(stream.run(), name="uplink-stream")
        watching = asyncio.create_task(self._watch(stream, address), name="uplink-watch")
        try:
            await self._until_end(speaking, stop)
        finally:
            self._stream = None
            self._me.self_metrics.connected = False
            watching.cancel()
            speaking.cancel()
            call.cancel()
            await asyncio.wait([speaking, watching])
            await channel.close(None)
        self._report(address, speaking)

    async def _until_end(self, speaking: asyncio.Task[None], stop: asyncio.Event) -> None:
        asked = asyncio.create_task(first_of(stop, self._again), name="uplink-asked")
        try:
            await asyncio.wait([speaking, asked], return_when=asyncio.FIRST_COMPLETED)
            if stop.is_set() and self._stream is not None and self._stream.welcome.is_set():
                self._stream.wake()
                await asyncio.wait([speaking], timeout=GOODBYE_SECONDS + 0.3)
        finally:
            asked.cancel()

    async def _watch(self, stream: Stream, address: str) -> None:
        """Say once that a collector listens."""
        await stream.welcome.wait()
        self._me.self_metrics.connected = True
        self._me.self_metrics.connections += 1
        self.state = f"connected to {address}"
        _log.info("connected", collector=address, attempts_failed=self._failures)
        self._last_failure, self._failures = "", 0

    def _report(self, address: str, speaking: asyncio.Task[None]) -> None:
        error = None if speaking.cancelled() else speaking.exception()
        if error is not None:
            self._failed(address, self._words(error))
        elif not self._again.is_set():
            self.state = f"{address} ended the stream"

    def _failed(self, address: str, reason: str) -> None:
        """The first failure of a kind is said, its repetitions are counted."""
        self._failures += 1
        self.state = f"{address}: {reason}"
        if reason != self._last_failure:
            _log.warning("collector_unreachable", collector=address, reason=reason)
        self._last_failure = reason

    def _words(self, error: BaseException) -> str:
        """Why a stream ended. A fault of our own ends the stream too, loudly, but never the agent."""
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        if isinstance(error, grpc.aio.AioRpcError):
            return f"{error.code().name}: {error.details()}"[:200]
        if not isinstance(error, StreamFailed):
            _log.error("stream_fault", exc_info=error)
            return f"fault of the agent: {type(error).__name__}: {error}"[:200]
        return str(error)


async def set_within(event: asyncio.Event, seconds: float) -> bool:
    """Wait until the event is set, or time is up; cheaper than `first_of`, because it makes no task."""
    try:
        async with asyncio.timeout(seconds):
            return await event.wait()
    except TimeoutError:
        return False


async def first_of(*events: asyncio.Event, timeout_seconds: float | None = None) -> None:
    """Wait until one of the events is set, or time is up."""
    waits = [asyncio.create_task(event.wait()) for event in events]
    try:
        await asyncio.wait(waits, timeout=timeout_seconds, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()
