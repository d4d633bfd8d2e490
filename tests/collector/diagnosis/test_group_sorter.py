"""Sorting within groups."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from flyball_collector.diagnosis.group_sorter import GroupSorter

Value = st.one_of(st.floats(-1e6, 1e6), st.just(float("nan")))


@given(st.lists(st.lists(Value, min_size=0, max_size=9), max_size=12))
def test_each_group_is_sorted_separately(groups: list[list[float]]) -> None:
    """The result is the same as sorting group by group, whatever their sizes; unknown values come last."""
    found = GroupSorter(np.array([len(group) for group in groups], dtype=np.int64)).sort(
        np.array([value for group in groups for value in group], dtype=np.float64)
    )
    expected = [value for group in groups for value in np.sort(np.array(group, dtype=np.float64)).tolist()]
    np.testing.assert_array_equal(found, np.array(expected, dtype=np.float64))
