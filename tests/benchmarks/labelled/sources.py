"""Sources of a training loop's batches: memory, files, mapped pages, a data server, a name service."""

import mmap
import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tests.benchmarks.labelled.plan import REQUEST, LoopPlan, SourcePlan

Batch = NDArray[np.float32]
PAGE = mmap.PAGESIZE
NAME_SECONDS = 2.0


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
            return FileSource(Path(plan.folder) / "data.bin", source.amount, shape, is_cold)
        case "mapped":
            return MappedSource(Path(plan.folder) / "data.bin", source, shape, is_cold)
        case "anonymous":
            return AnonymousSource(source, shape)
        case "remote":
            return RemoteSource(plan.data_port, source.amount, shape)
        case "resolver":
            return ResolverSource(plan.resolver_port, source.amount, shape)


def _decode(raw: NDArray[np.uint8], shape: tuple[int, int]) -> Batch:
    """Bytes as pixels: what a loader makes of what it has read."""
    count = shape[0] * shape[1]
    batch = np.resize(raw, count).astype(np.float32)
    batch *= 1 / 255
    return batch.reshape(shape)


def _read_through(file: int) -> None:
    """Have a file in the page cache."""
    room, place = bytearray(2**22), 0
    while count := os.preadv(file, [room], place):
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

    def __init__(self, path: Path, amount: int, shape: tuple[int, int], is_cold: Callable[[], bool]) -> None:
        self._amount = -(-amount // PAGE) * PAGE
        self._room = mmap.mmap(-1, self._amount)
        self._cached = os.open(path, os.O_RDONLY)
        self._direct = os.open(path, os.O_RDONLY | os.O_DIRECT)
        self._places = max(1, os.fstat(self._cached).st_size // self._amount)
        self._shape = shape
        self._is_cold = is_cold
        if not is_cold():
            _read_through(self._cached)

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

    def __init__(self, port: int, amount: int, shape: tuple[int, int]) -> None:
        self._connection = socket.create_connection(("127.0.0.1", port), 30)
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
