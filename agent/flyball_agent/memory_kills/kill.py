"""A process that the kernel killed, as far as the kernel's log or the counters of control groups show it."""

from dataclasses import dataclass
from enum import IntEnum


class Limit(IntEnum):
    """Whose memory ran out. The numbers are those of `OomKill.Limit`."""

    UNKNOWN = 0
    HOST = 1
    GROUP = 2
    NUMA_NODES = 3


class KillSource(IntEnum):
    """The source of a kill. The numbers are those of `OomKill.Source`."""

    KERNEL_LOG = 1
    GROUP_EVENTS = 2
    GROUP_COUNTS = 3


@dataclass(frozen=True, slots=True)
class MemoryKill:
    """One kill. `None` and empty text are unknown."""

    limit: Limit
    source: KillSource = KillSource.KERNEL_LOG
    group: str = ""  # whose limit was reached
    limit_bytes: int | None = None
    used_bytes: int | None = None
    pid: int = 0
    process: str = ""
    process_group: str = ""
    process_bytes: int | None = None  # memory that is not backed by files
    nodes: str = ""  # NUMA nodes, such as 0-1
    kills: int = 1
