"""The gRPC server: polls the sockets of all connections together, then pauses while messages accumulate.

Each connection usually sends one message a second. One poll for some forty of them costs a fraction of forty wake-ups.
"""

import asyncio
import random
import select
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial

import structlog

from flyball_collector.refused_agents import RefusedAgents
from flyball_collector.wire.acceptor import Acceptor, Contexts
from flyball_collector.wire.call import Call, Handler
from flyball_collector.wire.client import ConnectedClient
from flyball_collector.wire.client_limits import ClientCounts, ClientLimits
from flyball_collector.wire.events import Limits
from flyball_collector.wire.peer import Peer
from flyball_collector.wire.penalties import Penalties
from flyball_collector.wire.status import CallEnded, StatusCode
from flyball_collector.wire.timeouts import TIMEOUTS, Timeouts, enforce_timeouts
from flyball_collector.wire.transport import Transport

_log = structlog.get_logger(__name__)

PAUSE_SECONDS = 0.05
BUSY_PAUSE_SECONDS = 0.002  # while a client sends much: long enough to gather, short beside a round trip
SLICE_SECONDS = 0.01  # of reading; then other tasks run, and half as long only they
POLL_EVENTS = 128  # ready connections per poll; then the event loop runs other tasks
AGE_SPREAD = 0.1  # random share of the maximum age, so that a fleet does not reconnect all at once; gRPC's value
_FIRST_MESSAGE_SECONDS = 1.0
_REFUSED_SECONDS = 5.0  # for a client with a wrong certificate to get the reason
_SPARE_CONNECTIONS = 1024  # in addition to those with a stream: health checks, new connections


