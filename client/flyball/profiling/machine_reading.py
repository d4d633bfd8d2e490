"""The use of the whole machine: CPU time per core, memory and disks, as the agent and the collector define them."""

import os
from typing import NamedTuple

from flyball.profiling.process_reading import CLOCK_TICKS

_SECTOR = 512  # unit of /proc/diskstats, independent of the disk's sector size
_PLACEHOLDERS = (b"loop", b"ram", b"zram", b"fd", b"sr")
_IDLE = (3, 4)  # idle and iowait, in a line of /proc/stat
_MODES = 8  # user to steal; guest time is in user time already


class CoreTime(NamedTuple):
    """Seconds in which one core was busy, and all seconds since boot."""

    busy: float
    total: float


class MachineReading(NamedTuple):
    """Sums since boot, and the memory of this moment. What cannot be read is empty or None."""

    all_cores: CoreTime | None = None
    cores: tuple[CoreTime, ...] = ()
    memory_used_ratio: float | None = None
    written_bytes: tuple[tuple[bytes, int], ...] = ()
    """Bytes written, by disk."""


def read_machine(proc: str = "/proc", sys: str = "/sys") -> MachineReading:
    """Read the machine's sums."""
    cores = parse_cores(_content(f"{proc}/stat"))
    return MachineReading(
        cores[0] if cores else None,
        tuple(cores[1:]),
        parse_memory(_content(f"{proc}/meminfo")),
        parse_disks(_content(f"{proc}/diskstats"), f"{sys}/block"),
    )


def parse_cores(data: bytes) -> list[CoreTime]:
    """Parse the lines of `/proc/stat`: that of all cores, then one for each core."""
    found = []
    for line in data.splitlines():
        if not line.startswith(b"cpu"):
            break
        times = [int(field) for field in line.split()[1 : 1 + _MODES]]
        total = sum(times)
        found.append(CoreTime((total - sum(times[place] for place in _IDLE)) / CLOCK_TICKS, total / CLOCK_TICKS))
    return found


def parse_memory(data: bytes) -> float | None:
    """Return the share of RAM that is not available."""
    fields = dict(line.split(b":", 1) for line in data.splitlines() if b":" in line)
    try:
        total, available = (int(fields[name].split()[0]) for name in (b"MemTotal", b"MemAvailable"))
    except (KeyError, IndexError, ValueError):
        return None
    return (total - available) / total if total > 0 else None


def parse_disks(data: bytes, block: str) -> tuple[tuple[bytes, int], ...]:
    """Return the bytes written to each whole disk, from `/proc/diskstats`."""
    found = []
    for line in data.splitlines():
        fields = line.split()
        if len(fields) >= 14 and not fields[2].startswith(_PLACEHOLDERS) and _is_whole(block, fields[2]):
            found.append((fields[2], int(fields[9]) * _SECTOR))
    return tuple(found)


def busy_ratio(before: CoreTime, after: CoreTime) -> float | None:
    """Return the busy share between two readings; None if no time has passed."""
    passed = after.total - before.total
    return min(max((after.busy - before.busy) / passed, 0.0), 1.0) if passed > 0 else None


def machine_percent(before: MachineReading, after: MachineReading) -> float | None:
    """Return how busy all cores were between two readings."""
    if before.all_cores is None or after.all_cores is None:
        return None
    ratio = busy_ratio(before.all_cores, after.all_cores)
    return None if ratio is None else 100 * ratio


def core_percents(before: MachineReading, after: MachineReading) -> tuple[float, ...] | None:
    """Return how busy each core was between two readings; None if a core came or went."""
    if not after.cores or len(before.cores) != len(after.cores):
        return None
    ratios = [busy_ratio(*pair) for pair in zip(before.cores, after.cores, strict=True)]
    return None if None in ratios else tuple(100 * ratio for ratio in ratios if ratio is not None)


def largest_write_rate(before: MachineReading, after: MachineReading, seconds: float) -> float | None:
    """Return the rate of the disk with the most bytes written; None without disks."""
    earlier = dict(before.written_bytes)
    written = [count - earlier[name] for name, count in after.written_bytes if name in earlier]
    return max(0, *written) / seconds if written and seconds > 0 else None


def _is_whole(block: str, name: bytes) -> bool:
    return os.path.isdir(f"{block}/{os.fsdecode(name).replace('/', '!')}")  # noqa: PTH112  a path of text, each second


def _content(path: str) -> bytes:
    try:
        with open(path, "rb", buffering=0) as file:  # noqa: PTH123  a path of text, each second
            return file.read()
    except OSError:
        return b""
