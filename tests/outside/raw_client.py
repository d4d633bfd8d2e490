"""Connections of an attacker: sockets and TLS with the standard library only, so that an attacker starts fast."""

import contextlib
import select
import socket
import ssl
import struct
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tests.outside.frames import ACK, INITIAL_WINDOW_SIZE, PREFACE, SETTINGS, WINDOW_UPDATE, settings

ATTACKER = "attacker"  # its host
ATTACKER_ADDRESS = "127.0.0.66"  # another address than that of the honest agents
STALLED_SECONDS = 0.5


class Gone(OSError):
    """The server closed the connection."""


@dataclass
class Tally:
    """Counters of an attack."""

    connections: int = 0
    refused: int = 0  # connections that could not be opened
    ended: int = 0  # connections that the server closed
    sent_bytes: int = 0


class Windows:
    """Flow-control windows: what the server allows a client to send, read from its frames."""

    def __init__(self) -> None:
        self._connection = self._initial = 65_535
        self._streams: dict[int, int] = {}
        self._rest = b""

    def read(self, data: bytes) -> None:
        """Read what the server sent."""
        self._rest += data
        while len(self._rest) >= 9 + (size := int.from_bytes(self._rest[:3])):
            kind, flags, stream = self._rest[3], self._rest[4], int.from_bytes(self._rest[5:9])
            payload, self._rest = self._rest[9 : 9 + size], self._rest[9 + size :]
            if kind == WINDOW_UPDATE:
                self._add(stream, int.from_bytes(payload))
            elif kind == SETTINGS and not flags & ACK:
                self._begin_with(dict(struct.iter_unpack("!HL", payload)).get(INITIAL_WINDOW_SIZE, self._initial))

    def take(self, stream: int, wanted: int) -> int:
        """Return how much may be sent, and count it as sent."""
        count = max(0, min(wanted, self._connection, self._streams.setdefault(stream, self._initial)))
        self._add(stream, -count)
        self._add(0, -count)
        return count

    def _begin_with(self, size: int) -> None:
        """Change the initial window, which also changes those of open streams (RFC 9113, section 6.9.2)."""
        self._streams = {stream: window + size - self._initial for stream, window in self._streams.items()}
        self._initial = size

    def _add(self, stream: int, count: int) -> None:
        if stream:
            self._streams[stream] = self._streams.get(stream, self._initial) + count
        else:
            self._connection += count


class Client:
    """A connection that sends without waiting for ever, and reads what comes, so that the server is not blocked."""

    def __init__(self, connected: socket.socket, tally: Tally, windows: Windows | None = None) -> None:
        self._socket = connected
        self._tally = tally
        self._windows = windows  # of an attack that respects them
        self._socket.setblocking(False)

    def send(self, data: bytes) -> None:
        """Send everything, reading answers meanwhile. A server that accepts nothing for a while is left."""
        view, waited_since = memoryview(data), time.monotonic()
        while view:
            sent = self._try(view)
            if sent:
                self._tally.sent_bytes += sent
                view, waited_since = view[sent:], time.monotonic()
            elif time.monotonic() - waited_since > STALLED_SECONDS:
                raise Gone("the server accepts no more bytes")
            self.read()
            if view and not sent:
                select.select([self._socket], [self._socket], [], 0.05)

    def send_only(self, data: bytes) -> int:
        """Send what fits into the kernel's buffer without ever reading. Return how much it was."""
        sent = self._try(memoryview(data))
        self._tally.sent_bytes += sent
        return sent

    def _try(self, view: memoryview) -> int:
        try:
            return self._socket.send(view)
        except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
            return 0

    def read(self) -> bytes:
        """Return what has arrived; raise `Gone` at the end of the connection."""
        try:
            data = self._socket.recv(65_536)
        except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
            return b""
        if not data:
            raise Gone("the server closed the connection")
        if self._windows is not None:
            self._windows.read(data)
        return data

    def wait(self) -> None:
        """Wait for an answer, and read it. A server that sends nothing for a while is left."""
        if not select.select([self._socket], [], [], STALLED_SECONDS)[0]:
            raise Gone("the server sends nothing")
        self.read()

    def close(self) -> None:
        """Close without an orderly end."""
        self._socket.close()


@dataclass
class Target:
    """The collector under attack, with the end of the attack."""

    port: int
    deadline: float
    certificate: Path | None = None  # with its key beside it; None: without TLS
    ca: Path | None = None
    tally: Tally = field(default_factory=Tally)

    def goes_on(self) -> bool:
        """Return True until the attack is over."""
        return time.monotonic() < self.deadline

    def tcp(self) -> socket.socket:
        """Return a TCP connection."""
        try:
            connected = socket.create_connection(("127.0.0.1", self.port), 2, source_address=(ATTACKER_ADDRESS, 0))
        except OSError:
            self.tally.refused += 1
            raise
        self.tally.connections += 1
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connected

    def tls(self) -> socket.socket:
        """Return a connection with TLS and the attacker's valid certificate, or plain TCP if there is none."""
        connected = self.tcp()
        if self.certificate is None or self.ca is None:
            return connected
        context = ssl.create_default_context(cafile=self.ca)
        context.load_cert_chain(self.certificate, self.certificate.with_suffix(".key"))
        context.set_alpn_protocols(["h2"])
        try:
            return context.wrap_socket(connected, server_hostname="localhost")
        except OSError:
            self.tally.refused += 1
            connected.close()
            raise

    @contextlib.contextmanager
    def client(self, *, greeted: bool = True, windows: Windows | None = None) -> Iterator[Client]:
        """Open a connection, greeted as HTTP/2 does, and close it at the end."""
        client = Client(self.tls(), self.tally, windows)
        try:
            if greeted:
                client.send(PREFACE + settings())
            yield client
        except OSError:
            self.tally.ended += 1
            raise
        finally:
            client.close()
