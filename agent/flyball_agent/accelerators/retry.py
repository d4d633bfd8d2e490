"""Growing intervals between attempts."""

from dataclasses import dataclass


@dataclass(slots=True)
class Retry:
    """The time of the next attempt. The interval doubles with each failure, up to a maximum."""

    first_seconds: float
    longest_seconds: float
    at: float = 0.0
    _wait_seconds: float = 0.0

    def failed(self, now: float) -> None:
        """Schedule the next attempt, later than the last time."""
        wait = self._wait_seconds or self.first_seconds
        self.at = now + wait
        self._wait_seconds = min(self.longest_seconds, 2 * wait)

    def succeeded(self) -> None:
        """Start again with the shortest interval."""
        self._wait_seconds = 0.0
