"""Tests of calibrating the memory model with a few measured runs."""

from math import log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flyball_planner.interval import Interval
from flyball_planner.memory.calibration import Observation, calibrate
from flyball_planner.memory.constants import CONSTANTS, Constants

GB = 1e9


def run(states: float, activations: float, measured: float) -> Observation:
    """Return an observation of a run with known states and activations."""

    def predict(constants: Constants) -> Interval:
        middle = constants.total_factor * (states + constants.activations_factor * activations)
        spread = 0.2 * constants.spread_factor
        return Interval(middle * (1 - spread), middle, middle * (1 + spread))

    return Observation(measured, predict)


def test_no_runs_change_nothing() -> None:
    """Without runs the constants are unchanged."""
    assert calibrate([]) == CONSTANTS


def test_most_of_a_common_factor_is_learned() -> None:
    """If all runs take 10 % more, the total factor is nearly 1.1 and the interval is narrower."""
    fitted = calibrate([run(each * GB, each * GB, 2.2 * each * GB) for each in (1, 2, 3, 4, 5)])
    assert 1.08 < fitted.total_factor < 1.1
    assert fitted.spread_factor < 1


def test_activations_are_separated_from_states() -> None:
    """Runs that differ only in their activations give the factor of activations."""
    shares = (0.1, 0.5, 1.0, 3.0, 9.0)
    fitted = calibrate([run(GB, share * GB, GB + 0.7 * share * GB) for share in shares])
    assert fitted.activations_factor == pytest.approx(0.7)
    assert fitted.total_factor == pytest.approx(1.0, abs=0.02)


def test_contradicting_runs_keep_the_interval_wide() -> None:
    """Runs that disagree widen the interval and have a smaller influence on its middle."""
    fitted = calibrate([run(GB, GB, factor * GB) for factor in (1.2, 1.6, 2.0, 2.4, 2.8)])
    assert fitted.spread_factor > 1.5
    scattered = calibrate([run(GB, GB, factor * GB) for factor in (1.6, 3.0, 4.0, 5.0)])
    consistent = calibrate([run(GB, GB, 3.5 * GB) for _ in range(4)])
    assert scattered.total_factor < consistent.total_factor


@given(st.floats(0.6, 2.0))
def test_one_run_teaches_part_of_a_factor_and_four_nearly_all(times: float) -> None:
    """In logarithms, one consistent run teaches at most 80 % of the factor and four at least 90 %."""
    moved = [log(calibrate([run(GB, GB, 2 * times * GB)] * count).total_factor) for count in (1, 2, 4)]
    assert abs(moved[0]) <= abs(moved[1]) <= abs(moved[2]) <= abs(log(times))
    assert abs(moved[0]) < 0.8 * abs(log(times)) + 1e-9
    assert abs(moved[2]) > 0.9 * abs(log(times)) - 1e-9


def test_a_single_outlier_keeps_the_interval_wide() -> None:
    """A single run far from the estimate widens the interval, because the run may be wrong."""
    assert calibrate([run(GB, GB, 4 * GB)]).spread_factor > 1.4
    assert calibrate([run(GB, GB, 2 * GB)]).spread_factor == pytest.approx(1)


@pytest.mark.parametrize(("quantised", "expected"), [(False, {CONSTANTS.extra_inputs}), (True, None)])
def test_held_inputs_are_fitted_only_for_quantised_runs(quantised: bool, expected: set[float] | None) -> None:
    """Without quantised runs held inputs change nothing, so their numbers are not tried."""
    tried = set()

    def predict(constants: Constants) -> Interval:
        tried.add(constants.extra_inputs)
        return Interval(0.9 * GB, GB, 1.1 * GB)

    calibrate([Observation(1.1 * GB, predict, quantised)])
    assert tried == (expected or {0.0, 1.0, 2.0})
