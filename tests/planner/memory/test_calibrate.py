"""What a few measured runs teach the memory model."""

import pytest

from flyball_planner.interval import Interval
from flyball_planner.memory.calibrate import Observation, calibrate
from flyball_planner.memory.constants import CONSTANTS, Constants

GB = 1e9


def run(states: float, activations: float, measured: float) -> Observation:
    """A run of known states and activations, as the model sees it."""

    def predict(constants: Constants) -> Interval:
        middle = constants.whole_factor * (states + constants.activations_factor * activations)
        spread = 0.2 * constants.spread_factor
        return Interval(middle * (1 - spread), middle, middle * (1 + spread))

    return Observation(measured, predict)


def test_nothing_seen_changes_nothing() -> None:
    """Without runs the constants stay."""
    assert calibrate([]) == CONSTANTS


def test_a_common_factor_is_learnt_with_caution() -> None:
    """Runs that all take a tenth more move the whole most of the way, and narrow the interval."""
    fitted = calibrate([run(each * GB, each * GB, 2.2 * each * GB) for each in (1, 2, 3, 4, 5)])
    assert 1.05 < fitted.whole_factor < 1.1
    assert fitted.spread_factor < 1


def test_activations_are_told_from_states() -> None:
    """Runs that differ in their activations alone show what these really take."""
    shares = (0.1, 0.5, 1.0, 3.0, 9.0)
    fitted = calibrate([run(GB, share * GB, GB + 0.7 * share * GB) for share in shares])
    assert fitted.activations_factor == pytest.approx(0.7)
    assert fitted.whole_factor == pytest.approx(1.0, abs=0.02)


def test_contradicting_runs_keep_the_interval_wide() -> None:
    """Where runs disagree the interval is not narrowed."""
    fitted = calibrate([run(GB, GB, factor * GB) for factor in (1.2, 1.6, 2.0, 2.4, 2.8)])
    assert fitted.spread_factor == 1.5
