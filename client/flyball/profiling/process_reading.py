"""The kernel's counts of one process, from `/proc/PID/stat` and `/proc/PID/io`."""

import os
from typing import NamedTuple

CLOCK_TICKS = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096
_MOST_BYTES = 4096  # of a file; both are shorter
_IO_NAMES = [b"syscr:", b"syscw:", b"read_bytes:", b"write_bytes:"]

ProcessKey = tuple[int, int]
"""Process id and start time: the kernel uses process ids again."""


class ConsumedResources(NamedTuple):
    """Sums since the start of a process, which include the children that it has waited for."""

    cpu_seconds: float = 0.0
    read_bytes: float = 0.0
    write_bytes: float = 0.0
    read_operations: float = 0.0
    write_operations: float = 0.0

    def plus(self, other: "ConsumedResources") -> "ConsumedResources":
        """Return the sum of both."""
        return ConsumedResources(*(a + b for a, b in zip(self, other, strict=True)))

    def minus(self, other: "ConsumedResources") -> "ConsumedResources":
        """Return the difference, at least 0."""
        return ConsumedResources(*(max(a - b, 0.0) for a, b in zip(self, other, strict=True)))

    def smaller(self, other: "ConsumedResources") -> "ConsumedResources":
        """Return the smaller of both, one by one."""
        return ConsumedResources(*map(min, self, other))

    def larger(self, other: "ConsumedResources") -> "ConsumedResources":
        """Return the larger of both, one by one."""
        return ConsumedResources(*map(max, self, other))


NOTHING = ConsumedResources()


class ProcessStat(NamedTuple):
    """The fields of `/proc/PID/stat` that a profile needs."""

    parent: int
    started: int
    threads: int
    resident_bytes: int
    own_cpu_seconds: float
    waited_cpu_seconds: float


class ProcessReading(NamedTuple):
    """One process at one moment. `transferred` is the part of its sums in which waited-for children appear."""

    pid: int
    started: int
    parent: int
    threads: int
    resident_bytes: int | None
    consumed: ConsumedResources
    waited_cpu_seconds: float
    io_known: bool

    @property
    def key(self) -> ProcessKey:
        """The identity of the process."""
        return self.pid, self.started

    @property
    def transferred(self) -> ConsumedResources:
        """Sums that grow when the process waits for a child. I/O of children is not counted separately."""
        return self.consumed._replace(cpu_seconds=self.waited_cpu_seconds)


def parse_process_stat(data: bytes) -> ProcessStat:
    """Parse `/proc/PID/stat`. The name of the program is in brackets and may contain anything, brackets too."""
    fields = data[data.rindex(b")") + 2 :].split(None, 22)
    return ProcessStat(
        parent=int(fields[1]),
        started=int(fields[19]),
        threads=int(fields[17]),
        resident_bytes=max(int(fields[21]), 0) * PAGE_BYTES,
        own_cpu_seconds=(int(fields[11]) + int(fields[12])) / CLOCK_TICKS,
        waited_cpu_seconds=(int(fields[13]) + int(fields[14])) / CLOCK_TICKS,
    )


def parse_process_io(data: bytes) -> tuple[float, float, float, float]:
    """Parse `/proc/PID/io`: bytes read from and written to storage, and numbers of read and write calls.

    Written bytes count when a page becomes dirty, also if the file is deleted before they reach the disk.
    """
    words = data.split()
    if words[4:12:2] != _IO_NAMES:
        raise ValueError("the format of /proc/PID/io is not known")
    return int(words[9]), int(words[11]), int(words[5]), int(words[7])


def read_file(path: str) -> bytes:
    """Return a small file of the kernel."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(descriptor, _MOST_BYTES)
    finally:
        os.close(descriptor)


def read_stat(proc: str, pid: int) -> ProcessStat | None:
    """Read the times and the memory of a process; None if it has ended."""
    try:
        return parse_process_stat(read_file(f"{proc}/{pid}/stat"))
    except (OSError, ValueError, IndexError):
        return None


def read_process(proc: str, pid: int, stat: ProcessStat) -> ProcessReading | None:
    """Add the I/O of a process to its times; None if it has ended. I/O of other users' processes may be unknown."""
    known = True
    try:
        io = parse_process_io(read_file(f"{proc}/{pid}/io"))
    except PermissionError:
        io, known = (0.0, 0.0, 0.0, 0.0), False
    except (FileNotFoundError, ProcessLookupError) as error:
        if isinstance(error, FileNotFoundError) and os.path.exists(f"{proc}/{pid}"):  # noqa: PTH110  a path of text
            io, known = (0.0, 0.0, 0.0, 0.0), False  # a kernel without I/O accounting
        else:
            return None
    except (OSError, ValueError, KeyError):
        io, known = (0.0, 0.0, 0.0, 0.0), False
    consumed = ConsumedResources(stat.own_cpu_seconds + stat.waited_cpu_seconds, *io)
    return ProcessReading(
        pid, stat.started, stat.parent, stat.threads, stat.resident_bytes, consumed, stat.waited_cpu_seconds, known
    )
