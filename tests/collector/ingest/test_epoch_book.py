"""The epoch book: in any order, every sequence settles exactly once, and the acknowledged prefix only grows."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from flyball_collector.ingest.epoch_book import EpochBook
from flyball_proto.ranges import RangeSet

TICKS = 6
LIMIT = 40


class Book(RuleBasedStateMachine):
    """A book beside the simplest model of it: three sets of numbers."""

    def __init__(self) -> None:
        super().__init__()
        self.book = EpochBook(TICKS)
        self.held: set[int] = set()
        self.declared: set[int] = set()
        self.durable: set[int] = set()
        self.floor = 0
        self.acknowledged = 0

    @initialize(floor=st.integers(0, LIMIT), durable=st.sets(st.integers(0, LIMIT)))
    def begin(self, floor: int, durable: set[int]) -> None:
        self.book = EpochBook(TICKS, floor, RangeSet.of(durable))
        self.floor, self.durable = floor, set(durable)
        self.acknowledged = self.book.settled

    def known(self, sequence: int) -> bool:
        below = sequence < self.book.settled
        return below or sequence in self.held or sequence in self.declared or sequence in self.durable

    @rule(sequence=st.integers(0, LIMIT))
    def take(self, sequence: int) -> None:
        assert self.book.take(sequence) == (not self.known(sequence))
        if not self.known(sequence):
            self.held.add(sequence)

    @rule(first=st.integers(0, LIMIT), count=st.integers(1, 15))
    def take_all(self, first: int, count: int) -> None:
        new = set(range(first, first + count))
        taken = self.book.take_all(first, first + count)
        assert taken == (not any(map(self.known, new)))
        self.held |= new if taken else set()

    @rule(first=st.integers(0, LIMIT), count=st.integers(0, 15))
    def declare(self, first: int, count: int) -> None:
        new = {n for n in range(first, first + count) if not self.known(n)}
        declared = [n for _, ranges in self.book.declare(first, first + count) for a, b in ranges for n in range(a, b)]
        assert sorted(declared) == sorted(new)
        self.declared |= new

    @rule(number=st.integers(0, LIMIT // TICKS))
    def write(self, number: int) -> None:
        block = {n for n in self.held | self.declared if n // TICKS == number}
        self.durable |= block
        self.held -= block
        self.declared -= block
        moved = self.book.settle(RangeSet.of(block))
        assert moved == (self.book.settled > self.acknowledged)

    @rule(number=st.integers(0, LIMIT // TICKS))
    def release(self, number: int) -> None:
        released = {n for n in self.held if n // TICKS == number}
        assert self.book.release(number) == min(released, default=None)
        self.held -= released

    @rule(floor=st.integers(0, LIMIT))
    def raise_floor(self, floor: int) -> None:
        self.book.raise_floor(floor)
        self.floor = max(self.floor, floor)
        self.held = {n for n in self.held if n // TICKS >= self.book.settled // TICKS}
        self.declared = {n for n in self.declared if n // TICKS >= self.book.settled // TICKS}

    @invariant()
    def acknowledges_the_longest_durable_prefix(self) -> None:
        expected = max(self.acknowledged, self.floor)
        while expected in self.durable:
            expected += 1
        assert self.book.settled == expected
        self.acknowledged = self.book.settled

    @invariant()
    def a_block_is_complete_when_all_of_it_is_known(self) -> None:
        for number in range(LIMIT // TICKS + 1):
            span = range(number * TICKS, (number + 1) * TICKS)
            touched = number in self.book.open_blocks()
            wanted = touched and span.stop > self.book.settled and all(self.known(n) for n in span)
            assert self.book.complete(number) == wanted


TestBook = Book.TestCase
TestBook.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)


def test_the_end_of_an_epoch_completes_its_last_block() -> None:
    """Nothing beyond the end is awaited; sequences that were never announced are reported."""
    book = EpochBook(TICKS)
    assert [book.take(n) for n in range(8)] == [True] * 8
    assert not book.complete(1)
    assert book.end(8) == [0, 1]
    assert book.complete(1)
    assert book.ended_before(8)
    assert not book.ended_before(7)
    book.settle(RangeSet([(0, 8)]))
    assert book.settled == 8


def test_a_book_stays_small() -> None:
    """Settled blocks leave nothing behind."""
    book = EpochBook(TICKS)
    for number in range(1000):
        for sequence in range(number * TICKS, (number + 1) * TICKS):
            book.take(sequence)
        book.settle(RangeSet([(number * TICKS, (number + 1) * TICKS)]))
    assert book.open_blocks() == []
    assert book.settled == 1000 * TICKS


def test_repeating_settled_sequences_costs_no_memory() -> None:
    """An agent may send its settled records again and again."""
    book = EpochBook(TICKS)
    assert all(book.take(sequence) for sequence in range(10 * TICKS))
    book.settle(RangeSet([(0, 10 * TICKS)]))
    assert not any(book.take(sequence) for sequence in range(10 * TICKS))
    assert book.open_blocks() == []
