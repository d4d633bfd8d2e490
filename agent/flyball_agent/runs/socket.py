"""The Unix socket on which training processes report their steps, as JSON lines."""

import asyncio
import os
import socket
import stat
import struct
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import cast

import structlog

from flyball_agent.errors import SocketRefused
from flyball_agent.runs.adjustment_messages import (
    AbleMessage,
    AbortedMessage,
    AppliedMessage,
    OomMessage,
    PreparedMessage,
    VetoMessage,
)
from flyball_agent.runs.listeners import AdjustmentListener, CaptureNotes, NoAdjustments, NoCaptures, TooManyMessages
from flyball_agent.runs.messages import (
    OK,
    BadLine,
    CapturedMessage,
    Envelope,
    Goodbye,
    Hello,
    Message,
    StepsMessage,
    adjustments_line,
    decode,
    error_line,
    ignored_line,
    kind_of,
)
from flyball_agent.runs.registry import RunRefused, RunRegistry, SocketPeer, TooManyReports
from flyball_agent.self_metrics import SelfMetrics

_log = structlog.get_logger(__name__)

MAX_LINE_BYTES = 64 * 1024
MAX_CONNECTIONS = 256
MAX_UNREAD_BYTES = 256 * 1024
LINES_A_SECOND = 50.0
BURST_LINES = 200.0
MAX_DROPPED_LINES = 5000
"""A client that sends so many lines in a row beyond the rate floods the agent: each of them still has to be split."""

_CREDENTIALS = struct.Struct("3i")


class ClientConnection(asyncio.Protocol):
    """One connection. It is closed if the peer sends too much or leaves answers unread, but not for invalid lines: a
    training must not end because of one bad number."""

    def __init__(self, server: "RunSocket") -> None:
        self._server = server
        self._transport: asyncio.Transport | None = None
        self._peer = SocketPeer(0, 0)
        self._hello: Hello | None = None
        self._buffer = b""
        self._tokens = BURST_LINES
        self._filled = 0.0
        self._dropped = 0  # in a row
        self._refused = False  # disconnected by us; what a client sent before it closed the connection still counts

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._filled = self._server.now()
        credentials = transport.get_extra_info("socket").getsockopt(
            socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size
        )
        pid, uid, _gid = _CREDENTIALS.unpack(credentials)
        self._peer = SocketPeer(max(0, pid), uid, self._server.next_connection())
        self._transport.set_write_buffer_limits(high=MAX_UNREAD_BYTES)
        if not self._server.admit(self):
            self._refuse(f"more than {MAX_CONNECTIONS} processes are connected", fatal=True)

    def data_received(self, data: bytes) -> None:
        *lines, self._buffer = (self._buffer + data).split(b"\n")
        for line in lines:
            if self._refused:
                return
            if len(line) > MAX_LINE_BYTES:
                break
            if line.strip():
                self._take(line)
        else:
            if len(self._buffer) <= MAX_LINE_BYTES:
                return
        self._refuse(f"a line is longer than {MAX_LINE_BYTES} bytes", fatal=True)

    def pause_writing(self) -> None:
        """Disconnect the peer, because it leaves its answers unread."""
        if self._transport is not None:
            self._transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002  the protocol's signature
        self._leave()
        self._server.remove(self)
        self._transport = None

    def is_of(self, pid: int, run: str) -> bool:
        """Return True for the connection of this process and run."""
        return self._peer.pid == pid and self._hello is not None and self._hello.run == run

    def is_peer(self, peer: SocketPeer) -> bool:
        """Return True for this connection of a process."""
        return self._peer == peer

    @property
    def has_run(self) -> bool:
        """Return True after a hello."""
        return self._hello is not None

    def push(self, line: bytes) -> bool:
        """Send a line that answers nothing. Return False to a peer that leaves earlier ones unread."""
        if self._transport is None or self._transport.is_closing() or self._transport.get_write_buffer_size():
            return False
        self._transport.write(line)
        return True

    def close(self) -> None:
        """Close the connection, because the agent stops."""
        if self._transport is not None:
            self._transport.close()

    def _take(self, line: bytes) -> None:
        if not self._has_token():
            self._drop()
            return
        self._dropped = 0
        try:
            self._handle(decode(line))
        except (BadLine, RunRefused, TooManyReports, TooManyMessages) as error:
            self._refuse(str(error), fatal=False)

    def _drop(self) -> None:
        """Drop a line beyond the rate. Answer the first one, and disconnect a flood."""
        self._dropped += 1
        if self._dropped == 1:
            self._refuse(f"more than {LINES_A_SECOND:g} lines a second; some are dropped", fatal=False)
        elif self._dropped > MAX_DROPPED_LINES:
            self._refuse(f"more than {MAX_DROPPED_LINES} lines in a row were too fast", fatal=True)

    def _handle(self, message: Message | Envelope) -> None:
        match message:
            case Envelope(kind):
                self._answer(ignored_line(kind))
            case Hello():
                self._leave()
                self._server.registry.open(self._peer, message, self._server.now())
                self._hello = message
                self._answer(OK)
                if self._server.adjustments.enabled:
                    self.push(adjustments_line(enabled=True))
            case StepsMessage():
                self._server.registry.report(self._peer, self._greeted("steps"), message)
                self._answer(OK)
            case CapturedMessage():
                self._server.captures.note(self._peer, message.id, message.state, message.detail)
                self._answer(OK)
            case Goodbye():
                self._leave()
                self._answer(OK)
            case _ if not self._server.adjustments.enabled:
                self._answer(ignored_line(kind_of(message)))
            case AbleMessage():
                self._server.adjustments.able(self._peer, self._greeted("able"), message)
                self._answer(OK)
            case OomMessage():
                self._server.adjustments.note_oom(self._peer, self._greeted("oom"), message)
                self._answer(OK)
            case PreparedMessage() | VetoMessage() | AppliedMessage() | AbortedMessage():
                kind = kind_of(message)
                if not self._server.adjustments.answer(self._peer, self._greeted(kind), message):
                    raise BadLine(f"{kind}: id: no adjustment {message.id!r} waits for this answer")
                self._answer(OK)

    def _greeted(self, kind: str) -> Hello:
        if self._hello is None:
            raise BadLine(f"{kind} before hello: send a hello with the run first")
        return self._hello

    def _leave(self) -> None:
        if self._hello is not None:
            self._server.registry.leave(self._peer, self._hello, self._server.now())
            self._server.captures.left(self._peer)
            self._server.adjustments.left(self._peer)
            self._hello = None

    def _answer(self, line: bytes) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(line)

    def _refuse(self, text: str, *, fatal: bool) -> None:
        self._server.self_metrics.client_errors += 1
        self._answer(error_line(text))
        self._refused = self._refused or fatal
        if fatal and self._transport is not None:
            _log.debug("client_disconnected", pid=self._peer.pid, uid=self._peer.uid, reason=text)
            self._transport.close()

    def _has_token(self) -> bool:
        now = self._server.now()
        self._tokens = min(BURST_LINES, self._tokens + (now - self._filled) * LINES_A_SECOND)
        self._filled = now
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True


