"""One connection with its socket: reads when there is something, writes what it can, ends in order."""

import asyncio
import select
import socket
import ssl
from collections.abc import Callable
from contextlib import suppress

from flyball_collector.wire.call import Call
from flyball_collector.wire.connection import Connection
from flyball_collector.wire.events import Broken, Cancelled, Event, Finished, Limits, Opened, Received
from flyball_collector.wire.status import CallEnded, StatusCode

READ_BYTES = 16_384  # a record of TLS: more never comes at once
READS = 8  # at a time: others wait
FULL_BYTES = 64 * 1024  # of answers that the kernel did not take: nothing more is read before it does
_AGAIN = (BlockingIOError, InterruptedError, ssl.SSLWantReadError, ssl.SSLWantWriteError)

Begin = Callable[[Call, str], "asyncio.Task[None]"]


class Peer:
    """Lives in the event loop; the server watches its socket and calls `ready`."""

    def __init__(
        self,
        connected: socket.socket,
        names: frozenset[str],
        limits: Limits,
        epoll: select.epoll,
        begin: Begin,
        clock: Callable[[], float],
        max_age_seconds: float,
    ) -> None:
        self._socket = connected
        self.fileno = connected.fileno()
        self.names = names
        self._connection = Connection(limits)
        self._epoll = epoll
        self._begin = begin
        self._clock = clock
        self._calls: dict[int, Call] = {}
        self._writers: list[asyncio.Future[None]] = []
        self._watched = select.EPOLLIN
        self.born = self.heard = self.flushed = self.busy = clock()
        self.leaves = self.born + max_age_seconds
        self.asked: float | None = None  # since when a ping waits for its answer
        self.closing: float | None = None  # since when it only waits for the other side to close
        self.lost = False
        epoll.register(self.fileno, self._watched)

    @property
    def calls(self) -> int:
        """Calls that are open."""
        return len(self._calls)

    @property
    def greeted(self) -> bool:
        """Whether it has spoken HTTP/2."""
        return self._connection.greeted

    @property
    def stuck(self) -> bool:
        """Whether answers wait that the kernel did not take."""
        return bool(self._connection.outgoing)

    def ready(self) -> None:
        """The kernel has something for us, or room."""
        if self._watched & select.EPOLLIN:
            self._read()
        if not self.lost:
            self.flush()

    def taken(self, stream: int, size: int) -> None:
        """A message was taken."""
        self._connection.taken(stream, size)

    async def write(self, stream: int, message: bytes) -> None:
        """Send a message; returns once the other side and the kernel took it."""
        self._connection.send(stream, message)
        self.flush()
        while not self.lost and (self._connection.unsent(stream) or len(self._connection.outgoing) > FULL_BYTES):
            writer = asyncio.get_running_loop().create_future()
            self._writers.append(writer)
            await writer
        if self.lost:
            raise CallEnded(StatusCode.UNAVAILABLE, "the connection is lost")

    def end(self, stream: int, code: StatusCode, message: str) -> None:
        """Say how a call ended."""
        if self._calls.pop(stream, None) is not None and not self.lost:
            self._connection.end(stream, code, message)
            self.busy = self._clock()
            self.flush()

    def ask(self) -> None:
        """Ask whether anybody is there."""
        self.asked = self._clock()
        self._connection.ping()
        self.flush()

    def rest(self) -> None:
        """A second has passed."""
        self._connection.rest()
        if self.asked is not None and self.heard >= self.asked:
            self.asked = None

    def leave(self, reason: str) -> None:
        """Take no more calls."""
        self._connection.leave(reason)
        self.flush()

    def close(self, reason: str) -> None:
        """End what is open, and wait for the other side to close: a reset would take back what it was told last."""
        if self.closing is not None or self.lost:
            return
        self.closing = self._clock()
        for call in tuple(self._calls.values()):
            self._connection.end(call.stream, StatusCode.UNAVAILABLE, reason)
            call.break_off()
        self._calls.clear()
        self._connection.leave(reason)
        self.flush()

    def lose(self) -> None:
        """The connection is gone."""
        if self.lost:
            return
        self.lost = True
        with suppress(OSError):
            self._epoll.unregister(self.fileno)
        self._socket.close()
        for call in self._calls.values():
            call.break_off()
        self._calls.clear()
        self._wake_writers()

    def flush(self) -> None:
        """Give the kernel what waits."""
        outgoing = self._connection.outgoing
        if (outgoing or self.closing is not None) and not self.lost:
            self._write(outgoing)
        elif self._watched == select.EPOLLIN and not self._writers:
            return
        if not self.lost:
            self._watch((select.EPOLLIN if len(outgoing) <= FULL_BYTES else 0) | (select.EPOLLOUT if outgoing else 0))
        self._wake_writers()

    def _write(self, outgoing: bytearray) -> None:
        try:
            while outgoing:
                sent = self._socket.send(outgoing)
                del outgoing[:sent]
                self.flushed = self._clock()
            if self.closing is not None:
                self._socket.shutdown(socket.SHUT_WR)
        except _AGAIN:
            pass
        except OSError:
            self.lose()

    def _read(self) -> None:
        for _ in range(READS):
            try:
                data = self._socket.recv(READ_BYTES)
            except _AGAIN:
                return
            except OSError:
                data = b""
            if not data:
                self.lose()
                return
            self.heard = self._clock()
            if self.closing is None:
                for event in self._connection.receive(data):
                    self._take(event)
            if len(data) < READ_BYTES:
                return

    def _take(self, event: Event) -> None:
        if isinstance(event, Received):
            self._calls[event.stream].give(event.message)
        elif isinstance(event, Opened):
            call = self._calls[event.stream] = Call(self, event.stream)
            call.task = self._begin(call, event.request.path)
        elif isinstance(event, Finished):
            self._calls[event.stream].finish()
        elif isinstance(event, Cancelled):
            self.busy = self._clock()
            self._calls.pop(event.stream).break_off()
        elif isinstance(event, Broken):
            self.close(event.reason)

    def _watch(self, events: int) -> None:
        if events != self._watched:
            self._watched = events
            self._epoll.modify(self.fileno, events)

    def _wake_writers(self) -> None:
        writers, self._writers = self._writers, []
        for writer in writers:
            if not writer.done():
                writer.set_result(None)
