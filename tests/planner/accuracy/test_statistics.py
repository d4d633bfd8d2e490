"""Tests of the error statistics of predictions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flyball_planner.accuracy.statistics import Errors, baseline_error, errors, rank_correlation
from flyball_planner.interval import Interval

VALUES = st.lists(st.floats(1, 1e6), min_size=2, max_size=20)


@given(VALUES)
def test_perfect_predictions_have_no_error(measured: list[float]) -> None:
    """Exact predictions have no error and full coverage."""
    found = errors([Interval.exactly(each) for each in measured], measured)
    assert found.mean_ape == found.bias == found.width90 == 0
    assert found.coverage90 == 1


@given(VALUES, st.floats(0.5, 2))
def test_a_constant_factor_is_the_bias(measured: list[float], factor: float) -> None:
    """If all predictions are wrong by one factor, the bias equals that factor and the ranking is perfect."""
    found = errors([Interval.exactly(each * factor) for each in measured], measured)
    assert found.bias == pytest.approx(factor - 1)
    assert found.median_ape == pytest.approx(abs(factor - 1))
    assert found.rank_correlation is None or found.rank_correlation == pytest.approx(1)


def test_coverage_counts_measurements_within_the_interval() -> None:
    """Coverage is the share of measurements in the interval; width is relative to the middle."""
    found = errors([Interval(90, 100, 110)] * 4, [95, 100, 111, 50])
    assert found.coverage90 == 0.5
    assert found.width90 == pytest.approx(0.2)


def test_no_measurements_give_no_figures() -> None:
    """Without rows the figures are empty, not zero."""
    assert errors([], []) == Errors()
    assert baseline_error([], []) is None


def test_ranks_share_ties() -> None:
    """Equal values share their mean rank; constant values have no rank correlation."""
    assert rank_correlation(np.array([1.0, 1.0, 2.0]), np.array([3.0, 3.0, 9.0])) == pytest.approx(1)
    assert rank_correlation(np.array([1.0, 1.0]), np.array([3.0, 9.0])) is None


def test_the_baseline_is_one_fitted_constant() -> None:
    """The baseline's error is zero if one constant fits all rows, and otherwise its median error."""
    assert baseline_error([10, 20], [5, 10]) == 0
    assert baseline_error([10, 10, 10], [8, 10, 12]) == pytest.approx(1 / 6)
