"""The gRPC server: polls the sockets of all connections together, then pauses while messages accumulate.

Each connection usually sends one message a second. One poll for some forty of them costs a fraction of forty wake-ups.
"""

import asyncio
import random
import select
import socket
import time
from collections.abc import Callable, Mapping, Sequence

import structlog

from flyball_collector.wire.acceptor import Acceptor, Contexts
from flyball_collector.wire.call import Call, Handler
from flyball_collector.wire.events import Limits
from flyball_collector.wire.peer import Peer
from flyball_collector.wire.status import CallEnded, StatusCode
from flyball_collector.wire.timeouts import TIMEOUTS, Timeouts, enforce_timeouts

_log = structlog.get_logger(__name__)

PAUSE_SECONDS = 0.05
POLL_EVENTS = 128  # ready connections per poll; then the event loop runs other tasks
AGE_SPREAD = 0.1  # random share of the maximum age, so that a fleet does not reconnect all at once; gRPC's value
_SPARE_CONNECTIONS = 1024  # in addition to those with a stream: health checks, new connections


class Server:
    """Serves calls over many connections. Call `start`, then `stop`, each once and in the same event loop."""

    def __init__(
        self,
        handlers: Mapping[str, Handler],
        limits: Limits,
        *,
        max_streams: int,
        max_age_seconds: float,
        contexts: Contexts | None = None,
        timeouts: Timeouts = TIMEOUTS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._handlers = handlers
        self._limits = limits
        self._max_connections = max_streams + _SPARE_CONNECTIONS
        self._max_age_seconds = max_age_seconds
        self._contexts = contexts
        self._timeouts = timeouts
        self._clock = clock
        self._epoll = select.epoll()
        self._peers: dict[int, Peer] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._acceptor: Acceptor | None = None
        self._sweeper: asyncio.Task[None] | None = None
        self._stopped = False

    @property
    def connections(self) -> int:
        """Return the number of open connections."""
        return len(self._peers)

    @property
    def refused_handshakes(self) -> int:
        """Return the number of failed handshakes: no valid certificate, not HTTP/2, or a timeout."""
        return self._acceptor.refused if self._acceptor is not None else 0

    def start(self, listeners: Sequence[socket.socket]) -> None:
        """Accept connections. The server owns the listening sockets from now on."""
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._epoll.fileno(), self._poll)
        self._acceptor = Acceptor(listeners, self._contexts, self._on_connection, self._max_connections)
        self._acceptor.open()
        self._sweeper = asyncio.create_task(self._sweep(), name="wire-sweep")

    async def stop(self, grace_seconds: float) -> None:
        """Accept no more calls, wait up to `grace_seconds` for open ones, and close."""
        if self._acceptor is None:
            self._epoll.close()
            return  # it was never started
        await asyncio.to_thread(self._acceptor.close)
        for peer in tuple(self._peers.values()):
            peer.leave("the server is stopping")
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=grace_seconds)
        for peer in tuple(self._peers.values()):
            peer.close("the server is stopping")
        if self._sweeper is not None:
            self._sweeper.cancel()
        deadline = self._clock() + min(grace_seconds, self._timeouts.farewell_seconds)
        while self._peers and self._clock() < deadline:
            await asyncio.sleep(0.01)
            self._poll()
        self._stopped = True
        for peer in tuple(self._peers.values()):
            peer.lose()
        self._peers.clear()
        self._loop.remove_reader(self._epoll.fileno())
        self._epoll.close()

    # --- connections ---

    def _on_connection(self, connected: socket.socket, names: frozenset[str]) -> None:
        """Pass a new connection from the acceptor's thread to the event loop."""
        try:
            self._loop.call_soon_threadsafe(self._add_peer, connected, names)
        except RuntimeError:  # the loop has ended
            connected.close()

    def _add_peer(self, connected: socket.socket, names: frozenset[str]) -> None:
        if self._stopped:
            connected.close()
            return
        if len(self._peers) >= self._max_connections:
            self._make_room()
        age = self._max_age_seconds * random.uniform(1 - AGE_SPREAD, 1 + AGE_SPREAD)  # noqa: S311  not a secret
        peer = Peer(connected, names, self._limits, self._epoll, self._begin, self._clock, age)
        self._peers[peer.fileno] = peer
        peer.ready()
        self._tidy(peer)

    def _make_room(self) -> None:
        """Close the oldest connection without a call, so that a new one can be served."""
        for peer in self._peers.values():
            if not peer.calls:
                peer.lose()
                self._tidy(peer)
                return

    def _poll(self) -> None:
        """Serve the sockets that are ready. Pause only if there are no more of them."""
        ready = self._epoll.poll(0, POLL_EVENTS)
        for fileno, _ in ready:
            peer = self._peers.get(fileno)
            if peer is not None:
                peer.ready()
                self._tidy(peer)
        if len(ready) < POLL_EVENTS and not self._stopped:
            self._loop.remove_reader(self._epoll.fileno())
            self._loop.call_later(PAUSE_SECONDS, self._resume)

    def _resume(self) -> None:
        if not self._stopped:
            self._loop.add_reader(self._epoll.fileno(), self._poll)

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
        """Run a call's handler and send its status, whatever happens. Other calls are not affected."""
        handler = self._handlers.get(path)
        code, message = StatusCode.OK, ""
        try:
            if handler is None:
                call.abort(StatusCode.UNIMPLEMENTED, f"unknown method {path[:80]}")
            await handler(call)
        except CallEnded as ended:
            code, message = ended.code, ended.message
        except asyncio.CancelledError:
            code, message = StatusCode.CANCELLED, "the call was cancelled"
            raise
        except Exception as error:  # noqa: BLE001  an internal error ends only its call, and is logged
            _log.exception("call_failed", path=path[:80])
            code, message = StatusCode.INTERNAL, f"internal error: {type(error).__name__}"
        finally:
            call.end(code, message)

    # --- timeouts ---

    async def _sweep(self) -> None:
        """Enforce the time limits of all connections, once a second."""
        due = self._clock()
        while True:
            due += 1.0
            await asyncio.sleep(max(0.0, due - self._clock()))
            now = self._clock()
            late, due = now - due > 1.0, max(due, now - 1.0)
            for peer in tuple(self._peers.values()):
                peer.every_second()
                if not late:  # after a pause of the process there may be unread answers: enforce nothing
                    enforce_timeouts(peer, now, self._timeouts)
                self._tidy(peer)
