"""Tests of calibration with measured steps."""

from math import log

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flyball_planner.calibration.steps import (
    cold_fit,
    learn_steps,
    paced_interval,
    start_of,
    step_factor,
    step_intervals,
)
from tests.planner.calibration.runs import BATCHES, fit, gpt, llama, slower


@settings(max_examples=10, deadline=None)
@given(st.floats(0.6, 1.8))
def test_a_common_factor_is_learned_with_a_narrow_interval(times: float) -> None:
    """If all runs differ by one factor, the learned factor is between 1 and it, and its interval is narrow."""
    runs = [slower(gpt(batch), times) for batch in BATCHES]
    factor = step_factor(runs, start_of(runs[0]), learn_steps(runs))
    assert min(1.0, times) <= factor.middle * 1.001
    assert factor.middle <= max(1.0, times) * 1.001
    assert abs(factor.middle / times - 1) < abs(1 / times - 1) / 3 + 0.01
    assert factor.width < 0.4


@pytest.mark.parametrize("times", [0.6, 1.3, 2.0])
def test_one_run_teaches_part_of_a_factor_and_four_nearly_all(times: float) -> None:
    """This also holds for a model limited by arithmetic, whose coefficients have a narrow prior."""
    runs = [slower(llama(batch), times) for batch in BATCHES[:4]]
    one, four = (step_factor(used, start_of(used[0]), learn_steps(used)) for used in (runs[:1], runs))
    assert 0.4 < log(one.middle) / log(times) < 0.9
    assert 0.85 < log(four.middle) / log(times) <= 1.001
    assert four.width < one.width


def test_contradicting_runs_widen_the_steps_interval() -> None:
    """Runs that disagree teach a smaller factor and a wider interval than runs that agree."""
    scattered = [slower(llama(batch), times) for batch, times in zip(BATCHES, (1.0, 2.0, 3.0, 1.5), strict=False)]
    consistent = [slower(llama(batch), 2.0) for batch in BATCHES[:4]]
    before, after = start_of(scattered[0]), learn_steps(scattered)
    assert step_intervals(scattered, after)[0].width > 2 * step_intervals(scattered, before)[0].width
    assert (
        step_factor(scattered, before, after).middle < step_factor(consistent, before, learn_steps(consistent)).middle
    )
    assert step_factor(scattered, before, after).width > step_factor(consistent, before, learn_steps(consistent)).width


def test_measured_fits_adjust_a_classical_model() -> None:
    """Three fits of twice the estimated time raise the next estimate and narrow its interval."""
    cold = cold_fit(fit(300_000))
    assert cold is not None
    warm = paced_interval(cold, learn_steps([slower(fit(samples), 2.0) for samples in (100_000, 200_000, 400_000)]))
    assert warm.middle == pytest.approx(2 * cold.middle, rel=0.3)
    assert warm.middle > 1.3 * cold.middle
    assert warm.width < cold.width


def test_a_model_trained_by_steps_has_no_fit() -> None:
    """A model that is trained by gradient steps has no fit, because its steps are estimated instead."""
    assert cold_fit(gpt()) is None
