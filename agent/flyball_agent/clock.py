"""The two clocks of a host, handed to whoever needs the time."""

import time
from typing import Protocol

_SINCE_BOOT = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)  # macOS: its monotonic clock counts sleep, too


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
        return time.clock_gettime_ns(_SINCE_BOOT)