class ListeningFailed(Exception):
    """Nobody can connect any more, so the process must be restarted."""


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
        client_limits: ClientLimits | None = None,
        refused_agents: RefusedAgents | None = None,
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
        self._client_limits = client_limits or ClientLimits()
        self._client_connections = ClientCounts(self._client_limits)
        self._client_calls = ClientCounts(self._client_limits)
        self._penalties = Penalties(timeouts.penalty_seconds)
        self._refused_agents = refused_agents or RefusedAgents()
        self.refused_connections = 0  # beyond a limit
        self._reading_seconds = 0.0  # since the last pause
        self._tasks: set[asyncio.Task[None]] = set()
        self._acceptor: Acceptor | None = None
        self._sweeper: asyncio.Task[None] | None = None
        self._stopped = False
        self._failed = asyncio.Event()
        self._failure: BaseException | None = None

    @property
    def listening(self) -> bool:
        """Return False if the listening thread has ended."""
        return self._failure is None and (self._acceptor is None or self._acceptor.alive)

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
        self._acceptor = Acceptor(
            listeners, self._contexts, self._on_connection, self._refused_agents, on_end=self._on_acceptor_end
        )
        self._acceptor.open()
        self._sweeper = asyncio.create_task(self._sweep(), name="wire-sweep")

    async def failed(self) -> None:
        """Raise `ListeningFailed` when the listening thread ends by an error."""
        await self._failed.wait()
        raise ListeningFailed(f"the thread that accepts agents ended by an error: {self._failure!r}")

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

    def _on_connection(self, transport: Transport, client: ConnectedClient) -> None:
        """Pass a new connection from the acceptor's thread to the event loop."""
        try:
            self._loop.call_soon_threadsafe(self._add_peer, transport, client)
        except RuntimeError:  # the loop has ended
            transport.close()

    def _on_acceptor_end(self, error: BaseException) -> None:
        """Note in the acceptor's thread that nobody can connect any more."""
        self._failure = error
        with suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(self._failed.set)

    def _add_peer(self, transport: Transport, client: ConnectedClient) -> None:
        if self._stopped:
            transport.close()
            return
        if reason := self._no_room(client):
            self.refused_connections += 1
            self._refuse(client, reason)
            transport.close()
            return
        age = self._max_age_seconds * random.uniform(1 - AGE_SPREAD, 1 + AGE_SPREAD)  # noqa: S311  not a secret
        if client.refusal:
            self._refuse(client, client.refusal)
            age = _REFUSED_SECONDS
        if (former := self._peers.get(transport.fileno)) is not None:
            self._tidy(former)  # it was lost since the last look, and the kernel reuses its number
        peer = Peer(transport, client, self._limits, self._epoll, self._begin, self._clock, age)
        self._peers[peer.fileno] = peer
        self._client_connections.add(client)
        self._serve_peer(peer)

    def _refuse(self, client: ConnectedClient, reason: str) -> None:
        self._refused_agents.record(host="", certificate=client.certificate, address=client.address, reason=reason)

    def _no_room(self, client: ConnectedClient) -> str:
        """Return why a connection is refused, or an empty text. A connection without a call makes room for it."""
        if self._penalties.waits(client, self._clock()):
            return "its last connection caused too much work; it can connect again in a few seconds"
        if self._client_connections.full(client) and not self._make_room(client):
            return f"it has {self._client_limits.of(client)} connections already; the log of its host may show why"
        if len(self._peers) >= self._max_connections and not self._make_room(None):
            return f"all {self._max_connections} connections are in use; raise limits.streams"
        return ""

    def _make_room(self, client: ConnectedClient | None) -> bool:
        """Close the oldest connection without a call, of this client if one is given. Return False if there is none."""
        for peer in tuple(self._peers.values()):
            if peer.calls or (client is not None and peer.client.key != client.key):
                continue
            self._serve_peer(peer)  # its first call may be unread
            if not peer.calls:
                peer.lose()
                self._tidy(peer)
                return True
        return False

    def _poll(self) -> None:
        """Serve the sockets that are ready. Pause unless there are more of them."""
        started = self._clock()
        ready = self._epoll.poll(0, POLL_EVENTS)
        more, busy = len(ready) == POLL_EVENTS, False
        for fileno, _ in ready:
            peer = self._peers.get(fileno)
            if peer is not None:
                self._serve_peer(peer)
                more, busy = more or peer.more, busy or peer.busy_sending
            if self._clock() - started > SLICE_SECONDS:
                more = True
                break  # the others are first in the next poll
        self._reading_seconds += self._clock() - started
        if not self._stopped and not (more and self._reading_seconds < SLICE_SECONDS):
            self._pause(busy=more or busy)

    def _pause(self, *, busy: bool) -> None:
        """Let messages accumulate. After much reading, leave half as much time to everything else."""
        seconds = max(BUSY_PAUSE_SECONDS, self._reading_seconds / 2) if busy else PAUSE_SECONDS
        self._reading_seconds = 0.0
        self._loop.remove_reader(self._epoll.fileno())
        self._loop.call_later(seconds, self._resume)

    def _serve_peer(self, peer: Peer) -> None:
        """Read and write. An error of ours ends this connection only."""
        try:
            peer.ready()
        except Exception:  # noqa: BLE001  the other connections must be served
            _log.exception("connection_failed", address=peer.client.address)
            peer.lose()
        self._tidy(peer)

    def _resume(self) -> None:
        if not self._stopped:
            self._loop.add_reader(self._epoll.fileno(), self._poll)

    def _tidy(self, peer: Peer) -> None:
        if peer.excessive:
            peer.excessive = False
            self._penalties.add(peer.client, self._clock())
        if peer.lost and self._peers.get(peer.fileno) is peer:
            del self._peers[peer.fileno]
            self._client_connections.remove(peer.client)

    # --- calls ---

    def _begin(self, call: Call, path: str) -> "asyncio.Task[None]":
        refusal = self._refusal(call.client)
        self._client_calls.add(call.client)
        task = self._loop.create_task(self._serve(call, path, refusal), name=f"call {path[:80]}")
        self._tasks.add(task)
        task.add_done_callback(partial(self._forget_call, call.client))
        return task

    def _forget_call(self, client: ConnectedClient, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        self._client_calls.remove(client)

    def _refusal(self, client: ConnectedClient) -> CallEnded | None:
        """Return the status of a call that is refused because of its client."""
        if client.refusal:
            return CallEnded(StatusCode.UNAUTHENTICATED, client.refusal)
        if not self._client_calls.full(client):
            return None
        reason = f"it has {self._client_limits.of(client)} calls already"
        self._refuse(client, reason)
        return CallEnded(StatusCode.RESOURCE_EXHAUSTED, reason)

    async def _serve(self, call: Call, path: str, refusal: CallEnded | None) -> None:
        """Run a call's handler and send its status, whatever happens. Other calls are not affected."""
        handler = self._handlers.get(path)
        code, message = StatusCode.OK, ""
        try:
            if refusal is not None:
                await _first_message(call)
                raise refusal
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
            self._penalties.forget(now)
            for peer in tuple(self._peers.values()):
                peer.every_second()
                if not late:  # after a pause of the process there may be unread answers: enforce nothing
                    enforce_timeouts(peer, now, self._timeouts)
                self._tidy(peer)


async def _first_message(call: Call) -> None:
    """Wait for a message, for a moment: gRPC's asyncio client loses a status that comes while it sends its first."""
    with suppress(TimeoutError):
        await asyncio.wait_for(call.read(), _FIRST_MESSAGE_SECONDS)
