"""One connection with its socket: non-blocking reads and writes, and an orderly close."""

import asyncio
import select
from collections.abc import Callable
from contextlib import suppress

from flyball_collector.wire.call import Call
from flyball_collector.wire.client import ConnectedClient
from flyball_collector.wire.connection import Connection
from flyball_collector.wire.events import Broken, Cancelled, Event, Finished, Limits, Opened, Received
from flyball_collector.wire.frames import ErrorCode
from flyball_collector.wire.status import CallEnded, StatusCode
from flyball_collector.wire.transport import READ_BYTES, Transport

FULL_BYTES = 64 * 1024  # unsent bytes at which reading pauses
_FAREWELL_BYTES = 1024 * 1024  # discarded after we have closed: a client may have filled its windows before it knows
_STEADY_SECONDS = 0.075  # a peer that sends again within this time, more than a pause of the server, may be busy
_STEADY_READS = 4  # in a row: then it is, and an agent that sends once a second is not
_BUSY_BYTES = READ_BYTES // 4  # at once: more than an agent sends in a second

Begin = Callable[[Call, str], "asyncio.Task[None]"]


class Peer:
    """A connection in the event loop. The server watches its socket and calls `ready`."""

    def __init__(
        self,
        transport: Transport,
        client: ConnectedClient,
        limits: Limits,
        epoll: select.epoll,
        begin: Begin,
        clock: Callable[[], float],
        max_age_seconds: float,
    ) -> None:
        self._transport = transport
        self.fileno = transport.fileno
        self.client = client
        self._connection = Connection(limits)
        self._epoll = epoll
        self._begin = begin
        self._clock = clock
        self._calls: dict[int, Call] = {}
        self._writers: list[asyncio.Future[None]] = []
        self._watched = select.EPOLLIN
        self._reading = False
        self._steady_reads = 0
        self.busy_sending = False  # it will probably send more very soon
        self.born = self.heard = self.flushed = self.busy = clock()
        self.leaves = self.born + max_age_seconds
        self.pinged: float | None = None  # when an unanswered ping was sent
        self._discarded = 0  # bytes, while it waits for the peer to close
        self.closing: float | None = None  # when it began to wait for the peer to close
        self.lost = False
        self.excessive = False  # it was ended because it caused too much work
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
        return bool(self._connection.outgoing or self._transport.unsent)

    def ready(self) -> None:
        """Read once and write what the kernel allows. What is left to read is for the next call."""
        if self._watched & select.EPOLLIN:
            self._reading = True
            try:
                self._read()
            finally:
                self._reading = False
        if not self.lost:
            self.flush()

    @property
    def more(self) -> bool:
        """Return True if the last read probably left bytes behind."""
        return self._transport.more and not self.lost

    def consumed(self, stream: int, size: int) -> None:
        """Note that a message was consumed. The client may wait for the room that this makes."""
        self._connection.consumed(stream, size)
        if not self._reading and self._connection.outgoing:
            self.flush()

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
        self._connection.start_second()
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
        self._transport.close()
        for call in self._calls.values():
            call.cancel()
        self._calls.clear()
        self._wake_writers()

    def flush(self) -> None:
        """Write the outgoing bytes as far as the kernel accepts them."""
        if (self.stuck or self.closing is not None) and not self.lost:
            self._write()
        elif self._watched == select.EPOLLIN and not self._writers:
            return
        if not self.lost:
            full = len(self._connection.outgoing) > FULL_BYTES or self._discarded > _FAREWELL_BYTES
            self._watch((0 if full else select.EPOLLIN) | (select.EPOLLOUT if self.stuck else 0))
        self._wake_writers()

    def _write(self) -> None:
        outgoing = self._connection.outgoing
        try:
            if self._transport.send(outgoing):
                self.flushed = self._clock()
            if self.closing is not None and not outgoing:
                self._transport.finish()
        except OSError:
            self.lose()

    def _read(self) -> None:
        self.busy_sending = False
        try:
            data = self._transport.receive()
        except OSError:
            self.lose()
            return
        if data:
            self._note_heard(len(data))
            if self.closing is not None:
                self._discarded += len(data)
            else:
                for event in self._connection.receive(data):
                    self._handle(event)
        if self._transport.ended:
            self.lose()

    def _note_heard(self, size: int) -> None:
        now = self._clock()
        self._steady_reads = self._steady_reads + 1 if now - self.heard < _STEADY_SECONDS else 0
        self.busy_sending = size >= _BUSY_BYTES or self._steady_reads >= _STEADY_READS
        self.heard = now

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
            self.excessive = event.code is ErrorCode.ENHANCE_YOUR_CALM
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
