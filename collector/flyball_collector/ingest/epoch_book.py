"""The book of one epoch: which sequences are durable, which are held in memory, and what may be acknowledged."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from flyball_proto.ranges import RangeSet


@dataclass(slots=True)
class _Marks:
    """One open block. Bit i is sequence first + i. `known` is the union of held, lost, refused and durable."""

    first: int
    known: int = 0
    held: int = 0


class EpochBook:
    """Tracks the sequences of one epoch: unknown → held (or lost, or refused) → settled, each exactly once.

    `settled` is the acknowledged prefix: everything below it is durable. Losses and refusals settle like records, when
    their block is stored.
    """

    __slots__ = ("_beyond", "_end", "_marks", "settled", "ticks")

    def __init__(self, ticks: int, floor: int = 0, durable: RangeSet | None = None) -> None:
        self.ticks = ticks
        self._end: int | None = None
        self._beyond = durable if durable is not None else RangeSet()
        self._marks: dict[int, _Marks] = {}
        self.settled = self._beyond.prefix_from(floor)

    def raise_floor(self, floor: int) -> None:
        """Note that the agent has nothing below `floor`: sequences below it that are not settled never will be."""
        if floor > self.settled:
            self.settled = self._beyond.prefix_from(floor)
            self._forget_below()

    def end(self, following: int) -> list[int]:
        """Note that no sequence from `following` on will come. Return the blocks that are now complete."""
        self._end = following
        return [number for number in self._marks if self.complete(number)]

    def ended_before(self, sequence: int) -> bool:
        """Return True if the epoch ended before this sequence."""
        return self._end is not None and sequence >= self._end

    def take(self, sequence: int) -> bool:
        """Hold a sequence. Return False if it is already known."""
        if sequence < self.settled:
            return False
        marks = self._marks_of(sequence // self.ticks)
        bit = 1 << (sequence - marks.first)
        if marks.known & bit:
            return False
        marks.known |= bit
        marks.held |= bit
        return True

    def take_all(self, first: int, following: int) -> bool:
        """Hold [first, following). Return False without holding any if one of them is already known."""
        if first < self.settled:
            return False
        taken = []
        for number in range(first // self.ticks, (following - 1) // self.ticks + 1):
            marks = self._marks_of(number)
            bits = _mask(max(0, first - marks.first), min(self.ticks, following - marks.first))
            if marks.known & bits:
                return False
            taken.append((marks, bits))
        for marks, bits in taken:
            marks.known |= bits
            marks.held |= bits
        return True

    def declare(self, first: int, following: int) -> Iterator[tuple[int, RangeSet]]:
        """Mark the unknown part of [first, following) as lost or refused. Yield it block by block."""
        first = max(first, self.settled)
        while first < following:
            number = first // self.ticks
            marks = self._marks_of(number)
            stop = min(following, marks.first + self.ticks)
            bits = _mask(first - marks.first, stop - marks.first) & ~marks.known
            marks.known |= bits
            if bits:
                yield number, RangeSet(_ranges(bits, marks.first))
            first = stop

    def release(self, number: int) -> int | None:
        """Make the held sequences of a block unknown again, because its rows were dropped. Return the lowest."""
        marks = self._marks.get(number)
        if marks is None or not marks.held:
            return None
        lowest = marks.first + _lowest_bit(marks.held)
        marks.known &= ~marks.held
        marks.held = 0
        return lowest

    def complete(self, number: int) -> bool:
        """Return True if nothing more will come for a block."""
        first = number * self.ticks
        last = self.ticks if self._end is None else min(self.ticks, self._end - first)
        if last <= 0 or first + last <= self.settled:
            return False
        marks = self._marks.get(number)
        if marks is None or not marks.known >> (last - 1) & 1:
            return False  # cheap check first: the last sequence usually comes last
        wanted = _mask(max(0, self.settled - first), last)
        return marks.known & wanted == wanted

    def settle(self, durable: RangeSet) -> bool:
        """Note that sequences are stored. Return True if the acknowledged prefix grew."""
        self._beyond |= durable
        before, self.settled = self.settled, self._beyond.prefix_from(self.settled)
        for number in {number for first, following in durable for number in self._blocks(first, following)}:
            if marks := self._marks.get(number):
                bits = _bits(durable, marks.first, self.ticks)
                marks.known |= bits
                marks.held &= ~bits
        self._forget_below()
        return self.settled > before

    def open_blocks(self) -> list[int]:
        """Return the blocks that are partly known and not fully settled."""
        return list(self._marks)

    def _blocks(self, first: int, following: int) -> Iterable[int]:
        span = range(first // self.ticks, (following - 1) // self.ticks + 1)
        return span if len(span) <= len(self._marks) else [number for number in self._marks if number in span]

    def _marks_of(self, number: int) -> _Marks:
        marks = self._marks.get(number)
        if marks is None:
            first = number * self.ticks
            known = _bits(self._beyond, first, self.ticks) | _mask(0, min(self.ticks, max(0, self.settled - first)))
            marks = self._marks[number] = _Marks(first, known)
        return marks

    def _forget_below(self) -> None:
        self._beyond = RangeSet(self._beyond.within(self.settled, 1 << 64))
        for number in [number for number in self._marks if (number + 1) * self.ticks <= self.settled]:
            del self._marks[number]


def _mask(first: int, following: int) -> int:
    return (1 << following) - (1 << first) if following > first else 0


def _bits(ranges: RangeSet, first: int, count: int) -> int:
    bits = 0
    for start, following in ranges.within(first, first + count):
        bits |= _mask(start - first, following - first)
    return bits


def _lowest_bit(bits: int) -> int:
    return (bits & -bits).bit_length() - 1


def _ranges(bits: int, base: int) -> Iterator[tuple[int, int]]:
    while bits:
        start = _lowest_bit(bits)
        length = _lowest_bit(~(bits >> start))
        yield base + start, base + start + length
        bits &= ~_mask(start, start + length)
