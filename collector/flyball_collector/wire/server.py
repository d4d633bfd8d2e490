"""Serves calls over many connections: one look at all sockets that are ready, then a pause in which messages gather.

A message a second and connection is the usual case. Asking the kernel once for some forty of them costs a fraction of
what forty wake-ups cost.
"""

import asyncio
import random
import select
import socket
import time
from collections.abc import Callable, Mapping, Sequence

import structlog

from flyball_collector.wire.call import Call, Handler
from flyball_collector.wire.acceptor import Contexts, Acceptor
from flyball_collector.wire.events import Limits
from flyball_collector.wire.timeouts import TIMEOUTS, Timeouts, enforce_timeouts
from flyball_collector.wire.peer import Peer
from flyball_collector.wire.status import CallEnded, StatusCode

_log = structlog.get_logger(__name__)

PAUSE_SECONDS = 0.05
AT_ONCE = 128  # connections a look: then others have their turn
AGE_SPREAD = 0.1  # of the most, either way: a fleet that came at once need not leave at once; gRPC's figure
_SPARE_CONNECTIONS = 1024  # beside those with a stream: health checks, newcomers


class Server:
    """`start`, then `stop`; both once, in one event loop."""

    def __init__(
        self,
        handlers: Mapping[str, Handler],
        limits: Limits,
        *,
        max_streams: int,
        max_age_seconds: float,
        contexts: Contexts | None = None,
        patience: Timeouts = TIMEOUTS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._handlers = handlers
        self._limits = limits
        self._max_connections = max_streams + _SPARE_CONNECTIONS
        self._max_age_seconds = max_age_seconds
        self._contexts = contexts
        self._patience = patience
        self._clock = clock
        self._epoll = select.epoll()
        self._peers: dict[int, Peer] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._doorway: Acceptor | None = None
        self._sweeper: asyncio.Task[None] | None = None
        self._stopped = False

    @property
    def connections(self) -> int:
        """How many are open."""
        return len(self._peers)

    @property
    def refused_handshakes(self) -> int:
        """Connections that never came to speak: no certificate of ours, no HTTP/2, or silence."""
        return self._doorway.refused if self._doorway is not None else 0

    def start(self, listeners: Sequence[socket.socket]) -> None:
        """Serve who comes; the listening sockets are the server's from now on."""
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._epoll.fileno(), self._look)
        self._doorway = Acceptor(listeners, self._contexts, self._arrive, self._max_connections)
        self._doorway.open()
        self._sweeper = asyncio.create_task(self._sweep(), name="wire-sweep")

    async def stop(self, grace_seconds: float) -> None:
        """Take no more calls, give those that are open some time, and close."""
        if self._doorway is None:
            self._epoll.close()
            return  # it never began
        await asyncio.to_thread(self._doorway.close)
        for peer in tuple(self._peers.values()):
            peer.leave("the server stops")
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=grace_seconds)
        for peer in tuple(self._peers.values()):
            peer.close("the server stops")
        if self._sweeper is not None:
            self._sweeper.cancel()
        deadline = self._clock() + min(grace_seconds, self._patience.farewell_seconds)
        while self._peers and self._clock() < deadline:
            await asyncio.sleep(0.01)
            self._look()
        self._stopped = True
        for peer in tuple(self._peers.values()):
            peer.lose()
        self._peers.clear()
        self._loop.remove_reader(self._epoll.fileno())
        self._epoll.close()

    # --- connections ---

    def _arrive(self, connected: socket.socket, names: frozenset[str]) -> None:
        """In the doorway's thread."""
        try:
            self._loop.call_soon_threadsafe(self._welcome, connected, names)
        except RuntimeError:  # the loop has ended
            connected.close()

    def _welcome(self, connected: socket.socket, names: frozenset[str]) -> None:
        if self._stopped:
            connected.close()
            return
        if len(self._peers) >= self._max_connections:
            self._make_room()
        age = self._max_age_seconds * random.uniform(1 - AGE_SPREAD, 1 + AGE_SPREAD)  # noqa: S311  no secret
        peer = Peer(connected, names, self._limits, self._epoll, self._begin, self._clock, age)
        self._peers[peer.fileno] = peer
        peer.ready()
        self._tidy(peer)

    def _make_room(self) -> None:
        """The oldest connection without a call goes, or the newcomer would never have one."""
        for peer in self._peers.values():
            if not peer.calls:
                peer.lose()
                self._tidy(peer)
                return

    def _look(self) -> None:
        """Take what has come. As long as there is more, no pause."""
        ready = self._epoll.poll(0, AT_ONCE)
        for fileno, _ in ready:
            peer = self._peers.get(fileno)
            if peer is not None:
                peer.ready()
                self._tidy(peer)
        if len(ready) < AT_ONCE and not self._stopped:
            self._loop.remove_reader(self._epoll.fileno())
            self._loop.call_later(PAUSE_SECONDS, self._resume)

    def _resume(self) -> None:
        if not self._stopped:
            self._loop.add_reader(self._epoll.fileno(), self._look)

    def _tidy(self, peer: Peer) -> None:
        if peer.lost and self._peers.get(peer.fileno) is peer:
            del self._peers[peer.fileno]

    # --- calls ---

    def _begin(self, call: Call, path: str) -> "asyncio.Task[None]":
        task = self._loop.create_task(self._serve(call, path), name=f"call {path[:80]}")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _serve(self, call: Call, path: str) -> None:
        """Whatever happens to a call, the other side is told, and others are not disturbed."""
        handler = self._handlers.get(path)
        code, message = StatusCode.OK, ""
        try:
            if handler is None:
                call.abort(StatusCode.UNIMPLEMENTED, f"there is no {path[:80]}")
            await handler(call)
        except CallEnded as ended:
            code, message = ended.code, ended.message
        except asyncio.CancelledError:
            code, message = StatusCode.CANCELLED, "the call was given up"
            raise
        except Exception as error:  # noqa: BLE001  a fault of ours ends its call alone, and is logged
            _log.exception("call_failed", path=path[:80])
            code, message = StatusCode.INTERNAL, f"a fault of the server: {type(error).__name__}"
        finally:
            call.end(code, message)

    # --- once a second ---

    async def _sweep(self) -> None:
        """Keep the living, let go of the dead."""
        due = self._clock()
        while True:
            due += 1.0
            await asyncio.sleep(max(0.0, due - self._clock()))
            now = self._clock()
            late, due = now - due > 1.0, max(due, now - 1.0)
            for peer in tuple(self._peers.values()):
                peer.rest()
                if not late:  # where the process stood still, what came meanwhile is not read yet: nobody is judged
                    enforce_timeouts(peer, now, self._patience)
                self._tidy(peer)
