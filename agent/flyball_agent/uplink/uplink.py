"""Keeps a stream to one of the collectors open."""

import asyncio
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import grpc
import grpc.aio
import structlog

from flyball_agent.record import TickRecord
from flyball_agent.settings import TlsSettings
from flyball_agent.uplink.adjust_stream import AdjustLink
from flyball_agent.uplink.channel import METHOD, open_channel
from flyball_agent.uplink.failure_reason import failure_reason
from flyball_agent.uplink.stream import GOODBYE_SECONDS, AgentState, StreamFailed, UplinkStream
from flyball_proto.v1 import telemetry_pb2 as pb

_log = structlog.get_logger(__name__)

FIRST_BACKOFF_SECONDS = 0.5
STEADY_SECONDS = 10.0
"""A stream that lasted this long counts as stable: after its end, the next attempt starts at once."""


@dataclass(frozen=True, slots=True)
class UplinkSettings:
    """The settings of the uplink. They may be replaced while it runs."""

    collectors: Sequence[str]
    tls: TlsSettings
    compression: bool = False
    max_backoff_seconds: float = 10.0


def backoff_seconds(attempt: int, longest: float, chance: float) -> float:
    """Return a wait with full jitter: between zero and a limit that doubles with each failed attempt."""
    return chance * min(longest, FIRST_BACKOFF_SECONDS * 2.0 ** min(attempt, 16))


class Uplink:
    """Connects to a collector, runs the stream, and connects again."""

    def __init__(
        self,
        settings: UplinkSettings,
        agent: AgentState,
        *,
        chance: Callable[[], float] = random.random,
        adjust: AdjustLink | None = None,
    ) -> None:
        self.settings = settings
        self._agent = agent
        self._adjust = adjust
        self._chance = chance
        self._stream: UplinkStream | None = None
        self._again = asyncio.Event()
        self._last_failure = ""
        self._failures = 0
        self.state = "not connected yet"

    def offer(self, epoch: bytes, tick: TickRecord) -> None:
        """Queue a new record if a stream is open; called in the writer's thread, never blocks."""
        stream = self._stream
        live = stream.live if stream is not None else None
        if live is not None and live.epoch == epoch:
            live.put(tick)

    def set_inventory(self, inventory: pb.Inventory) -> None:
        """Set the inventory. It is sent now and at the start of each stream."""
        if inventory != self._agent.inventory:
            self._agent.inventory = inventory
            self._agent.inventory_version += 1
            if self._stream is not None:
                self._stream.wake()

    def reconnect(self) -> None:
        """End the stream and connect again, because of new settings or a new epoch."""
        self._again.set()

    async def run(self, stop: asyncio.Event) -> None:
        """Keep a stream open until `stop` is set."""
        attempt = connections = 0
        loop = asyncio.get_running_loop()
        while not stop.is_set():
            self._again.clear()
            addresses = self.settings.collectors
            address = addresses[connections % len(addresses)]
            connections += 1
            started = loop.time()
            await self._run_stream(address, stop)
            attempt = 0 if loop.time() - started >= STEADY_SECONDS or self._again.is_set() else attempt + 1
            delay = backoff_seconds(attempt, self.settings.max_backoff_seconds, self._chance())
            await first_of(stop, self._again, timeout_seconds=delay)

    async def _run_stream(self, address: str, stop: asyncio.Event) -> None:
        """Open a channel, run one stream and close the channel."""
        try:
            channel = open_channel(address, self.settings.tls, compression=self.settings.compression)
        except OSError as error:
            self._failed(address, f"certificate files: {error}")
            return
        connect: Any = channel.stream_stream  # according to the published stubs serializers are required
        call = connect(METHOD, response_deserializer=pb.CollectorMessage.FromString)()
        self._stream = stream = UplinkStream(call, self._agent, stop)
        running = asyncio.create_task(stream.run(), name="uplink-stream")
        watcher = asyncio.create_task(self._watch(stream, address), name="uplink-watch")
        adjusting = asyncio.create_task(self._keep_adjusting(stream, channel, address), name="adjust-link")
        try:
            await self._until_end(running, stop)
        finally:
            self._stream = None
            self._agent.self_metrics.connected = False
            watcher.cancel()
            adjusting.cancel()
            running.cancel()
            call.cancel()
            await asyncio.wait([running, watcher, adjusting])
            await channel.close(None)
        if not adjusting.cancelled() and (fault := adjusting.exception()) is not None:
            _log.error("adjust_link_failed", exc_info=fault)
        self._report(address, running)

    async def _until_end(self, running: asyncio.Task[None], stop: asyncio.Event) -> None:
        interrupted = asyncio.create_task(first_of(stop, self._again), name="uplink-interrupted")
        try:
            await asyncio.wait([running, interrupted], return_when=asyncio.FIRST_COMPLETED)
            if stop.is_set() and self._stream is not None and self._stream.welcome.is_set():
                self._stream.wake()
                await asyncio.wait([running], timeout=GOODBYE_SECONDS + 0.3)
        finally:
            interrupted.cancel()

    async def _watch(self, stream: UplinkStream, address: str) -> None:
        """Log the connection when the collector has sent its welcome."""
        await stream.welcome.wait()
        self._agent.self_metrics.connected = True
        self._agent.self_metrics.connections += 1
        self.state = f"connected to {address}"
        _log.info("connected", collector=address, attempts_failed=self._failures)
        self._last_failure, self._failures = "", 0

    async def _keep_adjusting(self, stream: UplinkStream, channel: grpc.aio.Channel, address: str) -> None:
        """Keep the stream for adjustments open, once the collector has accepted this agent."""
        if self._adjust is not None:
            await stream.welcome.wait()
            await self._adjust.run(channel, address)

    def _report(self, address: str, running: asyncio.Task[None]) -> None:
        error = None if running.cancelled() else running.exception()
        if error is not None:
            self._failed(address, self._reason(error))
        elif not self._again.is_set():
            self.state = f"{address} ended the stream"

    def _failed(self, address: str, reason: str) -> None:
        """Log the first failure of a kind and count its repetitions."""
        self._failures += 1
        self.state = f"{address}: {reason}"
        if reason != self._last_failure:
            _log.warning("collector_unreachable", collector=address, reason=reason)
        self._last_failure = reason

    def _reason(self, error: BaseException) -> str:
        """Return why a stream ended. An internal error is logged; it ends the stream but never the agent."""
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        if isinstance(error, grpc.aio.AioRpcError):
            return failure_reason(error.code().name, error.details() or "")
        if not isinstance(error, StreamFailed):
            _log.error("stream_failed", exc_info=error)
            return f"internal error of the agent: {type(error).__name__}: {error}"[:200]
        return str(error)


async def set_within(event: asyncio.Event, seconds: float) -> bool:
    """Wait until the event is set or the time is over. It creates no task and so is cheaper than `first_of`."""
    try:
        async with asyncio.timeout(seconds):
            return await event.wait()
    except TimeoutError:
        return False


async def first_of(*events: asyncio.Event, timeout_seconds: float | None = None) -> None:
    """Wait until one of the events is set or the time is over."""
    waits = [asyncio.create_task(event.wait()) for event in events]
    try:
        await asyncio.wait(waits, timeout=timeout_seconds, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()
