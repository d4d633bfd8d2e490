"""Parses the files of `/proc/PID` that count the time of a process."""

import os
from dataclasses import dataclass

_TICKS = os.sysconf("SC_CLK_TCK")
_NANOSECONDS = 1_000_000_000


@dataclass(frozen=True, slots=True)
class ProcessCounters:
    """Fields of `/proc/PID/stat`."""

    state: str
    parent: int
    major_faults: int
    cpu_seconds: float  # of all threads
    started_ticks: int


def parse_stat(data: bytes) -> ProcessCounters | None:
    """Parse `/proc/PID/stat`; None if it is not complete. The name of the process may contain anything."""
    fields = data[data.rfind(b")") + 1 :].split(None, 20)
    try:
        return ProcessCounters(
            fields[0].decode("ascii", "replace"),
            int(fields[1]),
            int(fields[9]),
            (int(fields[11]) + int(fields[12])) / _TICKS,
            int(fields[19]),
        )
    except (IndexError, ValueError):
        return None


def parse_schedstat(data: bytes) -> tuple[float, float] | None:
    """Parse `/proc/PID/schedstat`: seconds on a CPU, and seconds in which the thread was ready and waited for one.

    Kernels that do not measure it (CONFIG_SCHED_INFO) leave both at zero.
    """
    fields = data.split()
    try:
        return int(fields[0]) / _NANOSECONDS, int(fields[1]) / _NANOSECONDS
    except (IndexError, ValueError):
        return None
