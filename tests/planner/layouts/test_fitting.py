"""Which layouts are asked whether they fit."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from flyball_planner.layouts.fitting import FIRST_LOOK, fastest_fitting
from flyball_planner.layouts.memories import Positions
from flyball_planner.layouts.ranking import Column, classes

ROWS = st.tuples(st.floats(1.0, 1.2), st.sampled_from([True, False, False]), st.integers(0, 3))
"""Seconds, whether it fits, and how much has to be set up."""


def in_order(rows: Positions, seconds: Column, effort: Column) -> list[int]:
    """As `order` has them."""
    own = seconds[rows]
    ordered = np.lexsort((own, effort[rows], classes(own, own.min(initial=np.inf))))
    return [int(row) for row in rows[ordered]]


@given(st.lists(ROWS, min_size=1, max_size=300), st.integers(1, 12), st.integers(0, 300))
def test_what_is_shown_is_what_asking_all_would_show(
    rows: list[tuple[float, bool, int]], shown: int, divided: int
) -> None:
    """Of each case, however few or many of its rows fit."""
    seconds, fit, effort = (np.array(column) for column in zip(*rows, strict=True))
    cases = np.split(np.arange(len(rows)), [min(divided, len(rows))])
    found = fastest_fitting(cases, seconds, [shown, shown], lambda asked: fit[asked])
    for case, fitting in zip(cases, found, strict=True):
        assert fit[fitting].all()
        every = in_order(case[fit[case]], seconds, effort)
        assert in_order(fitting, seconds, effort)[:shown] == every[:shown]


def test_few_are_asked_where_the_fastest_fit() -> None:
    """A case of thousands of layouts is settled by its first look."""
    asked: list[Positions] = []

    def surely_fit(rows: Positions) -> NDArray[np.bool_]:
        asked.append(rows)
        return np.ones(len(rows), dtype=bool)

    seconds = np.exp(np.arange(10_000) / 1000)[::-1]
    (found,) = fastest_fitting([np.arange(10_000)], seconds, [10], surely_fit)
    assert [len(each) for each in asked] == [FIRST_LOOK]
    assert set(range(9_990, 10_000)) <= set(found.tolist())
