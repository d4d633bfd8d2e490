"""The two clocks of a host, handed to whoever needs the time."""

import time
from typing import Protocol


class Clock(Protocol):
    """Wall time, which people and peers agree on but which may step; and time since boot, which never does."""

    def wall_ns(self) -> int: ...
    def boot_ns(self) -> int: ...


class SystemClock:
    """The kernel's clocks."""

    __slots__ = ()

    def wall_ns(self) -> int:
        return time.time_ns()

    def boot_ns(self) -> int:
        return time.clock_gettime_ns(time.CLOCK_BOOTTIME)
