"""Sizes of micro-batches divide the batch of a rank."""

from hypothesis import given
from hypothesis import strategies as st

from flyball.micro_batches.sizes import at_most, divisors, halved, limited


@given(per_rank=st.integers(1, 5000))
def test_sizes_are_all_divisors_in_order(per_rank: int) -> None:
    """From 1 to the whole batch."""
    found = divisors(per_rank)
    assert found == tuple(sorted(found))
    assert {found[0], found[-1]} <= {1, per_rank}
    assert all(per_rank % size == 0 for size in found)
    assert len(found) == sum(per_rank % size == 0 for size in range(1, per_rank + 1))


@given(per_rank=st.integers(1, 5000), data=st.data())
def test_the_next_smaller_size_needs_at_most_half_of_the_memory(per_rank: int, data: st.DataObject) -> None:
    """There is one for every size but 1."""
    sizes = divisors(per_rank)
    size = data.draw(st.sampled_from(sizes))
    smaller = halved(size, sizes)
    assert (smaller is None) == (size == 1)
    assert smaller is None or (2 * smaller <= size and smaller in sizes)


def test_a_batch_that_is_counted_in_tokens_is_divided_at_once() -> None:
    """The sizes of a large batch are found without looking at each number below it."""
    assert len(divisors(2**30)) == 31


def test_a_size_that_is_remembered_need_not_divide_the_batch() -> None:
    """The batch may have been changed since."""
    assert at_most(10, (1, 2, 4, 8, 16)) == 8
    assert at_most(5, (6, 12)) == 6


@given(per_rank=st.integers(1, 100_000), most=st.integers(2, 70))
def test_there_are_never_more_choices_than_may_be_sent(per_rank: int, most: int) -> None:
    """The present size stays among them."""
    sizes = divisors(per_rank)
    keep = sizes[len(sizes) // 2]
    found = limited(sizes, keep, most)
    assert len(found) <= most
    assert keep in found
