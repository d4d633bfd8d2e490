"""Tests of the configurations of a sweep."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flyball_planner.sweep.configurations import SweepConfiguration, grid, usual_grid
from flyball_reports.errors import InputError

NAMES = st.dictionaries(
    st.sampled_from(["depth", "chunk_size", "width"]),
    st.lists(st.integers(0, 9), min_size=1, max_size=4, unique=True),
    min_size=1,
)


def test_the_usual_grid_has_more_than_a_hundred_quick_runs() -> None:
    """Depths 3 to 10 and chunk sizes 5 to 25, each pair once."""
    configurations = usual_grid()
    assert len(set(configurations)) == len(configurations) == 8 * 21
    assert {each["depth"] for each in configurations} == set(range(3, 11))
    assert {each["chunk_size"] for each in configurations} == set(range(5, 26))
    assert {each["samples"] for each in configurations} == {100}


@given(NAMES)
def test_a_grid_has_every_combination_once(values: dict[str, list[int]]) -> None:
    """The number of configurations is the product of the numbers of values, and all differ."""
    expected = 1
    for each in values.values():
        expected *= len(each)
    configurations = grid(values)
    assert len(set(configurations)) == expected
    assert all(set(each) == set(values) for each in configurations)


@given(st.dictionaries(st.text(min_size=1), st.integers()))
def test_equal_values_are_one_configuration(values: dict[str, int]) -> None:
    """The order of the names does not matter."""
    reordered = dict(reversed(values.items()))
    assert SweepConfiguration.of(values) == SweepConfiguration.of(reordered)
    assert dict(SweepConfiguration.of(values)) == values


@pytest.mark.parametrize("values", [{}, {"depth": []}])
def test_an_empty_grid_is_refused(values: dict[str, list[int]]) -> None:
    """A grid without values is an error."""
    with pytest.raises(InputError, match="at least one value"):
        grid(values)


def test_a_huge_grid_is_refused() -> None:
    """A grid that is too large is refused before it is built."""
    with pytest.raises(InputError, match="pass fewer values"):
        grid({name: range(1000) for name in "abcdef"})
