"""The doorway: takes connections and shakes hands, in a thread of its own, for a handshake costs milliseconds."""

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
_ACCEPTS = 64  # at a time: handshakes go on in between
_BREATH_SECONDS = 0.2  # when the process has no file left for another connection

Contexts = Callable[[], ssl.SSLContext]
Arrive = Callable[[socket.socket, frozenset[str]], None]


class Acceptor:
    """`arrive` is called in its thread, with a socket that is ready and the names of the other side's certificate."""

    def __init__(
        self,
        listeners: Sequence[socket.socket],
        contexts: Contexts | None,
        arrive: Arrive,
        max_waiting: int,
        handshake_seconds: float = HANDSHAKE_SECONDS,
    ) -> None:
        self._listeners = {listener.fileno(): listener for listener in listeners}
        self._contexts = contexts
        self._arrive = arrive
        self._max_waiting = max_waiting
        self._handshake_seconds = handshake_seconds
        self._waiting: dict[int, tuple[float, ssl.SSLSocket]] = {}  # oldest first: since when, and who
        self._epoll = select.epoll()
        self._wake, self._woken = socket.socketpair()
        self._thread = threading.Thread(target=self._run, name="ingest-doorway", daemon=True)
        self.refused = 0  # handshakes that came to nothing

    def open(self) -> None:
        """Take connections from now on."""
        for fileno in (*self._listeners, self._woken.fileno()):
            self._epoll.register(fileno, select.EPOLLIN)
        self._thread.start()

    def close(self) -> None:
        """Take no more."""
        with suppress(OSError):
            self._wake.send(b"x")
        self._thread.join(timeout=2.0)
        self._wake.close()

    def _run(self) -> None:
        try:
            while not self._turn(time.monotonic()):
                pass
        finally:
            for _, connection in self._waiting.values():
                connection.close()
            for listener in self._listeners.values():
                listener.close()
            self._epoll.close()
            self._woken.close()

    def _turn(self, now: float) -> bool:
        """Serve whoever is ready; true when it is over."""
        for fileno, _ in self._epoll.poll(min(1.0, self._handshake_seconds)):
            if fileno in self._listeners:
                self._accept(self._listeners[fileno], now)
            elif fileno in self._waiting:
                self._shake(fileno, self._waiting[fileno][1])
            elif fileno == self._woken.fileno():
                return True
        while self._waiting:
            fileno, (since, _) = next(iter(self._waiting.items()))
            if now - since < self._handshake_seconds and len(self._waiting) <= self._max_waiting:
                break
            self._drop(fileno, "it took too long")
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
                _log.warning("connection_not_taken", reason=str(error), remedy="raise the limit of open files")
                time.sleep(_BREATH_SECONDS)
                return
            self._take(accepted, now)

    def _take(self, accepted: socket.socket, now: float) -> None:
        try:
            accepted.setblocking(False)
            accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self._contexts is None:
                self._arrive(accepted, frozenset())
                return
            secured = self._contexts().wrap_socket(accepted, server_side=True, do_handshake_on_connect=False)
        except OSError:
            accepted.close()
            return
        fileno = secured.fileno()
        self._waiting[fileno] = now, secured
        self._epoll.register(fileno, select.EPOLLIN)
        self._shake(fileno, secured)

    def _shake(self, fileno: int, connection: ssl.SSLSocket) -> None:
        """One step of a handshake."""
        try:
            connection.do_handshake()
            names = _names(connection)
        except ssl.SSLWantReadError:
            self._epoll.modify(fileno, select.EPOLLIN)
        except ssl.SSLWantWriteError:
            self._epoll.modify(fileno, select.EPOLLOUT)
        except OSError as error:  # ssl.SSLError is one, too
            self._drop(fileno, str(error))
        else:
            del self._waiting[fileno]
            self._epoll.unregister(fileno)
            self._arrive(connection, names)

    def _drop(self, fileno: int, reason: str) -> None:
        _, connection = self._waiting.pop(fileno)
        self.refused += 1
        _log.debug("handshake_failed", reason=reason)
        with suppress(OSError):
            self._epoll.unregister(fileno)
        connection.close()


def _names(connection: ssl.SSLSocket) -> frozenset[str]:
    """What the verified certificate stands for."""
    if connection.selected_alpn_protocol() != "h2":
        raise ssl.SSLError("the other side does not speak HTTP/2")
    certificate = connection.getpeercert() or {}
    names = cast("tuple[tuple[str, str], ...]", certificate.get("subjectAltName", ()))
    return frozenset(name for _, name in names)
