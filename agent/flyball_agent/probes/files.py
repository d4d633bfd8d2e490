"""Reads files of procfs and sysfs. Files stay open, so that reading one again needs no path lookup."""

import errno
import os
from collections.abc import Iterable
from pathlib import Path

from flyball_agent.probes.probe import Absent, Denied, Unavailable, Unsupported

_ABSENT_CODES = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ENODEV, errno.ENXIO})
_DENIED_CODES = frozenset({errno.EACCES, errno.EPERM})
LARGEST = 2**63 - 1
"""The largest value that a record can hold."""

RETRY_EVERY = 30
"""Number of readings after which an unreadable optional file is tried again."""

_UNSUPPORTED_CODES = frozenset({errno.EOPNOTSUPP, errno.EINVAL, errno.ENODATA, errno.ENOSYS, errno.EAGAIN})


def unavailable(path: str | Path, error: OSError, absent_remedy: str = "", denied_remedy: str = "") -> Unavailable:
    """Return the reason why a file cannot be read. The text is the same at each tick."""
    detail = f"{path}: {os.strerror(error.errno) if error.errno else error}"
    if error.errno in _ABSENT_CODES:
        return Absent(detail, absent_remedy)
    if error.errno in _DENIED_CODES:
        return Denied(detail, denied_remedy or f"give the agent's user read permission for {path}")
    return Unsupported(detail) if error.errno in _UNSUPPORTED_CODES else Unavailable(detail)


class KernelFile:
    """One file of procfs or sysfs.

    Set `records` for files that the kernel generates line by line (`diskstats`, `vmstat`, `net/dev`): a read of these
    stops at a page boundary, so that only an empty read means the end. Other files arrive in one read if the buffer is
    large enough.
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
        """Return the content of the file. Raise `Unavailable` with the reason if it cannot be read."""
        if self._descriptor >= 0:
            try:
                return self._content()
            except OSError:  # the device was removed or replaced: open the file again
                self.close()
        try:
            self._descriptor = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
            return self._content()
        except OSError as error:
            self.close()
            raise unavailable(self.path, error, self._absent_remedy, self._denied_remedy) from None

    def read_optional(self) -> bytes:
        """Return the content of the file, or nothing. An unreadable file is not tried again at each tick."""
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
            self._size *= 2  # so that one read suffices next time
        parts, offset = [data], len(data)
        while piece := os.pread(self._descriptor, self._size, offset):
            parts.append(piece)
            offset += len(piece)
        return b"".join(parts)

    def close(self) -> None:
        """Close the file. The next read opens it again."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def __del__(self) -> None:
        self.close()


def number(data: bytes) -> int | None:
    """Parse `data` as a number; return None if it is not a number."""
    try:
        return int(data)
    except ValueError:
        return None


def count(data: bytes, factor: int = 1) -> int | None:
    """Parse a number that cannot be negative, times a factor; return None for anything else.

    Some counters of the kernel have run below zero. It prints these as negative numbers or as almost 2**64.
    """
    try:
        value = int(data) * factor
    except ValueError:
        return None
    return value if 0 <= value <= LARGEST else None


def counts(fields: Iterable[bytes], factor: int = 1) -> list[int] | None:
    """Parse numbers that cannot be negative; return None if any of them is not, or does not fit times the factor."""
    try:
        values = [int(field) for field in fields]
    except ValueError:
        return None
    return values if not values or (min(values) >= 0 and max(values) * factor <= LARGEST) else None


def count_of(file: KernelFile, factor: int = 1) -> int | None:
    """Return the number in an optional file that cannot be negative, times a factor, or None."""
    return count(file.read_optional(), factor)


def number_after(data: bytes, key: bytes, end: bytes = b"\n", factor: int = 1) -> int | None:
    """Parse the number between `key` and the next `end`, times a factor; return None if there is none.

    Begin `key` with a newline, so that it does not match the end of a longer key.
    """
    start = data.find(key)
    if start < 0:
        return None
    start += len(key)
    stop = data.find(end, start)
    try:  # as in `count`, without a second call: a tick reads a hundred such numbers
        value = int(data[start:stop] if stop >= 0 else data[start:]) * factor
    except ValueError:
        return None
    return value if 0 <= value <= LARGEST else None


def read_text(path: Path) -> str | None:
    """Return the stripped text of a small file that is not kept open, or None if it cannot be read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except (OSError, ValueError):  # a name that came from a damaged file may contain a zero byte
        return None


def read_number(path: Path) -> int | None:
    """Return the number in a small file that is not kept open, or None if it cannot be read."""
    text = read_text(path)
    return None if text is None else number(text.encode())


def entries(directory: Path) -> list[str]:
    """Return the names in a directory, in natural order; an empty list if it does not exist."""
    try:
        return sorted(os.listdir(directory), key=_natural)  # noqa: PTH208  names, not paths, are wanted
    except OSError:
        return []


def _natural(name: str) -> tuple[int, str]:
    """Return a sort key that places node2 before node10."""
    return len(name), name
