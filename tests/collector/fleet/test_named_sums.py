"""Sums by rank and name."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from flyball_collector.fleet.named_sums import NamedSums

ADDED = st.lists(
    st.tuples(st.integers(0, 3), st.lists(st.sampled_from("abcd"), unique=True), st.floats(0, 1e6)), max_size=30
)


@given(ADDED)
def test_each_amount_counts_once(added: list[tuple[int, list[str], float]]) -> None:
    """Whatever the order of rows and names, the sums are those of the amounts."""
    sums = NamedSums(1, max_names=4)
    expected: dict[tuple[int, str], float] = {}
    for row, names, amount in added:
        assert sums.add(row, names, [amount] * len(names)) == 0
        for name in names:
            expected[row, name] = expected.get((row, name), 0.0) + amount
    found = {(row, name): named.overall[0] for row in range(4) for name, named in sums.of([row])[0].items()}
    assert found.keys() == expected.keys()
    np.testing.assert_allclose([found[key] for key in expected], list(expected.values()))


def test_recent_amounts_begin_at_the_mark_before_the_newest() -> None:
    """A row that is not marked keeps its older mark."""
    sums = NamedSums(2, max_names=4)
    both = np.ones(64, dtype=bool)
    for second in range(4):
        sums.add(0, ["x"], [1.0, 10.0])
        sums.add(1, ["x"], [1.0, 10.0])
        sums.mark(both if second < 2 else both & (np.arange(64) != 1))
    assert [named["x"] for named in sums.of([0, 1])] == [
        ([4.0, 40.0], [1.0, 10.0]),
        ([4.0, 40.0], [3.0, 30.0]),
    ]


def test_the_names_of_a_row_and_all_entries_are_limited() -> None:
    """The number of names that do not fit is returned, and known names go on."""
    sums = NamedSums(1, max_names=3, max_entries=5)
    assert sums.add(0, list("abcd"), [1.0] * 4) == 1
    assert sums.add(1, list("abc"), [1.0] * 3) == 1
    assert sums.add(2, ["a"], [1.0]) == 1
    assert sums.add(1, list("abc"), [1.0] * 3) == 1
    assert sums.add(0, ["x" * 201, "a"], [1.0, 1.0]) == 1
    assert len(sums) == 5
    assert {name: named.overall for name, named in sums.of([1])[0].items()} == {"a": [2.0], "b": [2.0]}


def test_a_cleared_row_gives_its_entries_back() -> None:
    """A new rank in the row has none of the old sums, also of those that waited."""
    sums = NamedSums(1, max_names=3, max_entries=3)
    sums.add(5, list("abc"), [1.0, 2.0, 3.0])
    sums.clear(5)
    assert (sums.of([5]), len(sums)) == ([{}], 0)
    assert sums.add(6, list("xyz"), [4.0, 5.0, 6.0]) == 0
    assert [named.overall for named in sums.of([6])[0].values()] == [[4.0], [5.0], [6.0]]


def test_what_a_counter_cannot_add_counts_as_zero() -> None:
    """Negative, infinite and unknown amounts change nothing."""
    sums = NamedSums(1, max_names=8)
    sums.add(0, list("abcde"), [-1.0, math.inf, -math.inf, math.nan, 2.0])
    assert [named.overall[0] for named in sums.of([0])[0].values()] == [0.0, 0.0, 0.0, 0.0, 2.0]
