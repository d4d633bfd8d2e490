"""Finds the processes that train where neither a GPU nor a client names them: by the libraries in their memory."""

import os
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO

from flyball_agent.probes.training.process_times import ProcessCounters, parse_stat

LIBRARIES = (
    b"/libtorch", b"/jaxlib/", b"/tensorflow/", b"/libxgboost", b"/lightgbm/", b"/sklearn/", b"/catboost/",
    b"/mxnet/", b"/libpaddle", b"/mindspore/", b"/numpy/", b"libopenblas", b"/libmkl_", b"/cupy/", b"/onnxruntime/",
)  # fmt: skip
"""Parts of paths of libraries that compute with arrays. A process that has loaded none of them does not train."""

YOUNG_CPU_SECONDS = 0.3
"""A process that has used less CPU time has not loaded its libraries yet, or does nothing worth watching."""

WORKING = 0.03
"""Share of a core from which on a process counts as working."""

OF_THE_HEAVIEST = 0.25
"""A process that uses a smaller part of what the heaviest one uses is not a training beside it."""

IDLE_SECONDS = 30.0
"""After this time without work, a process is no longer taken for a training."""

LONGEST_PAUSE = 32
"""Searches between two looks at a process that has never been of interest. A young one is looked at again at once."""

LIST_EVERY = 16
"""Searches until all processes are listed again, which takes 3 to 4 µs each. In between, only new ids are tried."""

MOST_NEW = 64
"""If more ids of processes and threads were given out since the last search, listing all of them is cheaper."""

EXAMINED_A_SEARCH = 256
"""So many processes are looked at in one search; the others have their turn in the next one."""

_KERNEL_THREADS = 2  # the process id of kthreadd, their parent
_MAPS_BYTES = 1 << 20
_BLOCK_BYTES = 1 << 15
"""So much of the maps is read at once. After a block of a megabyte, the C library keeps two more of freed memory."""

_LONGEST_NAME = max(map(len, LIBRARIES))


@dataclass(slots=True)
class _Candidate:
    started_ticks: int
    computes: bool = False
    parent: int = 0
    cpu_seconds: float = 0.0
    noted_at: float = 0.0  # when that was read, in seconds of searching
    cores: float = 0.0  # since the last look
    idle_seconds: float = 0.0
    looks: int = 0
    due: int = 0  # the search in which it is looked at again


