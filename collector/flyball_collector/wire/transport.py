"""The bytes of one connection, plain or over TLS. Nothing here blocks.

Over TLS, the kernel's bytes go through memory: one read of the socket brings many TLS records, which then cost less
than half of what reading them from the socket one by one does.
"""

import socket
import ssl
from contextlib import suppress
from typing import Protocol

READ_BYTES = 64 * 1024  # per read: work that a peer can cause before others are served
_RECORD_BYTES = 16 * 1024  # the most that one TLS record holds (RFC 8446, section 5.1)


class Transport(Protocol):
    """A connected socket. Each method raises `OSError` when the connection is lost."""

    @property
    def fileno(self) -> int:
        """Return the file descriptor of the socket."""

    @property
    def ended(self) -> bool:
        """Return True once the peer will send no more."""

    @property
    def more(self) -> bool:
        """Return True if the last read probably left bytes behind."""

    @property
    def unsent(self) -> int:
        """Return how many bytes the transport itself holds because the kernel did not accept them."""

    def receive(self) -> bytes:
        """Return what has arrived. It may be empty."""

    def send(self, outgoing: bytearray) -> int:
        """Remove from `outgoing` what is sent. Return how many bytes the kernel accepted."""

    def finish(self) -> None:
        """Announce that nothing more is sent. Call it again while `unsent` is not 0."""

    def close(self) -> None:
        """Close the socket."""


class PlainTransport:
    """A socket without TLS."""

    def __init__(self, connected: socket.socket) -> None:
        self._socket = connected
        self.fileno = connected.fileno()
        self.ended = False
        self.more = False
        self.unsent = 0  # all of them stay in `outgoing`

    def receive(self) -> bytes:
        self.more = False
        try:
            data = self._socket.recv(READ_BYTES)
        except BlockingIOError:
            return b""
        self.ended = not data
        self.more = len(data) == READ_BYTES
        return data

    def send(self, outgoing: bytearray) -> int:
        return _send(self._socket, outgoing)

    def finish(self) -> None:
        self._socket.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        self._socket.close()


class TlsTransport:
    """A socket with TLS. The handshake is over; bytes that came with its last message may wait in `incoming`."""

    def __init__(
        self,
        connected: socket.socket,
        tls: ssl.SSLObject,
        incoming: ssl.MemoryBIO,
        outgoing: ssl.MemoryBIO,
        encrypted: bytearray,
    ) -> None:
        self._socket = connected
        self._tls = tls
        self._incoming = incoming
        self._outgoing = outgoing
        self._encrypted = encrypted  # not yet accepted by the kernel
        self._finishing = False
        self.fileno = connected.fileno()
        self.ended = False
        self.more = False

    @property
    def unsent(self) -> int:
        return len(self._encrypted) + self._outgoing.pending

    def receive(self) -> bytes:
        self.more = False
        try:
            raw = self._socket.recv(READ_BYTES)
        except BlockingIOError:
            if not self._incoming.pending:
                return b""
        else:
            self.ended = not raw
            self.more = len(raw) == READ_BYTES
            self._incoming.write(raw)
        return self._decrypted()

    def send(self, outgoing: bytearray) -> int:
        accepted = self._send_encrypted()
        while outgoing and not self._encrypted:
            with memoryview(outgoing)[:_RECORD_BYTES] as record:
                count = self._tls.write(record)
            del outgoing[:count]
            accepted += self._send_encrypted()
        return accepted

    def finish(self) -> None:
        if not self._finishing:
            self._finishing = True
            with suppress(ssl.SSLWantReadError):  # it would wait for the peer's own announcement
                self._tls.unwrap()
        self._send_encrypted()
        if not self._encrypted:
            self._socket.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        with suppress(OSError):
            self._send_encrypted()  # an alert, if TLS failed
        self._socket.close()

    def _decrypted(self) -> bytes:
        records = []
        try:
            while self._incoming.pending or self._tls.pending():
                record = self._tls.read(_RECORD_BYTES)
                if not record:  # the peer announced its end
                    self.ended = True
                    break
                records.append(record)
        except ssl.SSLWantReadError:  # a record is incomplete
            pass
        return records[0] if len(records) == 1 else b"".join(records)

    def _send_encrypted(self) -> int:
        """Send what TLS has produced. Reading produces bytes too, for example new keys that the peer asks for."""
        if self._outgoing.pending:
            self._encrypted += self._outgoing.read()
        return _send(self._socket, self._encrypted)


def _send(connected: socket.socket, data: bytearray) -> int:
    """Remove from `data` what the kernel accepts, and return how much that was."""
    accepted = 0
    with suppress(BlockingIOError):
        while data:
            count = connected.send(data)
            del data[:count]
            accepted += count
    return accepted
