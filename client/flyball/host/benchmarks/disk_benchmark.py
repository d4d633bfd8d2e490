"""The disk of a folder: sequential writes and reads, and random operations, with the page cache defeated.

The file has no name while it is used: whatever ends this process, nothing is left on the disk.
"""

import errno
import mmap
import os
import random
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass

from flyball.host.benchmarks.benchmark_names import BenchmarkFailed
from flyball.host.hardware_parts import DiskSpeed

MEBIBYTE = 2**20
MOST_BYTES = 512 * MEBIBYTE
MOST_OF_FREE = 0.05
LEAST_BYTES = 8 * MEBIBYTE
"""Below this the caches of the disk itself would be measured."""

PAGE = 4096
FLUSH_EVERY = 16 * MEBIBYTE
"""Bytes that wait in the page cache at most, where it cannot be bypassed. Without this limit the final flush of a slow
disk would exceed the time."""

IN_MEMORY = "this file system is in memory: these are not the rates of a disk"
_REFUSED = frozenset({errno.EINVAL, errno.EOPNOTSUPP, errno.ENOTSUP, errno.ENOSYS})


@dataclass(frozen=True, slots=True)
class DiskTimes:
    """Seconds for each part. Together they are less than 3 s."""

    write: float = 1.2
    read: float = 0.6
    random_read: float = 0.5
    random_write: float = 0.5


def measure_disk(
    folder: str,
    *,
    most_bytes: int = MOST_BYTES,
    times: DiskTimes | None = None,
    direct: bool = True,
    in_memory: bool = False,
) -> DiskSpeed:
    """Return the speed of a folder's disk. Raise BenchmarkFailed if it cannot be written.

    A file system in memory has no cache to bypass, although newer kernels accept the flag for it.
    """
    times = times or DiskTimes()
    size = _size(folder, most_bytes)
    try:
        with _TestFile(folder, direct=direct and not in_memory) as file:
            written, write_rate = file.write(size, times.write)
            if written < PAGE:
                raise BenchmarkFailed(f"{folder}: not even {PAGE} bytes were written in {times.write:g} s")
            file.forget()
            return DiskSpeed(
                path=folder,
                bytes=written,
                write_mb_per_second=write_rate / 1e6,
                read_mb_per_second=file.read(written, times.read) / 1e6,
                random_reads_per_second=file.random_reads(written, times.random_read),
                random_writes_per_second=file.random_writes(written, times.random_write),
                direct=file.direct,
                note="" if file.direct else IN_MEMORY if in_memory else _note(file.drops_cache),
            )
    except OSError as error:
        raise BenchmarkFailed(f"{folder}: {error.strerror or error}") from None


def _note(drops_cache: bool) -> str:
    if drops_cache:
        return "the file system does not bypass the page cache: it was flushed after writes and dropped before reads"
    return "this system can neither bypass nor drop the page cache: reads may come from memory"


def _size(folder: str, most_bytes: int) -> int:
    try:
        found = os.statvfs(folder)
    except OSError as error:
        raise BenchmarkFailed(f"{folder}: {error.strerror or error}") from None
    free = found.f_bavail * found.f_frsize
    size = int(min(most_bytes, MOST_OF_FREE * free)) // MEBIBYTE * MEBIBYTE
    if size < LEAST_BYTES:
        raise BenchmarkFailed(
            f"{folder}: {free / 1e6:,.0f} MB are free, and a twentieth of them is too little to measure"
        )
    return size


