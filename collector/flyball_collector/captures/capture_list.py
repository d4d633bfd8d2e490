"""All captures in memory, without their results."""

from collections.abc import Iterable, Sequence

from flyball_collector.captures.capture import Capture

MAX_CAPTURES = 4096


class CaptureList:
    """Captures by id, the oldest first. A newer version of a capture replaces the older one."""

    def __init__(self) -> None:
        self._captures: dict[str, Capture] = {}
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._captures)

    @property
    def stored_bytes(self) -> int:
        """Return the size of all results in the store."""
        return self._bytes

    def load(self, captures: Iterable[Capture]) -> None:
        """Put stored captures before those that were ordered meanwhile."""
        newer, self._captures = self._captures, {}
        for capture in [*captures, *newer.values()]:
            self._captures[capture.id] = capture
        self._bytes = sum(capture.stored_bytes for capture in self._captures.values())

    def put(self, capture: Capture) -> None:
        """Add or replace a capture."""
        before = self._captures.get(capture.id)
        self._bytes += capture.stored_bytes - (before.stored_bytes if before is not None else 0)
        self._captures[capture.id] = capture

    def get(self, capture: str) -> Capture | None:
        """Return a capture."""
        return self._captures.get(capture)

    def remove(self, capture: str) -> None:
        """Remove a capture."""
        if (gone := self._captures.pop(capture, None)) is not None:
            self._bytes -= gone.stored_bytes

    def find(self, *, run: str = "", condition: str = "", host: str = "") -> list[Capture]:
        """Return the captures of a run, condition or host, the newest first."""
        return [
            capture
            for capture in reversed(self._captures.values())
            if run in {"", capture.run} and condition in {"", capture.condition} and host in {"", capture.host}
        ]

    def surplus(self, max_bytes: int, before_ns: int) -> Sequence[Capture]:
        """Return what must go: captures that ended before a time, and the oldest beyond the limits."""
        gone: list[Capture] = []
        size, count = self._bytes, len(self._captures)
        for capture in self._captures.values():
            too_much = size > max_bytes or count > MAX_CAPTURES
            if capture.is_over and (too_much or capture.ended_ns < before_ns):
                gone.append(capture)
                size -= capture.stored_bytes
                count -= 1
        return gone
