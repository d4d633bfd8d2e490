"""Allocates rows of the window. Released rows are reused only after readers have dropped their positions."""


class RowAllocator:
    """Ranges of rows by their size. The first `used` rows have been allocated at some time, `taken` are in use."""

    def __init__(self, rows: int) -> None:
        self.used = 0
        self.taken = 0
        self.unmoved = True  # False from a compaction until the next reclaim
        self._rows = rows
        self._free: dict[int, list[int]] = {}  # size → first rows
        self._left: list[tuple[int, int]] = []  # (first row, size): released, but readers may still use them

    def take(self, count: int) -> int | None:
        """Return the first of `count` rows, or `None` if there is no space."""
        if free := self._free.get(count):
            self.taken += count
            return free.pop()
        if self.used + count > self._rows:
            return None
        first, self.used, self.taken = self.used, self.used + count, self.taken + count
        return first

    def release(self, first: int, count: int) -> None:
        """Release rows. They are reused after the next `reclaim`."""
        self.taken -= count
        self._left.append((first, count))

    def reclaim(self) -> bool:
        """Make released rows available. Return True if there were any."""
        left, self._left, self.unmoved = self._left, [], True
        for first, count in left:
            self._free.setdefault(count, []).append(first)
        return bool(left)

    def is_worth_packing(self, count: int) -> bool:
        """Return True if `count` rows do not fit, but more than an eighth of the used rows is in gaps."""
        fits = count in self._free and bool(self._free[count])
        return not fits and self.used + count > self._rows and self.used - self.taken > self.used // 8

    def compacted(self) -> None:
        """Note that all rows in use were moved to the front."""
        self.used, self.unmoved = self.taken, False
        self._free, self._left = {}, []
