"""The collector's clocks, passed as arguments so that tests control time."""

import time
from typing import Protocol


class Clock(Protocol):
    """Wall time for stored data, monotonic time for waits."""

    def time_ns(self) -> int:
        """Return nanoseconds since 1970. It may step."""

    def monotonic(self) -> float:
        """Return seconds since an arbitrary moment. It never steps."""


class SystemClock:
    """The system's clocks."""

    def time_ns(self) -> int:
        return time.time_ns()

    def monotonic(self) -> float:
        return time.monotonic()
