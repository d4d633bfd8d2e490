"""Sets of sequences, stored as sorted, disjoint, half-open ranges."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator


class RangeSet:
    """An immutable set of non-negative integers. It is small if the integers are consecutive."""

    __slots__ = ("_firsts", "_nexts")

    def __init__(self, ranges: Iterable[tuple[int, int]] = ()) -> None:
        firsts: list[int] = []
        nexts: list[int] = []
        for first, following in sorted(ranges):
            if first >= following:
                continue
            if nexts and first <= nexts[-1]:
                nexts[-1] = max(nexts[-1], following)
            else:
                firsts.append(first)
                nexts.append(following)
        self._firsts, self._nexts = firsts, nexts

    @classmethod
    def of(cls, numbers: Iterable[int]) -> "RangeSet":
        """Create a set of single numbers."""
        return cls((number, number + 1) for number in numbers)

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return zip(self._firsts, self._nexts, strict=True)

    def __contains__(self, number: int) -> bool:
        index = bisect_right(self._firsts, number) - 1
        return index >= 0 and number < self._nexts[index]

    def __len__(self) -> int:
        return sum(self._nexts) - sum(self._firsts)

    def __bool__(self) -> bool:
        return bool(self._firsts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RangeSet) and self._firsts == other._firsts and self._nexts == other._nexts

    def __hash__(self) -> int:
        return hash((tuple(self._firsts), tuple(self._nexts)))

    def __repr__(self) -> str:
        return f"RangeSet({list(self)})"

    def __or__(self, other: "RangeSet") -> "RangeSet":
        return RangeSet([*self, *other])

    def __and__(self, other: "RangeSet") -> "RangeSet":
        return RangeSet(part for first, following in self for part in other.within(first, following))

    def __sub__(self, other: "RangeSet") -> "RangeSet":
        return RangeSet(gap for first, following in self for gap in other.gaps(first, following))

    def within(self, first: int, following: int) -> Iterator[tuple[int, int]]:
        """Yield the parts of this set inside [first, following)."""
        index = bisect_right(self._nexts, first)
        while index < len(self._firsts) and self._firsts[index] < following:
            yield max(first, self._firsts[index]), min(following, self._nexts[index])
            index += 1

    def gaps(self, first: int, following: int) -> Iterator[tuple[int, int]]:
        """Yield the ranges inside [first, following) that are not in this set."""
        for start, end in self.within(first, following):
            if first < start:
                yield first, start
            first = end
        if first < following:
            yield first, following

    def prefix_from(self, first: int) -> int:
        """Return the end of the consecutive numbers that start at `first`, or `first` if it is not in the set."""
        index = bisect_left(self._nexts, first + 1)
        if index < len(self._firsts) and self._firsts[index] <= first:
            return self._nexts[index]
        return first
