"""The socket on which processes deliver results: one message with a description and an open file, then the end.

The file comes as a descriptor (SCM_RIGHTS), so the agent needs no permission for its path, and a process can deliver
only what it can read itself. The socket is beside the agent's, so it is there in containers that have that folder.
"""

import asyncio
import json
import os
import socket
import stat
import struct
from pathlib import Path

import structlog

from flyball_agent.captures.client_answers import ClientAnswers, ClientResult

_log = structlog.get_logger(__name__)

SUFFIX = ".captures"
MAX_CONNECTIONS = 32
CONNECTION_SECONDS = 5.0
_MAX_MESSAGE_BYTES = 4096
_MAX_DESCRIPTORS = 4
_CREDENTIALS = struct.Struct("3i")
_LONGEST = {"id": 64, "file_name": 64, "detail": 500}


class ResultSocket:
    """Listens while the agent runs. Each connection may deliver one result."""

    def __init__(self, path: Path, answers: ClientAnswers) -> None:
        self.path = path
        self._answers = answers
        self._listener: socket.socket | None = None
        self._open: dict[int, tuple[socket.socket, asyncio.TimerHandle]] = {}
        self.refused = 0

    def start(self) -> None:
        """Start to listen. The caller holds the agent's socket, so a file that exists here is an earlier agent's."""
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC)
        try:
            self.path.unlink(missing_ok=True)
            listener.bind(str(self.path))
            self.path.chmod(0o666)  # every user's training may deliver; the kernel provides the process id
            listener.listen(MAX_CONNECTIONS)
        except OSError as error:
            listener.close()
            remedy = "only stacks can be captured; use a shorter socket_path"
            _log.warning(
                "captures_socket_failed", path=str(self.path), error=error.strerror or str(error), remedy=remedy
            )
            return
        self._listener = listener
        asyncio.get_running_loop().add_reader(listener, self._accept)

    def stop(self) -> None:
        """Close everything and remove the file."""
        if self._listener is None:
            return
        asyncio.get_running_loop().remove_reader(self._listener)
        self._listener.close()
        for descriptor in list(self._open):
            self._close(descriptor)
        self.path.unlink(missing_ok=True)

    def _accept(self) -> None:
        assert self._listener is not None  # noqa: S101  it is readable, so it exists
        try:
            connection, _ = self._listener.accept()
        except OSError:
            return
        if len(self._open) >= MAX_CONNECTIONS:
            self.refused += 1
            connection.close()
            return
        connection.setblocking(False)
        loop, descriptor = asyncio.get_running_loop(), connection.fileno()
        self._open[descriptor] = connection, loop.call_later(CONNECTION_SECONDS, self._close, descriptor)
        loop.add_reader(connection, self._read, descriptor)

    def _close(self, descriptor: int) -> None:
        connection, timer = self._open.pop(descriptor)
        timer.cancel()
        asyncio.get_running_loop().remove_reader(connection)
        connection.close()

    def _read(self, descriptor: int) -> None:
        connection, _ = self._open[descriptor]
        try:
            message, descriptors, _, _ = socket.recv_fds(connection, _MAX_MESSAGE_BYTES, _MAX_DESCRIPTORS)
            pid = _CREDENTIALS.unpack(connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size))[
                0
            ]
        except BlockingIOError:
            return
        except OSError:
            message, descriptors, pid = b"", [], 0
        self._close(descriptor)
        taken = self._deliver(message, descriptors[0], pid) if descriptors else False
        self.refused += not taken
        for received in descriptors[1:] if taken else descriptors:
            os.close(received)

    def _deliver(self, message: bytes, descriptor: int, pid: int) -> bool:
        """Pass a result on. Return False if it is not one that somebody waits for."""
        try:
            fields = json.loads(message)
            capture, name, detail = (str(fields.get(key, ""))[:most] for key, most in _LONGEST.items())
        except (ValueError, AttributeError, RecursionError):
            return False
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):  # reading a pipe or a device could hang
            self._answers.fail(capture, pid, "the process delivered something that is not a regular file")
            return False
        return self._answers.deliver(capture, pid, ClientResult(descriptor, name, detail))


def close_result(result: ClientResult) -> None:
    """Close the file of a result."""
    os.close(result.descriptor)
