"""Patience with what keeps failing."""

from dataclasses import dataclass


@dataclass(slots=True)
class Retry:
    """When to try again what keeps failing: after the first wait, twice that, and so on up to the longest."""

    first_seconds: float
    longest_seconds: float
    at: float = 0.0
    _wait_seconds: float = 0.0

    def failed(self, now: float) -> None:
        """Wait longer than before."""
        wait = self._wait_seconds or self.first_seconds
        self.at = now + wait
        self._wait_seconds = min(self.longest_seconds, 2 * wait)

    def succeeded(self) -> None:
        """The next failure is the first one again."""
        self._wait_seconds = 0.0
