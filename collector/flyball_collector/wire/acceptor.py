"""Accepts connections and performs TLS handshakes in its own thread, because a handshake takes milliseconds."""

import select
import socket
import ssl
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import cast

import structlog

_log = structlog.get_logger(__name__)

HANDSHAKE_SECONDS = 10.0
_ACCEPTS = 64  # per iteration, so that handshakes proceed in between
_NO_FILES_SECONDS = 0.2  # pause when the process has no file descriptor left

Contexts = Callable[[], ssl.SSLContext]
OnConnection = Callable[[socket.socket, frozenset[str]], None]


class Acceptor:
    """Calls `on_connection` in its thread with a connected socket and the names of the peer's certificate."""

    def __init__(
        self,
        listeners: Sequence[socket.socket],
        contexts: Contexts | None,
        on_connection: OnConnection,
        max_waiting: int,
        handshake_seconds: float = HANDSHAKE_SECONDS,
    ) -> None:
        self._listeners = {listener.fileno(): listener for listener in listeners}
        self._contexts = contexts
        self._on_connection = on_connection
        self._max_waiting = max_waiting
        self._handshake_seconds = handshake_seconds
        self._waiting: dict[int, tuple[float, ssl.SSLSocket]] = {}  # start time and socket, oldest first
        self._epoll = select.epoll()
        self._wake, self._wake_receiver = socket.socketpair()
        self._thread = threading.Thread(target=self._run, name="ingest-acceptor", daemon=True)
        self.refused = 0  # failed handshakes

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
        finally:
            for _, connection in self._waiting.values():
                connection.close()
            for listener in self._listeners.values():
                listener.close()
            self._epoll.close()
            self._wake_receiver.close()

    def _iterate(self, now: float) -> bool:
        """Handle all sockets that are ready. Return True when the acceptor was closed."""
        for fileno, _ in self._epoll.poll(min(1.0, self._handshake_seconds)):
            if fileno in self._listeners:
                self._accept(self._listeners[fileno], now)
            elif fileno in self._waiting:
                self._continue_handshake(fileno, self._waiting[fileno][1])
            elif fileno == self._wake_receiver.fileno():
                return True
        while self._waiting:
            fileno, (since, _) = next(iter(self._waiting.items()))
            if now - since < self._handshake_seconds and len(self._waiting) <= self._max_waiting:
                break
            self._drop(fileno, "timed out")
        return False

    def _accept(self, listener: socket.socket, now: float) -> None:
        for _ in range(_ACCEPTS):
            try:
                accepted, _address = listener.accept()
            except BlockingIOError:
                return
            except ConnectionError:
                continue
            except OSError as error:
                _log.warning("accept_failed", reason=str(error), remedy="raise the limit of open files")
                time.sleep(_NO_FILES_SECONDS)
                return
            self._start(accepted, now)

    def _start(self, accepted: socket.socket, now: float) -> None:
        try:
            accepted.setblocking(False)
            accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self._contexts is None:
                self._on_connection(accepted, frozenset())
                return
            secured = self._contexts().wrap_socket(accepted, server_side=True, do_handshake_on_connect=False)
        except OSError:
            accepted.close()
            return
        fileno = secured.fileno()
        self._waiting[fileno] = now, secured
        self._epoll.register(fileno, select.EPOLLIN)
        self._continue_handshake(fileno, secured)

    def _continue_handshake(self, fileno: int, connection: ssl.SSLSocket) -> None:
        try:
            connection.do_handshake()
            names = _names(connection)
        except ssl.SSLWantReadError:
            self._epoll.modify(fileno, select.EPOLLIN)
        except ssl.SSLWantWriteError:
            self._epoll.modify(fileno, select.EPOLLOUT)
        except OSError as error:  # including ssl.SSLError
            self._drop(fileno, str(error))
        else:
            del self._waiting[fileno]
            self._epoll.unregister(fileno)
            self._on_connection(connection, names)

    def _drop(self, fileno: int, reason: str) -> None:
        _, connection = self._waiting.pop(fileno)
        self.refused += 1
        _log.debug("handshake_failed", reason=reason)
        with suppress(OSError):
            self._epoll.unregister(fileno)
        connection.close()


def _names(connection: ssl.SSLSocket) -> frozenset[str]:
    """Return the names in the peer's verified certificate."""
    if connection.selected_alpn_protocol() != "h2":
        raise ssl.SSLError("the client did not negotiate HTTP/2 (ALPN h2)")
    certificate = connection.getpeercert() or {}
    names = cast("tuple[tuple[str, str], ...]", certificate.get("subjectAltName", ()))
    return frozenset(name for _, name in names)