class _TestFile:
    """A file without a name. Blocks are random bytes, so that a compressing file system gains nothing."""

    def __init__(self, folder: str, *, direct: bool) -> None:
        self._folder = folder
        self._wanted = direct
        self._descriptor = -1
        self.direct = False
        self.drops_cache = hasattr(os, "posix_fadvise")
        self._block = mmap.mmap(-1, MEBIBYTE)  # direct operations need memory that begins at a page
        self._block.write(os.urandom(MEBIBYTE))
        self._page = memoryview(self._block)[:PAGE]

    def __enter__(self) -> "_TestFile":
        self._descriptor = _nameless_file(self._folder)
        if self._wanted:
            self.direct = _bypass_cache(self._descriptor)
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._descriptor)
        self._page.release()
        self._block.close()

    def write(self, size: int, seconds: float) -> tuple[int, float]:
        """Write blocks until size or time is used up, and flush. Return bytes, and bytes per second."""
        started = time.perf_counter()
        written = 0
        while written < size and time.perf_counter() - started < seconds:
            written += self._write_at(self._block, written)
            if not self.direct and written % FLUSH_EVERY == 0:
                os.fsync(self._descriptor)
        os.fsync(self._descriptor)
        return written // PAGE * PAGE, written / max(time.perf_counter() - started, 1e-9)

    def forget(self) -> None:
        """Drop the file from the page cache, if it went through it."""
        if not self.direct and self.drops_cache:
            os.posix_fadvise(self._descriptor, 0, 0, os.POSIX_FADV_DONTNEED)

    def read(self, size: int, seconds: float) -> float:
        """Return the bytes per second of sequential reads."""
        started = time.perf_counter()
        done = 0
        while done < size and time.perf_counter() - started < seconds:
            done += os.preadv(self._descriptor, [self._block], done)
        return done / max(time.perf_counter() - started, 1e-9)

    def random_reads(self, size: int, seconds: float) -> float:
        """Return the reads of 4 KiB per second, one after the other."""
        self.forget()
        return _rate(lambda at: os.preadv(self._descriptor, [self._page], at), size, seconds)

    def random_writes(self, size: int, seconds: float) -> float:
        """Return the writes of 4 KiB per second, one after the other, each of them on the disk."""

        def write(at: int) -> None:
            os.pwritev(self._descriptor, [self._page], at)
            os.fdatasync(self._descriptor) if hasattr(os, "fdatasync") else os.fsync(self._descriptor)

        return _rate(write, size, seconds)

    def _write_at(self, block: mmap.mmap, at: int) -> int:
        """Write a block. A file system may accept the flag of direct operations, and then refuse the first of them."""
        try:
            return os.pwritev(self._descriptor, [block], at)
        except OSError as error:
            if not self.direct or error.errno not in _REFUSED:
                raise
            self.direct = False
            _use_cache(self._descriptor)
            return os.pwritev(self._descriptor, [block], at)


def _rate(operate: Callable[[int], object], size: int, seconds: float) -> float:
    places = random.Random(size)  # noqa: S311  places in a file
    pages = size // PAGE
    started = time.perf_counter()
    count = 0
    while (spent := time.perf_counter() - started) < seconds:
        operate(places.randrange(pages) * PAGE)
        count += 1
    return count / spent


def _nameless_file(folder: str) -> int:
    if hasattr(os, "O_TMPFILE"):
        try:
            return os.open(folder, os.O_RDWR | os.O_TMPFILE | os.O_CLOEXEC, 0o600)
        except OSError as error:
            if error.errno not in _REFUSED | {errno.EISDIR, errno.ENOENT}:  # file systems without such files
                raise
    descriptor, path = tempfile.mkstemp(prefix=".flyball-", dir=folder)
    os.unlink(path)  # noqa: PTH108  a string
    return descriptor


def _bypass_cache(descriptor: int) -> bool:
    """Make the operations of a file bypass the page cache. Return False if this is not possible."""
    import fcntl

    try:
        if hasattr(os, "O_DIRECT"):
            fcntl.fcntl(descriptor, fcntl.F_SETFL, fcntl.fcntl(descriptor, fcntl.F_GETFL) | os.O_DIRECT)
            return True
        fcntl.fcntl(descriptor, getattr(fcntl, "F_NOCACHE", 48), 1)  # macOS
    except OSError:
        return False
    return True


def _use_cache(descriptor: int) -> None:
    import fcntl

    if hasattr(os, "O_DIRECT"):
        fcntl.fcntl(descriptor, fcntl.F_SETFL, fcntl.fcntl(descriptor, fcntl.F_GETFL) & ~os.O_DIRECT)
