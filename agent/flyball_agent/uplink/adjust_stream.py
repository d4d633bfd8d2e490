"""The stream for adjustments: beside the one for records, on the same channel, if the settings allow adjustments."""

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any

import grpc
import structlog
from grpc import aio

from flyball_agent.adjustments.desk import AdjustmentDesk
from flyball_agent.uplink.failure_reason import failure_reason
from flyball_proto.v1 import adjust_pb2 as adjust

_log = structlog.get_logger(__name__)

METHOD = "/flyball.v1.Adjust/Connect"
WELCOME_SECONDS = 10.0
UNWILLING_SECONDS = 300.0
"""A collector that does not allow or know adjustments is asked again after this time."""

FIRST_WAIT_SECONDS = 1.0
LONGEST_WAIT_SECONDS = 30.0
STEADY_SECONDS = 10.0
"""A stream that lasted this long counts as stable: the next one follows soon."""

BATCH_SECONDS = 0.05
BATCH_MESSAGES = 50
"""At most 1,000 messages a second, whatever the processes do: a collector ends connections with too many small ones,
and the records use the same one."""

_EOF: Any = aio.EOF  # type: ignore[attr-defined]  # missing in the published stubs
_UNWILLING = frozenset({grpc.StatusCode.PERMISSION_DENIED, grpc.StatusCode.UNIMPLEMENTED})


class AdjustStreamFailed(Exception):
    """The collector violated the protocol, or may no longer act."""


class AdjustLink:
    """Keeps a stream open while a channel to a collector is. What it remembers outlives the channel."""

    def __init__(
        self,
        desk: AdjustmentDesk,
        host: str,
        version: str,
        epoch: Callable[[], bytes],
        *,
        unwilling_seconds: float = UNWILLING_SECONDS,
        first_wait_seconds: float = FIRST_WAIT_SECONDS,
    ) -> None:
        self.state = "off"
        self._desk = desk
        self._host = host
        self._version = version
        self._epoch = epoch
        self._unwilling_seconds = unwilling_seconds
        self._not_before = 0.0
        self._last_failure = ""
        self._first_wait_seconds = self._wait_seconds = first_wait_seconds

    async def run(self, channel: aio.Channel, address: str) -> None:
        """Keep a stream open until cancelled. A collector that was unwilling may have new settings on a new channel."""
        loop = asyncio.get_running_loop()
        self._not_before = min(self._not_before, loop.time() + self._wait_seconds)
        while True:
            changed = self._desk.changed
            if not self._desk.enabled:
                self.state, self._not_before = "off", 0.0
                await changed.wait()
                continue
            if (wait_seconds := self._not_before - loop.time()) > 0:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(changed.wait(), wait_seconds)
                continue
            started = loop.time()
            await self._run_stream(channel, address, changed)
            if loop.time() - started >= STEADY_SECONDS:
                self._wait_seconds = self._first_wait_seconds
            self._not_before = max(self._not_before, loop.time() + self._wait_seconds)
            self._wait_seconds = min(LONGEST_WAIT_SECONDS, 2 * self._wait_seconds)

    async def _run_stream(self, channel: aio.Channel, address: str, changed: asyncio.Event) -> None:
        """Run one stream until it ends, or until adjustments are switched off."""
        connect: Any = channel.stream_stream  # according to the published stubs serializers are required
        call = connect(
            METHOD,
            request_serializer=adjust.AgentAdjust.SerializeToString,
            response_deserializer=adjust.CollectorAdjust.FromString,
        )()
        running = asyncio.create_task(self._converse(call, address), name="adjust-stream")
        off = asyncio.create_task(changed.wait(), name="adjust-switched")
        try:
            await asyncio.wait([running, off], return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._desk.outbox.end_stream()
            off.cancel()
            running.cancel()
            call.cancel()
            await asyncio.wait([running, off])
        if not running.cancelled() and (error := running.exception()) is not None:
            self._failed(address, error)

    async def _converse(self, call: Any, address: str) -> None:
        hello = adjust.AdjustHello(
            host=self._host, epoch=self._epoch(), agent_version=self._version, term=self._desk.term
        )
        await _write(call, adjust.AgentAdjust(hello=hello))
        await self._receive_welcome(call)
        self.state, self._last_failure = "on", ""
        _log.info("adjustments_connected", collector=address)
        async with asyncio.TaskGroup() as group:
            receiving = group.create_task(self._receive(call), name="adjust-receive")
            sending = group.create_task(self._send(call), name="adjust-send")
            receiving.add_done_callback(lambda _: sending.cancel())
            sending.add_done_callback(lambda _: receiving.cancel())

    async def _receive_welcome(self, call: Any) -> None:
        try:
            async with asyncio.timeout(WELCOME_SECONDS):
                message = await call.read()
        except TimeoutError:
            raise AdjustStreamFailed(f"no welcome within {WELCOME_SECONDS:g} s") from None
        if message is _EOF:
            raise await _ending(call)
        if not message.HasField("welcome"):
            raise AdjustStreamFailed("the collector's first message is not a welcome")
        if not self._desk.take_welcome(message.welcome):
            what = f"term {message.welcome.term} of this collector is older than {self._desk.term}"
            raise AdjustStreamFailed(f"{what}: another collector acts")

    async def _receive(self, call: Any) -> None:
        while (message := await call.read()) is not _EOF:
            self._desk.take(message)
        raise await _ending(call)

    async def _send(self, call: Any) -> None:
        """Send what the desk has: the first message at once, then a few together."""
        waiting = asyncio.Event()
        self._desk.begin_stream(waiting.set)
        while True:
            await waiting.wait()
            waiting.clear()
            while messages := self._desk.outbox.take(BATCH_MESSAGES):
                for message in messages:
                    await _write(call, message)
                await asyncio.sleep(BATCH_SECONDS)

    def _failed(self, address: str, error: BaseException) -> None:
        """Log the first failure of a kind. An unwilling collector is asked again much later."""
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        code, reason = _status_of(error)
        self.state = reason
        if code in _UNWILLING:
            self._not_before = asyncio.get_running_loop().time() + self._unwilling_seconds
        if reason != self._last_failure:
            _log.warning("adjustments_unavailable", collector=address, reason=reason)
        self._last_failure = reason


def _status_of(error: BaseException) -> tuple[grpc.StatusCode | None, str]:
    if isinstance(error, aio.AioRpcError):
        code, details = error.code(), error.details() or ""
        if code is grpc.StatusCode.UNIMPLEMENTED:
            details = "the collector does not know adjustments; update it"
        return code, failure_reason(code.name, details)
    if not isinstance(error, AdjustStreamFailed):
        _log.error("adjust_stream_failed", exc_info=error)
        return None, f"internal error of the agent: {type(error).__name__}: {error}"[:200]
    return None, str(error)


async def _ending(call: Any) -> Exception:
    """Return why the call has ended."""
    code, details = await call.code(), await call.details()
    return aio.AioRpcError(code, aio.Metadata(), aio.Metadata(), details, None)


async def _write(call: Any, message: adjust.AgentAdjust) -> None:
    try:
        await call.write(message)
    except asyncio.InvalidStateError:  # the call has ended meanwhile
        raise await _ending(call) from None
