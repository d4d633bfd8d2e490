"""A TCP proxy that delays: every byte arrives as much later as if the wire were longer, or the link narrower."""

import asyncio
import contextlib
from collections import deque
from dataclasses import dataclass, field

PIECE_BYTES = 64 * 1024
IN_FLIGHT_BYTES = 4 * 1024**2
"""As much as one direction of a connection may hold, like the window of a long wire."""


@dataclass(slots=True)
class Wire:
    """One direction of a wire, shared by all connections over it; may be changed at any time."""

    delay_seconds: float = 0.0
    bytes_per_second: float = 0.0  # 0: no limit
    free: float = 0.0  # when it has sent what it was given

    def sent(self, now: float, count: int) -> float:
        """Return when so many bytes have left, after those that were queued before."""
        self.free = max(now, self.free)
        if self.bytes_per_second:
            self.free += count / self.bytes_per_second
        return self.free


@dataclass(slots=True)
class Timetable:
    """The arrival times of a connection's pieces: in order, after the wire is free, plus its delay."""

    wire: Wire
    _last: float = 0.0

    def arrival(self, now: float, count: int) -> float:
        """Return when a piece of so many bytes arrives if it leaves now."""
        self._last = max(self._last, self.wire.sent(now, count) + self.wire.delay_seconds)
        return self._last


@dataclass(slots=True)
class DelayProxy:
    """Forwards connections to a port of this host: over one wire there, over the other back."""

    target_port: int
    there: Wire = field(default_factory=Wire)
    back: Wire = field(default_factory=Wire)
    port: int = 0
    _server: asyncio.Server | None = None
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)

    async def start(self) -> None:
        """Listen on a free port."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, limit=PIECE_BYTES)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        """Close everything."""
        if self._server is not None:
            self._server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, near: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            far, forth = await asyncio.open_connection("127.0.0.1", self.target_port, limit=PIECE_BYTES)
            with contextlib.closing(forth), contextlib.closing(back):
                async with asyncio.TaskGroup() as group:
                    group.create_task(self._carry(near, forth, self.there))
                    group.create_task(self._carry(far, back, self.back))
        except* (OSError, asyncio.CancelledError):
            back.close()
        finally:
            self._tasks.discard(task)

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, wire: Wire) -> None:
        """Carry one direction: one task reads, the other writes each piece when it has arrived."""
        travelling: deque[tuple[float, bytes]] = deque()
        changed = asyncio.Condition()
        timetable = Timetable(wire)

        async def take() -> None:
            loop = asyncio.get_running_loop()
            while piece := await reader.read(PIECE_BYTES):
                async with changed:
                    await changed.wait_for(lambda: sum(len(one) for _, one in travelling) < IN_FLIGHT_BYTES)
                    travelling.append((timetable.arrival(loop.time(), len(piece)), piece))
                    changed.notify_all()
            async with changed:
                travelling.append((timetable.arrival(loop.time(), 0), b""))
                changed.notify_all()

        async def hand_over() -> None:
            loop = asyncio.get_running_loop()
            while True:
                async with changed:
                    await changed.wait_for(lambda: bool(travelling))
                due, piece = travelling[0]
                if due > loop.time():
                    await asyncio.sleep(due - loop.time())
                async with changed:
                    travelling.popleft()
                    changed.notify_all()
                if not piece:
                    if writer.can_write_eof():
                        writer.write_eof()
                    return
                writer.write(piece)
                await writer.drain()

        async with asyncio.TaskGroup() as group:
            group.create_task(take())
            group.create_task(hand_over())
