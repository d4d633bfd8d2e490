"""Tests of narrowing a belief with measurements."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from flyball_planner.belief import Belief, Vector, narrow, predict_interval

START = Belief(("speed", "fixed"), np.log([1.0, 1.0]), np.diag([0.25, 0.25]), scatter=0.05)
SIZES = np.array([1.0, 3.0, 10.0, 30.0, 100.0])


def seconds(point: Vector, sizes: NDArray[np.float64] = SIZES) -> Vector:
    """Return logarithms of the seconds of a toy model: size / speed + fixed."""
    speed, fixed = np.exp(point)
    logarithms: Vector = np.log(sizes / speed + fixed)
    return logarithms


def test_no_runs_change_nothing() -> None:
    """Without measurements the belief is unchanged."""
    assert narrow(START, lambda point: seconds(point, SIZES[:0]), SIZES[:0]) is START


def test_runs_move_the_coefficients_to_the_truth() -> None:
    """Five runs recover twice the speed and three times the fixed cost."""
    truth = np.log([2.0, 3.0])
    found = narrow(START, seconds, np.exp(seconds(truth)))
    assert np.exp(found.middle) == pytest.approx([2.0, 3.0], rel=0.05)
    assert found.runs == 5


def test_runs_narrow_the_interval() -> None:
    """After five runs the interval of a similar size is narrower."""
    found = narrow(START, seconds, np.exp(seconds(np.log([1.5, 0.8]))))
    sizes = np.array([50.0])
    before = predict_interval(START, lambda point: seconds(point, sizes))
    after = predict_interval(found, lambda point: seconds(point, sizes))
    assert after[2] / after[0] < 0.5 * before[2] / before[0]
    assert (found.deviations < START.deviations).all()


def test_an_outlier_has_little_influence() -> None:
    """One run in five that took ten times as long changes the speed by less than a fifth."""
    measured = np.exp(seconds(np.log([2.0, 1.0])))
    with_outlier = measured.copy()
    with_outlier[2] *= 10
    found = narrow(START, seconds, with_outlier)
    assert np.exp(found.middle[0]) == pytest.approx(2.0, rel=0.2)


def test_scattered_runs_widen_the_scatter() -> None:
    """Runs that scatter increase the scatter of predictions."""
    noise = np.exp(np.array([0.3, -0.3, 0.3, -0.3, 0.3]))
    found = narrow(START, seconds, np.exp(seconds(START.middle)) * noise)
    assert found.scatter > START.scatter


@settings(max_examples=40)
@given(st.floats(0.3, 3.0), st.floats(0.3, 3.0))
def test_the_interval_contains_its_middle_and_widens_with_uncertainty(speed: float, fixed: float) -> None:
    """The interval contains its middle, and a more certain belief never has a higher upper end."""
    belief = Belief(START.names, np.log([speed, fixed]), START.covariance, START.scatter)
    more_certain = Belief(START.names, belief.middle, START.covariance / 4, START.scatter)
    low, middle, high = predict_interval(belief, seconds)
    assert (low < middle).all()
    assert (middle < high).all()
    assert (predict_interval(more_certain, seconds)[2] <= high).all()
