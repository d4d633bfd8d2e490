"""One connection with its socket: non-blocking reads and writes, and an orderly close."""

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

READ_BYTES = 16_384  # one TLS record, the most that a read returns
READS = 8  # per call of `ready`, so that other connections are served
FULL_BYTES = 64 * 1024  # unsent bytes at which reading pauses
_AGAIN = (BlockingIOError, InterruptedError, ssl.SSLWantReadError, ssl.SSLWantWriteError)

Begin = Callable[[Call, str], "asyncio.Task[None]"]


class Peer:
    """A connection in the event loop. The server watches its socket and calls `ready`."""

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
        self.pinged: float | None = None  # when an unanswered ping was sent
        self.closing: float | None = None  # when it began to wait for the peer to close
        self.lost = False
        epoll.register(self.fileno, self._watched)

    @property
    def calls(self) -> int:
        """Return the number of open calls."""
        return len(self._calls)

    @property
    def greeted(self) -> bool:
        """Return True once the peer's HTTP/2 settings have arrived."""
        return self._connection.greeted

    @property
    def stuck(self) -> bool:
        """Return True while bytes wait that the kernel did not accept."""
        return bool(self._connection.outgoing)

    def ready(self) -> None:
        """Read and write what the kernel allows."""
        if self._watched & select.EPOLLIN:
            self._read()
        if not self.lost:
            self.flush()

    def consumed(self, stream: int, size: int) -> None:
        """Note that a message was consumed."""
        self._connection.consumed(stream, size)

    async def write(self, stream: int, message: bytes) -> None:
        """Send a message. Return once the peer and the kernel have accepted it."""
        self._connection.send(stream, message)
        self.flush()
        while not self.lost and (self._connection.unsent(stream) or len(self._connection.outgoing) > FULL_BYTES):
            writer = asyncio.get_running_loop().create_future()
            self._writers.append(writer)
            await writer
        if self.lost:
            raise CallEnded(StatusCode.UNAVAILABLE, "the connection is lost")

    def end(self, stream: int, code: StatusCode, message: str) -> None:
        """Send the status of a call that ended."""
        if self._calls.pop(stream, None) is not None and not self.lost:
            self._connection.end(stream, code, message)
            self.busy = self._clock()
            self.flush()

    def ping(self) -> None:
        """Send a ping to check that the peer is alive."""
        self.pinged = self._clock()
        self._connection.ping()
        self.flush()

    def every_second(self) -> None:
        """Reset the counter of idle frames, and forget a ping that was answered."""
        self._connection.reset_idle_frames()
        if self.pinged is not None and self.heard >= self.pinged:
            self.pinged = None

    def leave(self, reason: str) -> None:
        """Accept no more calls."""
        self._connection.leave(reason)
        self.flush()

    def close(self, reason: str) -> None:
        """End all calls, and wait for the peer to close: a TCP reset could discard the last bytes sent."""
        if self.closing is not None or self.lost:
            return
        self.closing = self._clock()
        for call in tuple(self._calls.values()):
            self._connection.end(call.stream, StatusCode.UNAVAILABLE, reason)
            call.cancel()
        self._calls.clear()
        self._connection.leave(reason)
        self.flush()

    def lose(self) -> None:
        """Close the socket and cancel all calls."""
        if self.lost:
            return
        self.lost = True
        with suppress(OSError):
            self._epoll.unregister(self.fileno)
        self._socket.close()
        for call in self._calls.values():
            call.cancel()
        self._calls.clear()
        self._wake_writers()

    def flush(self) -> None:
        """Write the outgoing bytes as far as the kernel accepts them."""
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
                    self._handle(event)
            if len(data) < READ_BYTES:
                return

    def _handle(self, event: Event) -> None:
        if isinstance(event, Received):
            self._calls[event.stream].deliver(event.message)
        elif isinstance(event, Opened):
            call = self._calls[event.stream] = Call(self, event.stream)
            call.task = self._begin(call, event.request.path)
        elif isinstance(event, Finished):
            self._calls[event.stream].finish()
        elif isinstance(event, Cancelled):
            self.busy = self._clock()
            self._calls.pop(event.stream).cancel()
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
