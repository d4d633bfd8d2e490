"""One gRPC call as its handler sees it."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import NoReturn, Protocol

from flyball_collector.wire.client import ConnectedClient
from flyball_collector.wire.status import CallEnded, StatusCode

OnMessage = Callable[[bytes], bool]


class Connected(Protocol):
    """The connection that carries a call."""

    client: ConnectedClient

    def consumed(self, stream: int, size: int) -> None:
        """Note that a message was consumed, so that the peer may send more."""

    async def write(self, stream: int, message: bytes) -> None:
        """Send a message. Return when the peer and the kernel have accepted it."""

    def end(self, stream: int, code: StatusCode, message: str) -> None:
        """Send the status of a call that ended."""


class Call:
    """Reads and writes the messages of one call. Its task is cancelled when the peer cancels the call."""

    __slots__ = ("_finished", "_messages", "_on_message", "_peer", "_reader", "client", "stream", "task")

    def __init__(self, peer: Connected, stream: int) -> None:
        self._peer = peer
        self.stream = stream
        self.client = peer.client
        self.task: asyncio.Task[None] | None = None
        self._messages: deque[bytes] = deque()
        self._finished = False
        self._reader: asyncio.Future[None] | None = None
        self._on_message: OnMessage | None = None

    async def read(self, on_message: OnMessage | None = None) -> bytes | None:
        """Return the next message, or `None` when the peer has sent all of them.

        While this waits, each new message is passed to `on_message` first. If it returns True, it has consumed the
        message and the waiting task is not woken, which would cost more than handling most messages. An exception of
        `on_message` is raised here.
        """
        self._on_message = on_message
        while not self._messages:
            if self._finished:
                return None
            self._reader = asyncio.get_running_loop().create_future()
            try:
                await self._reader
            finally:
                self._reader = None
        message = self._messages.popleft()
        self._peer.consumed(self.stream, len(message))
        return message

    async def read_only_message(self) -> bytes:
        """Return the message of a method that takes exactly one. Another number of them ends the call."""
        message = await self.read()
        if message is None or await self.read() is not None:  # doc/statuscodes.md of grpc/grpc: UNIMPLEMENTED
            self.abort(StatusCode.UNIMPLEMENTED, "the method requires exactly one request message")
        return message

    async def write(self, message: bytes) -> None:
        """Send a message. Return when the peer has room for the next one."""
        await self._peer.write(self.stream, message)

    def abort(self, code: StatusCode, message: str) -> NoReturn:
        """End the call with a status."""
        raise CallEnded(code, message)

    def end(self, code: StatusCode, message: str) -> None:
        """End the call and break its reference cycle, because a whole fleet may disconnect at the same time."""
        self._peer.end(self.stream, code, message)
        self.task = self._on_message = None

    def deliver(self, message: bytes) -> None:
        """Pass a received message to the reader, or queue it."""
        if not self._consumed_by_callback(message):
            self._messages.append(message)
            self._wake()

    def finish(self) -> None:
        """Note that no more messages will come."""
        self._finished = True
        self._wake()

    def cancel(self) -> None:
        """Cancel the handler's task, because the peer no longer listens."""
        if self.task is not None:
            self.task.cancel()

    def _consumed_by_callback(self, message: bytes) -> bool:
        if self._on_message is None or self._reader is None or self._reader.done():
            return False
        try:
            consumed = self._on_message(message)
        except Exception as error:  # noqa: BLE001  the waiting reader raises it
            self._reader.set_exception(error)
            return True
        if consumed:
            self._peer.consumed(self.stream, len(message))
        return consumed

    def _wake(self) -> None:
        if self._reader is not None and not self._reader.done():
            self._reader.set_result(None)


Handler = Callable[[Call], Awaitable[None]]
