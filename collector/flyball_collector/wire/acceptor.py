"""Accepts connections and performs TLS handshakes in its own thread, because a handshake takes milliseconds."""

import select
import socket
import ssl
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress

import structlog

from flyball_collector.refused_agents import RefusedAgents
from flyball_collector.wire.client import ConnectedClient, plain_address
from flyball_collector.wire.handshake import Handshake, HandshakeFailed
from flyball_collector.wire.pending_handshakes import PendingHandshakes
from flyball_collector.wire.transport import PlainTransport, Transport

_log = structlog.get_logger(__name__)

HANDSHAKE_SECONDS = 10.0
MAX_HANDSHAKES = 4096  # in progress; one holds about 30 KB
_ACCEPTS = 64  # per iteration, so that handshakes proceed in between
_NO_FILES_SECONDS = 0.2  # pause when the process has no file descriptor left

Contexts = Callable[[], ssl.SSLContext]
OnConnection = Callable[[Transport, ConnectedClient], None]


class Acceptor:
    """Calls `on_connection` in its thread with each new connection, and `on_end` if the thread ends by an error."""

    def __init__(
        self,
        listeners: Sequence[socket.socket],
        contexts: Contexts | None,
        on_connection: OnConnection,
        refused_agents: RefusedAgents,
        *,
        on_end: Callable[[BaseException], None],
        max_waiting: int = MAX_HANDSHAKES,
        handshake_seconds: float = HANDSHAKE_SECONDS,
    ) -> None:
        self._listeners = {listener.fileno(): listener for listener in listeners}
        self._contexts = contexts
        self._on_connection = on_connection
        self._refused_agents = refused_agents
        self._on_end = on_end
        self._handshake_seconds = handshake_seconds
        self._waiting = PendingHandshakes(max_waiting)
        self._epoll = select.epoll()
        self._wake, self._wake_receiver = socket.socketpair()
        self._thread = threading.Thread(target=self._run, name="ingest-acceptor", daemon=True)
        self.refused = 0  # failed handshakes

    @property
    def alive(self) -> bool:
        """Return True while the thread runs."""
        return self._thread.is_alive()

    def open(self) -> None:
        """Start accepting connections."""
        for fileno in (*self._listeners, self._wake_receiver.fileno()):
            self._epoll.register(fileno, select.EPOLLIN)
        self._thread.start()

    def close(self) -> None:
        """Stop accepting connections."""
        with suppress(OSError):
            self._wake.send(b"x")
        self._thread.join(timeout=2.0)
        self._wake.close()

    def _run(self) -> None:
        try:
            while not self._iterate(time.monotonic()):
                pass
        except BaseException as error:  # noqa: BLE001  the process must not run on without its listening thread
            self._on_end(error)
        finally:
            for handshake in self._waiting:
                handshake.socket.close()
            for listener in self._listeners.values():
                listener.close()
            self._epoll.close()
            self._wake_receiver.close()

    def _iterate(self, now: float) -> bool:
        """Handle all sockets that are ready. Return True when the acceptor was closed."""
        for fileno, _ in self._epoll.poll(min(1.0, self._handshake_seconds)):
            if fileno in self._listeners:
                self._accept(self._listeners[fileno], now)
            elif (handshake := self._waiting.get(fileno)) is not None:
                self._proceed(handshake)
            elif fileno == self._wake_receiver.fileno():
                return True
        for late in self._waiting.late(now - self._handshake_seconds):
            self._fail(late, "the TLS handshake timed out")
        return False

    def _accept(self, listener: socket.socket, now: float) -> None:
        for _ in range(_ACCEPTS):
            try:
                accepted, address = listener.accept()
            except BlockingIOError:
                return
            except ConnectionError:
                continue
            except OSError as error:
                _log.warning("accept_failed", reason=error.strerror, remedy="raise the limit of open files")
                time.sleep(_NO_FILES_SECONDS)
                return
            try:
                self._start(accepted, plain_address(str(address[0])), now)
            except OSError:
                accepted.close()
            except BaseException:
                accepted.close()
                raise

    def _start(self, accepted: socket.socket, address: str, now: float) -> None:
        accepted.setblocking(False)
        accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if self._contexts is None:
            self._on_connection(PlainTransport(accepted), ConnectedClient(address))
            return
        handshake = Handshake(accepted, self._contexts(), address, now)
        self._waiting.add(handshake)
        self._epoll.register(handshake.fileno, select.EPOLLIN)
        self._proceed(handshake)
        if (surplus := self._waiting.surplus()) is not None:
            self._fail(surplus, "too many TLS handshakes at the same time")

    def _proceed(self, handshake: Handshake) -> None:
        try:
            secured = handshake.proceed()
        except HandshakeFailed as failure:
            self._fail(handshake, str(failure))
            return
        except Exception as error:  # noqa: BLE001  no peer may end this thread, whatever it sends
            _log.exception("handshake_failed", address=handshake.address)
            self._fail(handshake, f"internal error: {type(error).__name__}")
            return
        if secured is None:
            self._epoll.modify(handshake.fileno, select.EPOLLIN | (select.EPOLLOUT if handshake.sending else 0))
            return
        self._waiting.remove(handshake)
        self._epoll.unregister(handshake.fileno)
        self._on_connection(*secured)

    def _fail(self, handshake: Handshake, reason: str) -> None:
        self._waiting.remove(handshake)
        self._epoll.unregister(handshake.fileno)
        handshake.socket.close()
        if reason:
            self.refused += 1
            self._refused_agents.record(host="", certificate="", address=handshake.address, reason=reason)
