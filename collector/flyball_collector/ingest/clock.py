"""The collector's clocks, handed in so that time is a parameter."""

import time
from typing import Protocol


class Clock(Protocol):
    """Wall time for what is stored, monotonic time for what is waited for."""

    def time_ns(self) -> int:
        """Nanoseconds since 1970; may step."""

    def monotonic(self) -> float:
        """Seconds since some moment; never steps."""


class SystemClock:
    """The machine's clocks."""

    def time_ns(self) -> int:
        return time.time_ns()

    def monotonic(self) -> float:
        return time.monotonic()
