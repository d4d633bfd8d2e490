"""The two clocks of a host, behind an interface that tests can replace."""

import time
from typing import Protocol

_SINCE_BOOT = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)  # on macOS the monotonic clock also counts sleep


class HostClock(Protocol):
    """Wall time, which is shared with other machines but may jump, and time since boot, which never jumps."""

    def wall_ns(self) -> int: ...
    def boot_ns(self) -> int: ...


class KernelClock:
    """The kernel's clocks."""

    __slots__ = ()

    def wall_ns(self) -> int:
        return time.time_ns()

    def boot_ns(self) -> int:
        return time.clock_gettime_ns(_SINCE_BOOT)
