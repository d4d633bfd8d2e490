"""Which rows of the window are taken: rows that were left are given away again only when nobody goes by them."""


class Room:
    """Stretches of rows by their size. `used` rows from the first on have been given away, `taken` are in use."""

    def __init__(self, rows: int) -> None:
        self.used = 0
        self.taken = 0
        self.stands = True  # until everything moves
        self._rows = rows
        self._free: dict[int, list[int]] = {}  # size → first rows
        self._left: list[tuple[int, int]] = []  # (first row, size): still read by those who were told of them

    def take(self, count: int) -> int | None:
        """The first of so many rows, or nothing when it is full."""
        if free := self._free.get(count):
            self.taken += count
            return free.pop()
        if self.used + count > self._rows:
            return None
        first, self.used, self.taken = self.used, self.used + count, self.taken + count
        return first

    def leave(self, first: int, count: int) -> None:
        """These rows are nobody's any more, as soon as it is cleared."""
        self.taken -= count
        self._left.append((first, count))

    def clear(self) -> bool:
        """Give away again what was left; whether anything was. From now on everything stands where it is."""
        left, self._left, self.stands = self._left, [], True
        for first, count in left:
            self._free.setdefault(count, []).append(first)
        return bool(left)

    def is_worth_packing(self, count: int) -> bool:
        """Whether so many rows find no room, and an eighth of what is used lies in gaps."""
        fits = count in self._free and bool(self._free[count])
        return not fits and self.used + count > self._rows and self.used - self.taken > self.used // 8

    def packed(self) -> None:
        """Everything that is taken was moved to the front."""
        self.used, self.stands = self.taken, False
        self._free, self._left = {}, []
