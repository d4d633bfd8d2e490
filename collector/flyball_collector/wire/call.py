"""One call, as whoever serves it sees it."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import NoReturn, Protocol

from flyball_collector.wire.status import CallEnded, StatusCode

AtOnce = Callable[[bytes], bool]


class Connected(Protocol):
    """The connection that carries a call."""

    names: frozenset[str]

    def taken(self, stream: int, size: int) -> None:
        """Note that a message was taken, so that the other side may send more."""

    async def write(self, stream: int, message: bytes) -> None:
        """Send a message; return when the other side and the kernel have taken it."""

    def end(self, stream: int, code: StatusCode, message: str) -> None:
        """Send the status with which a call ended."""


class Call:
    """Reads and writes messages; its task is cancelled when the other side breaks off."""

    __slots__ = ("_at_once", "_finished", "_messages", "_peer", "_reader", "names", "stream", "task")

    def __init__(self, peer: Connected, stream: int) -> None:
        self._peer = peer
        self.stream = stream
        self.names = peer.names  # that the verified certificate of the other side stands for
        self.task: asyncio.Task[None] | None = None
        self._messages: deque[bytes] = deque()
        self._finished = False
        self._reader: asyncio.Future[None] | None = None
        self._at_once: AtOnce | None = None

    async def read(self, at_once: AtOnce | None = None) -> bytes | None:
        """The next message; `None` when the other side has said everything.

        What comes while this waits is shown to `at_once` first. Messages that it takes (it says so) wake nobody, which
        costs more than most messages; what it raises is raised here.
        """
        self._at_once = at_once
        while not self._messages:
            if self._finished:
                return None
            self._reader = asyncio.get_running_loop().create_future()
            try:
                await self._reader
            finally:
                self._reader = None
        message = self._messages.popleft()
        self._peer.taken(self.stream, len(message))
        return message

    async def write(self, message: bytes) -> None:
        """Send a message; returns when the other side has room for the next one."""
        await self._peer.write(self.stream, message)

    def abort(self, code: StatusCode, message: str) -> NoReturn:
        """End the call with a status."""
        raise CallEnded(code, message)

    def end(self, code: StatusCode, message: str) -> None:
        """It is over. What would keep it alive in a circle is let go: a fleet breaks off at once, now and then."""
        self._peer.end(self.stream, code, message)
        self.task = self._at_once = None

    def give(self, message: bytes) -> None:
        """A message came."""
        if not self._taken_at_once(message):
            self._messages.append(message)
            self._wake()

    def finish(self) -> None:
        """There will be no more."""
        self._finished = True
        self._wake()

    def break_off(self) -> None:
        """Nobody listens any more."""
        if self.task is not None:
            self.task.cancel()

    def _taken_at_once(self, message: bytes) -> bool:
        if self._at_once is None or self._reader is None or self._reader.done():
            return False
        try:
            taken = self._at_once(message)
        except Exception as error:  # noqa: BLE001  it is the reader's, who waits
            self._reader.set_exception(error)
            return True
        if taken:
            self._peer.taken(self.stream, len(message))
        return taken

    def _wake(self) -> None:
        if self._reader is not None and not self._reader.done():
            self._reader.set_result(None)


Handler = Callable[[Call], Awaitable[None]]