class RunSocket:
    """Listens on the socket and keeps the list of connections."""

    def __init__(
        self, path: Path, registry: RunRegistry, self_metrics: SelfMetrics, now: Callable[[], float] | None = None
    ) -> None:
        self.path = path
        self.registry = registry
        self.self_metrics = self_metrics
        self.now = now if now is not None else asyncio.get_running_loop().time
        self._connections: set[ClientConnection] = set()
        self._server: asyncio.Server | None = None
        self._inode = 0
        self.next_connection = count(1).__next__
        self.captures: CaptureNotes = NoCaptures()
        self.adjustments: AdjustmentListener = NoAdjustments()

    async def start(self) -> None:
        """Start to listen. The socket of an agent that no longer runs is replaced."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            _remove_stale(self.path)
            listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC)
            listener.bind(str(self.path))
            listener.listen(MAX_CONNECTIONS)  # at once: until then, connections are refused
            self.path.chmod(0o666)  # every local user may report; the kernel provides the user id
            self._inode = self.path.stat().st_ino
        except OSError as error:
            raise SocketRefused(
                f"{self.path}: {error.strerror or error}: training processes cannot report; change socket_path"
            ) from None
        self._server = await asyncio.get_running_loop().create_unix_server(
            lambda: ClientConnection(self), sock=listener, backlog=MAX_CONNECTIONS
        )

    async def stop(self) -> None:
        """Close all connections and remove the socket file, if it is still ours."""
        if self._server is None:
            return
        self._server.close()
        for connection in list(self._connections):
            connection.close()
        try:
            if self.path.stat().st_ino == self._inode:
                self.path.unlink()
        except OSError:
            return

    def push(self, pid: int, run: str, line: bytes) -> bool:
        """Send a line to a process. Return False if it cannot receive it now."""
        return any(each.push(line) for each in list(self._connections) if each.is_of(pid, run))

    def push_to(self, peer: SocketPeer, line: bytes) -> bool:
        """Send a line on one connection. Return False if its process cannot receive it now."""
        return any(each.push(line) for each in list(self._connections) if each.is_peer(peer))

    def push_to_all(self, line: bytes) -> None:
        """Send a line to every process that has sent a hello and can receive it now."""
        for each in list(self._connections):
            if each.has_run:
                each.push(line)

    def admit(self, connection: ClientConnection) -> bool:
        """Add a connection. Return False if there are too many."""
        if len(self._connections) >= MAX_CONNECTIONS:
            return False
        self._connections.add(connection)
        self.self_metrics.clients = len(self._connections)
        return True

    def remove(self, connection: ClientConnection) -> None:
        self._connections.discard(connection)
        self.self_metrics.clients = len(self._connections)


def _remove_stale(path: Path) -> None:
    try:
        mode = os.lstat(path).st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(mode):
        raise SocketRefused(f"{path} exists and is not a socket: move it, or change socket_path")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(0.5)
        try:
            probe.connect(str(path))
        except (ConnectionRefusedError, FileNotFoundError):
            path.unlink(missing_ok=True)
            return
        except OSError as error:
            raise SocketRefused(f"{path}: {error.strerror or error}") from None
    raise SocketRefused(f"{path}: another agent listens there; stop it, or change socket_path")
