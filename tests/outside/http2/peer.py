"""A client without a library: a socket, with TLS or without, that sends the steps of a case and reads frames."""

import socket
import ssl
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Self

from tests.outside.frames import PREFACE, settings
from tests.outside.http2.case import Came, Case, Ended, Step, Transcript
from tests.outside.http2.parts import DENIED, called

SECONDS = 60.0  # the most that an answer may take on a busy machine
LAST_CALL = 0x7FFFFFFF  # the highest number of a stream: it is valid after any other


class Http2Peer:
    """One connection."""

    def __init__(self, port: int, tls: ssl.SSLContext | None) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), SECONDS)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if tls is not None:
            self._socket = tls.wrap_socket(self._socket, server_hostname="localhost")
        self._rest = b""
        self.seen = Transcript()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._socket.close()

    def play(self, case: Case) -> None:
        """Send the steps of a case, and read until its outcome has arrived."""
        waiting = PREFACE + settings() if case.greeted else b""
        for step in case.steps:
            if isinstance(step, bytes):
                waiting += step
                continue
            self._send(waiting)
            waiting = b""
            self.read_until(_condition(step))
        self._send(waiting)
        self.read_until(case.expected.arrived)

    def call_again(self) -> bool:
        """Return True if the connection still serves a call. Its answer is a status, which needs no window."""
        self._send(called(DENIED, LAST_CALL, end=True))
        self.read_until(lambda seen: seen.ended(LAST_CALL))
        return self.seen.headers(LAST_CALL).get(b"grpc-status") == b"7"

    def read_until(self, condition: Callable[[Transcript], bool]) -> None:
        """Read frames until a condition holds or the server closes."""
        while not condition(self.seen) and not self.seen.closed:
            try:
                received = self._socket.recv(65_536)
            except (ConnectionResetError, ssl.SSLError):
                received = b""
            self.seen.closed = not received
            self._split(self._rest + received)

    def _send(self, waiting: bytes) -> None:
        """Send. A server that refuses the first part closes while the rest is sent: its answer can still be read."""
        with suppress(BrokenPipeError, ConnectionResetError, ssl.SSLEOFError):
            self._socket.sendall(waiting)

    def _split(self, received: bytes) -> None:
        at = 0
        while len(received) - at >= 9:
            end = at + 9 + int.from_bytes(received[at : at + 3])
            if end > len(received):
                break
            stream = int.from_bytes(received[at + 5 : at + 9])
            self.seen.frames.append((received[at + 3], received[at + 4], stream, received[at + 9 : end]))
            at = end
        self._rest = received[at:]


def _condition(step: Step) -> Callable[[Transcript], bool]:
    if isinstance(step, Ended):
        return lambda seen: seen.ended(step.stream)
    assert isinstance(step, Came)
    return lambda seen: len(seen.of(step.kind)) >= step.count
