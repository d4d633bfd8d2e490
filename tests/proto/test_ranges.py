"""Tests of sets of sequences."""

from hypothesis import given
from hypothesis import strategies as st

from flyball_proto.ranges import RangeSet

_PAIRS = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)), max_size=8)


def _numbers(ranges: RangeSet) -> set[int]:
    return {number for first, following in ranges for number in range(first, following)}


@given(_PAIRS)
def test_ranges_are_sorted_disjoint_and_never_touch(pairs: list[tuple[int, int]]) -> None:
    """Equal sets have the same representation."""
    ranges = RangeSet(pairs)
    flat = [edge for pair in ranges for edge in pair]
    assert flat == sorted(set(flat))
    assert ranges == RangeSet.of(_numbers(ranges))
    assert len(ranges) == len(_numbers(ranges))
    assert hash(ranges) == hash(RangeSet.of(_numbers(ranges)))


@given(_PAIRS, _PAIRS)
def test_set_algebra_matches_the_sets_of_numbers(left: list[tuple[int, int]], right: list[tuple[int, int]]) -> None:
    """Union, intersection and difference equal those of the sets of numbers."""
    a, b = RangeSet(left), RangeSet(right)
    assert _numbers(a | b) == _numbers(a) | _numbers(b)
    assert _numbers(a & b) == _numbers(a) & _numbers(b)
    assert _numbers(a - b) == _numbers(a) - _numbers(b)


@given(_PAIRS, st.integers(0, 61), st.integers(0, 61))
def test_parts_and_gaps_cover_a_range(pairs: list[tuple[int, int]], first: int, following: int) -> None:
    """The parts inside a range and the gaps in it together are the range."""
    ranges = RangeSet(pairs)
    inside, gaps = RangeSet(ranges.within(first, following)), RangeSet(ranges.gaps(first, following))
    assert _numbers(inside) | _numbers(gaps) == set(range(first, following))
    assert not inside & gaps


@given(_PAIRS, st.integers(0, 61))
def test_the_prefix_ends_at_the_first_missing_number(pairs: list[tuple[int, int]], first: int) -> None:
    """The prefix contains all consecutive numbers and no others."""
    ranges = RangeSet(pairs)
    end = ranges.prefix_from(first)
    assert all(number in ranges for number in range(first, end))
    assert end not in ranges
