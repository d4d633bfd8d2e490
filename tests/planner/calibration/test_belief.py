"""Tests of how measurements narrow a belief."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from flyball_planner.calibration.belief import Belief, Vector, narrow, predict_interval

START = Belief(("speed", "fixed"), np.log([1.0, 1.0]), np.diag([0.25, 0.25]), scatter=0.05)
SIZES = np.array([1.0, 3.0, 10.0, 30.0, 100.0])


def seconds(point: Vector, sizes: NDArray[np.float64] = SIZES) -> Vector:
    """A toy model: size over speed, and something fixed."""
    speed, fixed = np.exp(point)
    logarithms: Vector = np.log(sizes / speed + fixed)
    return logarithms


def test_no_runs_teach_nothing() -> None:
    """A belief without measurements is the belief before."""
    assert narrow(START, lambda point: seconds(point, SIZES[:0]), SIZES[:0]) is START


def test_runs_move_the_coefficients_to_the_truth() -> None:
    """Five runs of a device twice as fast with three times the fixed cost are recognised as that."""
    truth = np.log([2.0, 3.0])
    found = narrow(START, seconds, np.exp(seconds(truth)))
    assert np.exp(found.middle) == pytest.approx([2.0, 3.0], rel=0.05)
    assert found.runs == 5


def test_runs_narrow_the_interval() -> None:
    """What was measured is predicted more surely than before, and so is what is like it."""
    found = narrow(START, seconds, np.exp(seconds(np.log([1.5, 0.8]))))
    sizes = np.array([50.0])
    before = predict_interval(START, lambda point: seconds(point, sizes))
    after = predict_interval(found, lambda point: seconds(point, sizes))
    assert after[2] / after[0] < 0.5 * before[2] / before[0]
    assert (found.deviations < START.deviations).all()


def test_a_strange_run_does_not_carry_the_others_away() -> None:
    """One run in five that took ten times as long changes the speed by less than a fifth."""
    measured = np.exp(seconds(np.log([2.0, 1.0])))
    strange = measured.copy()
    strange[2] *= 10
    found = narrow(START, seconds, strange)
    assert np.exp(found.middle[0]) == pytest.approx(2.0, rel=0.2)


def test_scattered_runs_widen_the_scatter() -> None:
    """Runs that lie all over say that predictions do too."""
    noise = np.exp(np.array([0.3, -0.3, 0.3, -0.3, 0.3]))
    found = narrow(START, seconds, np.exp(seconds(START.middle)) * noise)
    assert found.scatter > START.scatter


@settings(max_examples=40)
@given(st.floats(0.3, 3.0), st.floats(0.3, 3.0))
def test_the_interval_holds_the_middle_and_widens_with_doubt(speed: float, fixed: float) -> None:
    """Low, middle and high rise; a belief that is surer of its coefficients never gives a wider interval."""
    belief = Belief(START.names, np.log([speed, fixed]), START.covariance, START.scatter)
    surer = Belief(START.names, belief.middle, START.covariance / 4, START.scatter)
    low, middle, high = predict_interval(belief, seconds)
    assert (low < middle).all()
    assert (middle < high).all()
    assert (predict_interval(surer, seconds)[2] <= high).all()
