"""The connection to the agent of this host. It never waits: what cannot be sent now is refused."""

from __future__ import annotations

import _socket
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_FLAGS = _socket.MSG_DONTWAIT | getattr(_socket, "MSG_NOSIGNAL", 0)
"""A script may have restored the default of SIGPIPE, which would end it when the agent has closed the connection."""

_READ_BYTES = 4096  # enough for the answers of a minute; allocating 64 KiB takes as long as the system call
_READS = 16  # at a time, and
_MAX_LINES = 1024  # at a time: more than the answers to all reports that fit into the queue of an agent, and
_MAX_MESSAGES = 16  # of them: an agent that sends without end must not keep the training busy
_MAX_LINE_BYTES = 64 * 1024
_FIRST_WAIT_NS = 900_000_000  # before the next attempt; just below the second between two reports
_LONGEST_WAIT_NS = 10_000_000_000
_REFUSED_WAIT_NS = 60_000_000_000
_OK = b'{"kind":"ok"}'
_ERROR = b'{"kind":"error"'
_STANDARD_STREAMS = 3


class AgentLink:
    """A connection that is opened again when it was lost. No method raises."""

    __slots__ = (
        "_arrived",
        "_buffer",
        "_checked",
        "_error",
        "_find",
        "_hello",
        "_identity",
        "_refusal",
        "_retry_at",
        "_unsent",
        "_wait",
        "descriptor",
        "hellos",
    )

    def __init__(self, find: Callable[[], list[str]]) -> None:
        self._find = find
        self._hello = b""
        self.descriptor = -1  # a number: a socket object would warn at exit that it was not closed
        self._identity = (0, 0)  # device and inode of the socket
        self._checked = -1  # the time of the report for which the identity was compared
        self._unsent = b""  # the rest of a line of which the kernel accepted a part
        self._buffer = b""
        self._arrived: list[bytes] = []
        self._wait = 0
        self._retry_at = 0
        self._error = b""  # the last one that the agent answered
        self._refusal = b""  # the last one with which it refused the run, until it accepts it
        self.hellos = 0  # that were sent, on this connection and earlier ones

    @property
    def error(self) -> str:
        """Return the last error that the agent answered."""
        return _text(self._error)

    @property
    def refusal(self) -> str:
        """Return the last error that refused the run; empty if the agent has accepted it since."""
        return _text(self._refusal)

    @property
    def connected(self) -> bool:
        """Return True while there is a connection."""
        return self.descriptor >= 0

    def introduce(self, hello: bytes) -> None:
        """Set the message that opens each connection, and send it on the present one with the next line."""
        self._hello = hello
        if self.connected:
            self._unsent += hello
            self.hellos += 1

    def open(self, now: int) -> bool:
        """Connect if there is no connection and the next attempt is due. Return True if there is one now."""
        if self.connected:
            if self._is_ours(now):
                return True
            self._forget()
        if now < self._retry_at:
            return False
        self._wait = min(max(2 * self._wait, _FIRST_WAIT_NS), _LONGEST_WAIT_NS)
        self._retry_at = now + self._wait
        for path in self._find():
            self.descriptor = _connect(path)
            if self.connected:
                self._identity = _identity(self.descriptor)
                self._checked = now
                self._buffer, self._unsent = b"", self._hello
                self.hellos += 1
                return True
        return False

    def send(self, line: bytes, now: int) -> bool:
        """Send a line. Return False if it was refused: there is no agent, or it is stuck."""
        if not self.open(now):
            return False
        connection = self._borrow()
        try:
            if self._unsent:
                self._unsent = self._unsent[_write(connection, self._unsent) :]
                if self._unsent:
                    return False
            sent = _write(connection, line)
            self._unsent = line[sent:] if sent else b""
        except OSError:
            self._close(now)
            return False
        finally:
            connection.detach()
        return sent > 0

    def receive(self, now: int) -> list[bytes]:
        """Return the lines that have arrived, except positive answers."""
        if not self.connected or not self._is_ours(now):
            return []
        connection = self._borrow()
        try:
            alive = self._read(connection, now)
        finally:
            connection.detach()
        if not alive:
            self._close(now)
        arrived, self._arrived = self._arrived, []
        return arrived[:_MAX_MESSAGES]

    def close(self) -> None:
        """Close the connection and forget what was not sent."""
        self._close(0)
        self._retry_at = self._wait = 0

    def _borrow(self) -> _socket.socket:
        """Return a socket object for the descriptor. The caller detaches it."""
        return _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM, 0, self.descriptor)

    def _is_ours(self, now: int) -> bool:
        """Return False if the script has closed the descriptor and it may be a file of its own by now.

        Programs that become daemons close all descriptors. Writing to one that is used again would damage a file. One
        look per report is enough.
        """
        if now != self._checked:
            if _identity(self.descriptor) != self._identity:
                return False
            self._checked = now
        return True

    def _read(self, connection: _socket.socket, now: int) -> bool:
        """Read what has arrived. Return False if the connection is over."""
        data, alive = self._buffer, True
        try:
            for _ in range(_READS):
                part = connection.recv(_READ_BYTES, _FLAGS)
                data += part
                if len(part) < _READ_BYTES:
                    alive = bool(part)
                    break
        except BlockingIOError:
            pass
        except OSError:
            alive = False
        if data is not self._buffer and not self._split(data):
            self._retry_at = now + _REFUSED_WAIT_NS
            return False
        return alive

    def _split(self, data: bytes) -> bool:
        """Split lines. Return False if the agent refused the run, or does not behave as an agent."""
        *lines, self._buffer = data.split(b"\n", _MAX_LINES)
        self._wait = 0
        for line in lines:
            if line == _OK:
                self._refusal = b""  # the first answer on a connection is that to the hello
                continue
            if line.startswith(_ERROR):
                self._error = line
                if _refuses(line):
                    self._refusal = line
                    return False
            else:
                self._arrived.append(line)
        return len(lines) < _MAX_LINES and len(self._arrived) <= _MAX_MESSAGES and len(self._buffer) <= _MAX_LINE_BYTES

    def _close(self, now: int) -> None:
        descriptor, self.descriptor = self.descriptor, -1
        self._buffer, self._unsent = b"", b""
        self._retry_at = max(self._retry_at, now + self._wait)
        if descriptor >= 0 and _identity(descriptor) == self._identity:
            os.close(descriptor)

    def _forget(self) -> None:
        """Let go of a descriptor that is no longer ours, without closing it."""
        self.descriptor = -1
        self._buffer, self._unsent = b"", b""


def _text(line: bytes) -> str:
    return line[:500].decode("utf-8", "replace")


def _refuses(error: bytes) -> bool:
    """Return True for an error of the agent that concerns the run, and not one of its reports."""
    return b"hello" in error or b"belongs to" in error or b"are open" in error


def _write(connection: _socket.socket, data: bytes) -> int:
    try:
        return connection.send(data, _FLAGS)
    except BlockingIOError:
        return 0


def _connect(path: str) -> int:
    """Return the descriptor of a connection, or -1. It does not wait: an agent that is stuck has a full queue."""
    try:
        connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM | _socket.SOCK_NONBLOCK | _socket.SOCK_CLOEXEC)
    except OSError:  # no descriptor is left
        return -1
    try:
        connection.connect(path)
        if connection.fileno() >= _STANDARD_STREAMS:  # below, what the script prints would go to the agent
            return connection.detach()
    except (OSError, ValueError):
        pass
    connection.close()
    return -1


def _identity(descriptor: int) -> tuple[int, int]:
    try:
        found = os.fstat(descriptor)
    except OSError:
        return (0, 0)
    return found.st_dev, found.st_ino
