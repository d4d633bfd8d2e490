"""Results of captures in files, until the collector has stored them, and the states of orders.

One part of a result is sent at a time. The next one follows when the collector has stored it, so a capture takes as
much of the line as the collector asks for, and never more than one part before a record.
"""

import contextlib
import hashlib
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from flyball_agent.captures.order import CaptureFailed
from flyball_proto.v1 import telemetry_pb2 as pb

PART_BYTES = 128 * 1024
"""On a line of 10 Mbit/s, a record waits for 0.1 s behind a part of this size."""

MAX_WAITING_BYTES = 512 * 1024 * 1024
MAX_WAITING = 64
MAX_STATES = 256
_COPY_BYTES = 1024 * 1024
_LONGEST_DETAIL = 500


@dataclass(frozen=True, slots=True)
class ResultNote:
    """The description of a result."""

    source: str
    file_name: str
    detail: str = ""


@dataclass(slots=True)
class _Waiting:
    path: Path
    note: ResultNote
    size: int
    sha256: bytes
    offset: int = 0
    in_flight: bool = False


class CaptureResults:
    """Filled by the orders' tasks and threads, emptied by the uplink. One lock protects it; files are read outside."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._states: dict[str, pb.Captured] = {}
        self._waiting: dict[str, _Waiting] = {}
        self._wake: Callable[[], None] = lambda: None

    def prepare(self) -> None:
        """Make the folder, and delete what an earlier agent left in it: the collector no longer waits for that."""
        with contextlib.suppress(OSError):  # adding a result reports the reason
            self._folder.mkdir(mode=0o700, exist_ok=True)
            for file in self._folder.iterdir():
                file.unlink(missing_ok=True)

    def begin_stream(self, wake: Callable[[], None]) -> None:
        """Send to a new stream from now on. A part that the last stream did not get through is sent again."""
        with self._lock:
            self._wake = wake
            for waiting in self._waiting.values():
                waiting.in_flight = False

    def report(self, capture: str, state: "pb.Captured.State.ValueType", detail: str = "") -> None:
        """Set the state of an order. A newer state replaces one that was not sent yet."""
        with self._lock:
            if capture in self._states or len(self._states) < MAX_STATES:
                self._states[capture] = pb.Captured(id=capture, state=state, detail=detail[:_LONGEST_DETAIL])
        self._wake()

    def add_bytes(self, capture: str, body: bytes, note: ResultNote) -> None:
        """Keep a result for the collector. It blocks. Raise `CaptureFailed` if there is no room."""
        path = self._folder / capture
        self._check_room(len(body))
        try:
            self._folder.mkdir(mode=0o700, exist_ok=True)
            path.write_bytes(body)
        except OSError as error:
            raise _not_written(path, error) from None
        self._add(capture, _Waiting(path, note, len(body), hashlib.sha256(body).digest()))

    def add_file(self, capture: str, descriptor: int, max_bytes: int, note: ResultNote) -> None:
        """Copy a result from an open file, at most `max_bytes` even if it grows meanwhile. It blocks."""
        size = os.fstat(descriptor).st_size
        if size > max_bytes:
            raise CaptureFailed(f"the result has {size:,} bytes; the limit is {max_bytes:,}. Ask for fewer steps")
        self._check_room(size)
        path, digest, copied = self._folder / capture, hashlib.sha256(), 0
        try:
            self._folder.mkdir(mode=0o700, exist_ok=True)
            with path.open("wb") as target:
                while copied < size and (part := _read(descriptor, min(_COPY_BYTES, size - copied), copied)):
                    target.write(part)
                    digest.update(part)
                    copied += len(part)
        except (OSError, CaptureFailed) as error:
            path.unlink(missing_ok=True)
            raise error if isinstance(error, CaptureFailed) else _not_written(path, error) from None
        self._add(capture, _Waiting(path, note, copied, digest.digest()))

    def forget(self, capture: str) -> None:
        """Delete a result."""
        with self._lock:
            waiting = self._waiting.pop(capture, None)
            self._states.pop(capture, None)
        if waiting is not None:
            with contextlib.suppress(OSError):
                waiting.path.unlink(missing_ok=True)

    def take_next(self, message: pb.CaptureNext) -> None:
        """Go on with a result from where the collector asks, or delete it if the collector needs no more."""
        with self._lock:
            waiting = self._waiting.get(message.id)
            if waiting is not None and not message.forget:
                waiting.offset, waiting.in_flight = min(message.offset, waiting.size), False
        if message.forget:
            self.forget(message.id)
        self._wake()

    @property
    def ready(self) -> bool:
        """Return True if there is something to send now."""
        return bool(self._states) or any(not each.in_flight for each in list(self._waiting.values()))

    def next_message(self) -> pb.Captured | None:
        """Return the next state or part to send. It reads a file, so call it in a thread."""
        with self._lock:
            if self._states:
                return self._states.pop(next(iter(self._states)))
            found = next(((name, each) for name, each in self._waiting.items() if not each.in_flight), None)
            if found is None:
                return None
            name, waiting = found
            waiting.in_flight = True
        try:
            with waiting.path.open("rb") as file:
                data = os.pread(file.fileno(), PART_BYTES, waiting.offset)
        except OSError as error:
            self.forget(name)
            reason = f"cannot read the result again: {error.strerror or error}"
            return pb.Captured(id=name, state=pb.Captured.FAILED, detail=reason)
        return pb.Captured(
            id=name,
            state=pb.Captured.DATA,
            detail=waiting.note.detail[:_LONGEST_DETAIL],
            source=waiting.note.source,
            file_name=waiting.note.file_name,
            size_bytes=waiting.size,
            offset=waiting.offset,
            data=data,
            sha256=waiting.sha256,
        )

    def _check_room(self, size: int) -> None:
        with self._lock:
            used = sum(each.size for each in self._waiting.values())
            if used + size > MAX_WAITING_BYTES or len(self._waiting) >= MAX_WAITING:
                raise CaptureFailed(
                    f"{len(self._waiting)} results with {used:,} bytes wait for the collector; try again later"
                )

    def _add(self, capture: str, waiting: _Waiting) -> None:
        with self._lock:
            self._waiting[capture] = waiting
        self._wake()


def _read(descriptor: int, size: int, offset: int) -> bytes:
    try:
        return os.pread(descriptor, size, offset)
    except OSError as error:
        raise CaptureFailed(f"the file of the process cannot be read: {error.strerror or error}") from None


def _not_written(path: Path, error: OSError) -> CaptureFailed:
    return CaptureFailed(f"the agent cannot write {path}: {error.strerror or error}")