@dataclass(slots=True)
class TrainingSearch:
    """Looks through `/proc`, most often at what is new or computes. `denied`: processes that may not be examined."""

    proc_root: Path
    own_pid: int = field(default_factory=os.getpid)
    denied: set[int] = field(default_factory=set)
    _known: dict[int, _Candidate] = field(default_factory=dict)
    _searches: int = 0
    _seconds: float = 0.0  # of all searches
    _newest: int | None = None  # the last id that was given out before the last search; None: list all processes
    _is_own_namespace: bool | None = None

    def search(self, seconds: float) -> list[int]:
        """Return the main processes of trainings that work; `seconds` have passed since the last search."""
        pids = self._processes()
        self._searches += 1
        self._seconds += seconds
        self._known = {pid: known for pid in pids if (known := self._known.get(pid)) is not None}
        self.denied.intersection_update(pids)
        due = [pid for pid in pids if pid not in self._known]
        due += [pid for pid, known in self._known.items() if known.due <= self._searches]
        for pid in due[:EXAMINED_A_SEARCH]:
            self._look_at(pid)
        if len(due) > EXAMINED_A_SEARCH:
            self._newest = None
        working = {pid: known for pid, known in self._known.items() if known.computes and _works(known)}
        heaviest = max((known.cores for known in working.values()), default=0.0)
        mains = [pid for pid, known in working.items() if known.parent not in working]
        return sorted(pid for pid in mains if working[pid].cores >= OF_THE_HEAVIEST * heaviest)

    def _processes(self) -> list[int]:
        """Return the known and the new processes, or all that there are."""
        before, newest = self._newest, self._newest_id()
        self._newest = newest
        if before is None or newest is None or not 0 <= newest - before <= MOST_NEW or not self._searches % LIST_EVERY:
            return self._every_process()
        new = [pid for pid in range(before + 1, newest + 1) if pid not in self._known and self._is_process(pid)]
        return [*self._known, *new]

    def _newest_id(self) -> int | None:
        """Return the id that the kernel gave out last; None if it is not one of this tree, or is not shown (0)."""
        if self._is_own_namespace is None:
            self._is_own_namespace = _own_id(self.proc_root) == self.own_pid == os.getpid()
        words = _read(f"{self.proc_root}/loadavg", 128).split() if self._is_own_namespace else []
        return int(words[-1]) or None if words and words[-1].isdigit() else None

    def _is_process(self, pid: int) -> bool:
        """Return True for a process, and False for another thread of one, which has an id and files like it."""
        return b"\nTgid:\t%d\n" % pid in _read(f"{self.proc_root}/{pid}/status", 256) and pid != self.own_pid

    def _every_process(self) -> list[int]:
        try:
            names = os.listdir(self.proc_root)  # noqa: PTH208  names, not paths, are wanted
        except OSError:
            return []
        return [int(name) for name in names if name.isdecimal() and int(name) != self.own_pid]

    def _look_at(self, pid: int) -> None:
        stat = parse_stat(_read(f"{self.proc_root}/{pid}/stat", 1024))
        if stat is None:
            self._known.pop(pid, None)
            return
        known = self._known.get(pid)
        if known is None or known.started_ticks != stat.started_ticks:
            known = self._known[pid] = _Candidate(stat.started_ticks, parent=stat.parent, noted_at=self._seconds)
        known.looks += 1
        if not known.computes and stat.cpu_seconds - known.cpu_seconds >= YOUNG_CPU_SECONDS:
            known.computes = stat.parent != _KERNEL_THREADS and self._has_library(pid)
            if not known.computes or known.looks == 1:  # what it used before the first look took an unknown time
                known.cpu_seconds, known.noted_at = stat.cpu_seconds, self._seconds
        known.due = self._searches + (1 if known.computes else pause_of(known.looks))
        if known.computes:
            _note_use(known, stat, self._seconds)

    def _has_library(self, pid: int) -> bool:
        if is_collector(_read(f"{self.proc_root}/{pid}/cmdline", 1024)):
            return False
        try:
            with (self.proc_root / str(pid) / "maps").open("rb") as file:
                return _names_library(file)
        except PermissionError:
            self.denied.add(pid)
            return False
        except OSError:
            return False


def _names_library(maps: BinaryIO) -> bool:
    """Return True if a library for arrays is among the mapped files. A name may lie across two blocks."""
    rest = b""
    for _ in range(_MAPS_BYTES // _BLOCK_BYTES):
        block = maps.read(_BLOCK_BYTES)
        if not block:
            return False
        text = rest + block
        if any(library in text for library in LIBRARIES):
            return True
        rest = block[-_LONGEST_NAME:]
    return False


def pause_of(looks: int) -> int:
    """Return the searches until the next look. After months, two to the power of all looks would be megabytes long."""
    return 1 << min(looks // 2, LONGEST_PAUSE.bit_length() - 1)


def is_collector(command_line: bytes) -> bool:
    """Return True if this is Flyball's collector. It computes with arrays, but trains nothing."""
    words = [word.rpartition(b"/")[2] for word in command_line.split(b"\0")[:5]]
    return b"flyball-collector" in words or (b"flyball", b"collector") in pairwise(words)


def _note_use(known: _Candidate, stat: ProcessCounters, now: float) -> None:
    used, seconds = stat.cpu_seconds - known.cpu_seconds, now - known.noted_at
    known.parent, known.cpu_seconds, known.noted_at = stat.parent, stat.cpu_seconds, now
    if seconds > 0:
        known.cores += (used / seconds - known.cores) * (1.0 if not known.cores else 0.5)
    known.idle_seconds = 0.0 if used >= WORKING * seconds else known.idle_seconds + seconds


def _works(known: _Candidate) -> bool:
    return known.idle_seconds < IDLE_SECONDS


def _own_id(proc_root: Path) -> int | None:
    """Return this process's id in the namespace that a tree shows; None if it does not show this process."""
    try:
        return int(os.readlink(proc_root / "self"))  # noqa: PTH115  its target is a number
    except (OSError, ValueError):
        return None


def _read(path: str, size: int) -> bytes:
    """Return the begin of a file, or nothing. A file object would take twice as long as the kernel."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        return os.read(descriptor, size)
    except OSError:
        return b""
    finally:
        os.close(descriptor)
