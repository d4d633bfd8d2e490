"""The counts that a profiled program makes itself: samples, and items of levels."""

import os
import threading


class ProgramCounts:
    """Sums since the start of the measurement. A forked child does not count."""

    def __init__(self) -> None:
        self._items: dict[str, float] = {}
        self.reset()

    def reset(self) -> None:
        """Start again from nothing, in this process."""
        self._pid = os.getpid()
        self._lock = threading.Lock()  # another process may hold an inherited one
        self._items = {}
        self._samples: int | None = None

    def add_samples(self, number: int) -> None:
        """Add training samples."""
        if os.getpid() == self._pid:  # after a fork, the lock may be held for ever
            with self._lock:
                self._samples = (self._samples or 0) + number

    def add_items(self, level: str, items: float) -> None:
        """Add items of a level."""
        if os.getpid() == self._pid:
            with self._lock:
                self._items[level] = self._items.get(level, 0.0) + items

    def samples(self) -> int | None:
        """Return the number of samples; None if none was counted."""
        return self._samples

    def items(self) -> dict[str, float]:
        """Return the items by level."""
        return dict(self._items)


class ProfiledLevel:
    """One level of a hierarchical learner."""

    def __init__(self, counts: ProgramCounts, name: str) -> None:
        self._counts = counts
        self._name = name

    def add(self, items: float) -> None:
        """Add items that this level has learned."""
        self._counts.add_items(self._name, items)
