"""Tests of checking as few layouts as possible for memory."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from flyball_planner.layout_search.fastest_fitting import FIRST_LOOK, fastest_fitting
from flyball_planner.layout_search.lazy_memory import Positions
from flyball_planner.layout_search.ranking import Column, classes

ROWS = st.tuples(st.floats(1.0, 1.2), st.sampled_from([True, False, False]), st.integers(0, 3), st.integers(0, 2))
"""Seconds, whether the layout fits, its set-up effort, and its kind."""


def in_order(rows: Positions, seconds: Column, effort: Column, kinds: NDArray[np.intp]) -> list[int]:
    """Return rows sorted by class of seconds, effort and seconds; of each kind the first in each class."""
    own = seconds[rows]
    found = classes(own, own.min(initial=np.inf))
    ordered = np.lexsort((own, effort[rows], found))
    first = {(found[place], kinds[rows[place]]): int(rows[place]) for place in ordered[::-1]}
    return [int(rows[place]) for place in ordered if int(rows[place]) in first.values()]


@given(st.lists(ROWS, min_size=1, max_size=300), st.integers(1, 12), st.integers(0, 300))
def test_the_result_equals_checking_every_layout(
    rows: list[tuple[float, bool, int, int]], shown: int, divided: int
) -> None:
    """In each case the first layouts are the same as if memory were checked for all of them."""
    seconds, fit, effort, kinds = (np.array(column) for column in zip(*rows, strict=True))
    cases = np.split(np.arange(len(rows)), [min(divided, len(rows))])
    found = fastest_fitting(cases, seconds, kinds, [shown, shown], lambda checked: fit[checked])
    for case, fitting in zip(cases, found, strict=True):
        assert fit[fitting].all()
        expected = in_order(case[fit[case]], seconds, effort, kinds)
        assert in_order(fitting, seconds, effort, kinds)[:shown] == expected[:shown]


def test_few_layouts_are_checked_if_the_fastest_fit() -> None:
    """If the fastest layouts fit, a single check of `FIRST_LOOK` layouts is enough."""
    checked: list[Positions] = []

    def surely_fit(rows: Positions) -> NDArray[np.bool_]:
        checked.append(rows)
        return np.ones(len(rows), dtype=bool)

    seconds = np.exp(np.arange(10_000) / 1000)[::-1]
    (found,) = fastest_fitting([np.arange(10_000)], seconds, np.arange(10_000), [10], surely_fit)
    assert [len(each) for each in checked] == [FIRST_LOOK]
    assert set(range(9_990, 10_000)) <= set(found.tolist())
