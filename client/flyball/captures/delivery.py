"""Delivers a result to the agent: as an open file, so that no permission for a path matters. It never waits."""

import gzip
import json
import os
import shutil
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

from flyball.captures.capture_order import CaptureOrder
from flyball.captures.capture_run import CaptureUnavailable
from flyball.training.agent_socket import candidates

SUFFIX = ".captures"
"""Of the socket for results; it is beside the agent's."""

_GZIP_LEVEL = 1
_COPY_BYTES = 1024 * 1024


class ResultFolder:
    """A private folder for the files of one capture. It is deleted at the end, whatever happens."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="flyball-capture-"))

    def __enter__(self) -> Path:
        return self.path

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self.path, ignore_errors=True)


def compress(source: Path, target: Path) -> None:
    """Compress a file quickly: the training waits meanwhile."""
    with source.open("rb") as read, gzip.open(target, "wb", _GZIP_LEVEL) as written:
        shutil.copyfileobj(read, written, _COPY_BYTES)


def write_json(path: Path, document: object) -> None:
    """Write a document, compressed if its name ends with .gz."""
    body = json.dumps(document, indent=1, default=str).encode()
    path.write_bytes(gzip.compress(body, _GZIP_LEVEL) if path.suffix == ".gz" else body)


def deliver(order: CaptureOrder, path: Path, detail: str = "") -> None:
    """Pass a file to the agent. Raise `CaptureUnavailable` with the reason if that is not possible."""
    size = path.stat().st_size
    if size > order.max_bytes:
        raise CaptureUnavailable(
            f"the result has {size:,} bytes; the limit is {order.max_bytes:,}. Ask for fewer steps"
        )
    line = {"kind": "captured", "id": order.id, "state": "done", "file_name": path.name, "detail": detail[:500]}
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        _send(json.dumps(line).encode() + b"\n", descriptor, order.socket)
    finally:
        os.close(descriptor)


def _send(line: bytes, descriptor: int, named: str) -> None:
    faults: list[str] = []
    for place in _places(named):
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.setblocking(False)
            try:
                connection.connect(place)
                socket.send_fds(connection, [line], [descriptor])
            except (OSError, ValueError) as error:
                faults.append(f"{place}: {getattr(error, 'strerror', None) or error}")
            else:
                return
    reason = "; ".join(faults) or "the agent named no socket"
    raise CaptureUnavailable(f"cannot deliver the result to the agent: {reason}. A container needs the socket's folder")


def _places(named: str) -> Iterator[str]:
    """Yield where the socket for results may be: as the agent names it, and as this process sees the agent's folder."""
    own = [os.path.realpath(path) + SUFFIX for path in candidates()]
    yield from dict.fromkeys([named, *own] if named else own)
