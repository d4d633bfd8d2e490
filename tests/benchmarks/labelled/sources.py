"""Sources of a training loop's batches: memory, files, mapped pages, a data server, a name service, Python code."""

import mmap
import multiprocessing
import os
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tests.benchmarks.labelled.plan import REQUEST, LoopPlan, SourcePlan

Batch = NDArray[np.float32]
PAGE = mmap.PAGESIZE
NAME_SECONDS = 2.0
SMALL_FILES, SMALL_FILES_A_FOLDER = "small", 250

_LOCK = multiprocessing.get_context("fork").Lock()
"""Shared by the workers, which are forked from a process that has imported this module."""


class Source(Protocol):
    """Gives the next batch; `cold` is what the experiment may change while it runs."""

    def load(self, rng: np.random.Generator) -> Batch: ...


def build_source(source: SourcePlan, plan: LoopPlan, is_cold: Callable[[], bool]) -> Source:
    """The source that a plan describes."""
    shape = (plan.batch, plan.features)
    match source.kind:
        case "memory":
            return MemorySource(shape)
        case "file":
            return FileSource(Path(plan.folder) / source.folder / "data.bin", source, shape, is_cold)
        case "small_files":
            return SmallFilesSource(Path(plan.folder) / SMALL_FILES, source.amount, shape, is_cold)
        case "python":
            return PythonSource(source.amount, shape, is_cold)
        case "locked":
            return LockedSource(source.amount / 1e3, shape, is_cold)
        case "mapped":
            return MappedSource(Path(plan.folder) / "data.bin", source, shape, is_cold)
        case "anonymous":
            return AnonymousSource(source, shape)
        case "remote":
            return RemoteSource(plan.host, plan.data_port, source.amount, shape)
        case "resolver":
            return ResolverSource(plan.resolver_port, source.amount, shape)


def _decode(raw: NDArray[np.uint8], shape: tuple[int, int]) -> Batch:
    """Bytes as pixels: what a loader makes of what it has read."""
    count = shape[0] * shape[1]
    batch = np.resize(raw, count).astype(np.float32)
    batch *= 1 / 255
    return batch.reshape(shape)


def _read_through(file: int, size: int) -> None:
    """Have the beginning of a file in the page cache."""
    room, place = bytearray(2**22), 0
    while place < size and (count := os.preadv(file, [room], place)):
        place += count


class MemorySource:
    """A data set that fits into memory."""

    def __init__(self, shape: tuple[int, int]) -> None:
        self._data = np.random.default_rng(1).random((4 * shape[0], shape[1]), dtype=np.float32)
        self._rows = shape[0]

    def load(self, rng: np.random.Generator) -> Batch:
        """Some rows, shuffled."""
        return self._data[rng.integers(0, len(self._data), self._rows)]


