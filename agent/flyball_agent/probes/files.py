"""Files of procfs and sysfs, kept open and read again without a path walk; or the reason why they cannot be read."""

import errno
import os
from pathlib import Path

from flyball_agent.probes.probe import Absent, Denied, Unavailable, Unsupported

_GONE = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ENODEV, errno.ENXIO})
_REFUSED = frozenset({errno.EACCES, errno.EPERM})
RETRY_EVERY = 30
"""Readings after which an optional file that could not be read is tried again."""

_CANNOT = frozenset({errno.EOPNOTSUPP, errno.EINVAL, errno.ENODATA, errno.ENOSYS, errno.EAGAIN})


def unavailable(path: str | Path, error: OSError, absent_remedy: str = "", denied_remedy: str = "") -> Unavailable:
    """Why this file cannot be read, in words that stay the same from tick to tick."""
    said = f"{path}: {os.strerror(error.errno) if error.errno else error}"
    if error.errno in _GONE:
        return Absent(said, absent_remedy)
    if error.errno in _REFUSED:
        return Denied(said, denied_remedy or f"let the agent's user read {path}")
    return Unsupported(said) if error.errno in _CANNOT else Unavailable(said)


class KernelFile:
    """One file of procfs or sysfs.

    `records` is for files that the kernel writes line by line (`diskstats`, `vmstat`, `net/dev`): a read then stops at
    a page boundary, so that only an empty read means the end. Other files come whole when the buffer is large enough.
    """

    __slots__ = ("_absent_remedy", "_denied_remedy", "_descriptor", "_records", "_size", "_skip", "path")

    def __init__(
        self,
        path: Path,
        *,
        records: bool = False,
        size: int = 4096,
        absent_remedy: str = "",
        denied_remedy: str = "",
    ) -> None:
        self._descriptor = -1
        self.path = path
        self._records = records
        self._size = size
        self._skip = 0
        self._absent_remedy = absent_remedy
        self._denied_remedy = denied_remedy

    def read(self) -> bytes:
        """All that the file says now; raises `Unavailable` with the reason."""
        if self._descriptor >= 0:
            try:
                return self._content()
            except OSError:  # the device went away, or came back as another one: open afresh
                self.close()
        try:
            self._descriptor = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
            return self._content()
        except OSError as error:
            self.close()
            raise unavailable(self.path, error, self._absent_remedy, self._denied_remedy) from None

    def read_optional(self) -> bytes:
        """All that the file says, or nothing; one that cannot be read is not tried at each tick."""
        if self._skip:
            self._skip -= 1
            return b""
        try:
            return self.read()
        except Unavailable:
            self._skip = RETRY_EVERY - 1
            return b""

    def _content(self) -> bytes:
        data = os.pread(self._descriptor, self._size, 0)
        if len(data) < self._size and not self._records:
            return data
        if len(data) == self._size:
            self._size *= 2  # whole next time
        parts, offset = [data], len(data)
        while piece := os.pread(self._descriptor, self._size, offset):
            parts.append(piece)
            offset += len(piece)
        return b"".join(parts)

    def close(self) -> None:
        """Let go of the file; the next read opens it again."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def __del__(self) -> None:
        self.close()


def number(data: bytes) -> int | None:
    """The number that is all of `data`; None when there is none."""
    try:
        return int(data)
    except ValueError:
        return None


def number_after(data: bytes, key: bytes, end: bytes = b"\n") -> int | None:
    """The number between `key` and the next `end`; None when it is not there. Anchor `key` by a leading newline."""
    start = data.find(key)
    if start < 0:
        return None
    start += len(key)
    stop = data.find(end, start)
    return number(data[start:stop] if stop >= 0 else data[start:])


def read_text(path: Path) -> str | None:
    """A small file's stripped text, for things that are read once; None when it cannot be read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return None


def read_number(path: Path) -> int | None:
    """A small file's number, for things that are read once; None when it cannot be read."""
    text = read_text(path)
    return None if text is None else number(text.encode())


def entries(directory: Path) -> list[str]:
    """Names in a directory in a stable order; none when it does not exist."""
    try:
        return sorted(os.listdir(directory), key=_natural)  # noqa: PTH208  names, not paths, are wanted
    except OSError:
        return []


def _natural(name: str) -> tuple[int, str]:
    """node2 before node10."""
    return len(name), name
