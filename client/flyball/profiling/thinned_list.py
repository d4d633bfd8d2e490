"""A list that keeps an even selection of any number of values."""

from typing import Generic, TypeVar

Item = TypeVar("Item")


class ThinnedList(Generic[Item]):
    """Keeps each value at first, and each second, fourth … one once there are too many."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._every = 1
        self._added = 0
        self._kept: list[Item] = []

    def add(self, item: Item) -> None:
        """Add one value."""
        if self._added % self._every == 0:
            if len(self._kept) >= self._most:
                self._kept = self._kept[::2]
                self._every *= 2
            if self._added % self._every == 0:
                self._kept.append(item)
        self._added += 1

    def __len__(self) -> int:
        """Return how many values were added."""
        return self._added

    def items(self) -> list[Item]:
        """Return the kept values in their order."""
        return list(self._kept)