class FileSource:
    """Positioned reads; while it is cold, past the page cache, as of a data set larger than memory."""

    def __init__(self, path: Path, source: SourcePlan, shape: tuple[int, int], is_cold: Callable[[], bool]) -> None:
        self._amount = -(-source.amount // PAGE) * PAGE
        self._room = mmap.mmap(-1, self._amount)
        self._cached = os.open(path, os.O_RDONLY)
        self._direct = os.open(path, os.O_RDONLY | os.O_DIRECT)
        size = os.fstat(self._cached).st_size
        self._places = max(1, min(source.size or size, size) // self._amount)
        self._shape = shape
        self._is_cold = is_cold
        if source.size:
            os.posix_fadvise(self._cached, 0, 0, os.POSIX_FADV_DONTNEED)  # it is charged to who reads it first
        if not is_cold():
            _read_through(self._cached, self._places * self._amount)

    def load(self, rng: np.random.Generator) -> Batch:
        """One stretch of the file."""
        place = int(rng.integers(0, self._places)) * self._amount
        os.preadv(self._direct if self._is_cold() else self._cached, [self._room], place)
        return _decode(np.frombuffer(self._room, dtype=np.uint8), self._shape)


class MappedSource:
    """Random pages of a mapped file; while it is cold, the kernel drops them from its cache after each batch."""

    def __init__(self, path: Path, source: SourcePlan, shape: tuple[int, int], is_cold: Callable[[], bool]) -> None:
        self._file = os.open(path, os.O_RDONLY)
        self._size = min(source.size, os.fstat(self._file).st_size) // PAGE * PAGE
        os.posix_fadvise(self._file, 0, 0, os.POSIX_FADV_DONTNEED)  # it is charged to who reads it first
        self._map = mmap.mmap(self._file, self._size, prot=mmap.PROT_READ)
        self._pages = np.frombuffer(self._map, dtype=np.uint8).reshape(-1, PAGE)
        self._amount = source.amount
        self._shape = shape
        self._is_cold = is_cold
        self._was_cold = False
        self._pages[:, 0].max()  # warm
        if source.scattered:
            self._map.madvise(mmap.MADV_RANDOM)

    def load(self, rng: np.random.Generator) -> Batch:
        """Touch pages."""
        cold = self._is_cold()
        if cold:
            self._map.madvise(mmap.MADV_DONTNEED)
            os.posix_fadvise(self._file, 0, self._size, os.POSIX_FADV_DONTNEED)
        elif self._was_cold:
            os.posix_fadvise(self._file, 0, self._size, os.POSIX_FADV_WILLNEED)
        self._was_cold = cold
        return _decode(self._pages[rng.integers(0, len(self._pages), self._amount), 0], self._shape)


class AnonymousSource:
    """Random pages of memory that was read in beforehand."""

    def __init__(self, source: SourcePlan, shape: tuple[int, int]) -> None:
        self._pages = np.empty((source.size // PAGE, PAGE), dtype=np.uint8)
        self._pages[:] = np.random.default_rng(2).integers(0, 256, PAGE, dtype=np.uint8)
        self._amount = source.amount
        self._shape = shape

    def load(self, rng: np.random.Generator) -> Batch:
        """Touch pages, and change some: an augmentation in place."""
        chosen = rng.integers(0, len(self._pages), self._amount)
        self._pages[chosen, 1] += 1
        return _decode(self._pages[chosen, 0], self._shape)


class RemoteSource:
    """Batches from a data server, one request each."""

    def __init__(self, host: str, port: int, amount: int, shape: tuple[int, int]) -> None:
        self._connection = socket.create_connection((host, port), 30)
        self._connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._room = bytearray(amount)
        self._shape = shape

    def load(self, rng: np.random.Generator) -> Batch:  # noqa: ARG002  the server chooses
        """Ask, and wait for all of it."""
        self._connection.sendall(REQUEST.pack(len(self._room)))
        view, had = memoryview(self._room), 0
        while had < len(view):
            count = self._connection.recv_into(view[had:])
            if not count:
                raise ConnectionError("the data server is gone")
            had += count
        return _decode(np.frombuffer(self._room, dtype=np.uint8), self._shape)

    def __del__(self) -> None:
        self._connection.close()


class ResolverSource:
    """Names are looked up before a batch is taken from memory."""

    def __init__(self, port: int, amount: int, shape: tuple[int, int]) -> None:
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.connect(("127.0.0.1", port))
        self._socket.settimeout(NAME_SECONDS)
        self._amount = amount
        self._memory = MemorySource(shape)

    def load(self, rng: np.random.Generator) -> Batch:
        """Look up, then load."""
        for _ in range(self._amount):
            self._socket.send(b"shard-17.storage.example")
            self._socket.recv(512)
        return self._memory.load(rng)

    def __del__(self) -> None:
        self._socket.close()


class SmallFilesSource:
    """Whole small files, chosen at random; while it is cold, each is dropped from the page cache after it was read."""

    def __init__(self, folder: Path, amount: int, shape: tuple[int, int], is_cold: Callable[[], bool]) -> None:
        self._paths = sorted(str(path) for path in folder.rglob("*.bin"))
        self._amount, self._shape, self._is_cold = amount, shape, is_cold
        for path in self._paths:
            self._read(path, cold=is_cold())

    def load(self, rng: np.random.Generator) -> Batch:
        """Read files."""
        cold = self._is_cold()
        chosen = rng.integers(0, len(self._paths), self._amount)
        raw = b"".join(self._read(self._paths[place], cold=cold) for place in chosen)
        return _decode(np.frombuffer(raw, dtype=np.uint8), self._shape)

    @staticmethod
    def _read(path: str, *, cold: bool) -> bytes:
        file = os.open(path, os.O_RDONLY)
        try:
            data = os.read(file, 2**20)
            if cold:
                os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(file)
        return data


class PythonSource:
    """Each batch is decoded in pure Python while it is cold: in threads, that keeps the interpreter's lock."""

    def __init__(self, steps: int, shape: tuple[int, int], is_cold: Callable[[], bool]) -> None:
        self._steps, self._is_cold = steps, is_cold
        self._memory = MemorySource(shape)

    def load(self, rng: np.random.Generator) -> Batch:
        """Decode, then load."""
        total = 0
        for step in range(self._steps if self._is_cold() else 0):
            total ^= step * 31 & 255
        return self._memory.load(rng)


class LockedSource:
    """While it is cold, one worker at a time waits for an index that all of them share."""

    def __init__(self, seconds: float, shape: tuple[int, int], is_cold: Callable[[], bool]) -> None:
        self._seconds, self._is_cold = seconds, is_cold
        self._memory = MemorySource(shape)

    def load(self, rng: np.random.Generator) -> Batch:
        """Wait for the others, then load."""
        if self._is_cold():
            with _LOCK:
                time.sleep(self._seconds)
        return self._memory.load(rng)
