"""What a few measured runs teach the memory model."""

from math import log

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
    assert 1.08 < fitted.whole_factor < 1.1
    assert fitted.spread_factor < 1


def test_activations_are_told_from_states() -> None:
    """Runs that differ in their activations alone show what these really take."""
    shares = (0.1, 0.5, 1.0, 3.0, 9.0)
    fitted = calibrate([run(GB, share * GB, GB + 0.7 * share * GB) for share in shares])
    assert fitted.activations_factor == pytest.approx(0.7)
    assert fitted.whole_factor == pytest.approx(1.0, abs=0.02)


def test_contradicting_runs_keep_the_interval_wide() -> None:
    """Where runs disagree the interval is widened, and where they lie counts for less."""
    fitted = calibrate([run(GB, GB, factor * GB) for factor in (1.2, 1.6, 2.0, 2.4, 2.8)])
    assert fitted.spread_factor > 1.5
    torn = calibrate([run(GB, GB, factor * GB) for factor in (1.6, 3.0, 4.0, 5.0)])
    agreed = calibrate([run(GB, GB, 3.5 * GB) for _ in range(4)])
    assert torn.whole_factor < agreed.whole_factor


@given(st.floats(0.6, 2.0))
def test_one_run_moves_the_estimate_part_of_the_way_and_four_nearly_all_of_it(times: float) -> None:
    """Of what runs that agree lie off, in logarithms."""
    moved = [log(calibrate([run(GB, GB, 2 * times * GB)] * count).whole_factor) for count in (1, 2, 4)]
    assert abs(moved[0]) <= abs(moved[1]) <= abs(moved[2]) <= abs(log(times))
    assert abs(moved[0]) < 0.8 * abs(log(times)) + 1e-9
    assert abs(moved[2]) > 0.9 * abs(log(times)) - 1e-9


def test_a_single_run_that_lies_far_off_leaves_the_interval_wide() -> None:
    """It may be the model that is wrong, or the run."""
    assert calibrate([run(GB, GB, 4 * GB)]).spread_factor > 1.4
    assert calibrate([run(GB, GB, 2 * GB)]).spread_factor == pytest.approx(1)


@pytest.mark.parametrize(("quantised", "tried"), [(False, {CONSTANTS.quantised_copies}), (True, None)])
def test_copies_of_quantised_layers_are_tried_where_there_are_any(quantised: bool, tried: set[float] | None) -> None:
    """Elsewhere they change nothing, and cost as many estimates again."""
    asked = set()

    def predict(constants: Constants) -> Interval:
        asked.add(constants.quantised_copies)
        return Interval(0.9 * GB, GB, 1.1 * GB)

    calibrate([Observation(1.1 * GB, predict, quantised)])
    assert asked == tried if tried else len(asked) > 4
