"""Tests of what measured steps teach."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flyball_planner.calibration.steps import cold_fit, learn_steps, paced_interval, start_of, step_factor
from tests.planner.calibration.runs import BATCHES, fit, gpt, slower


@settings(max_examples=10, deadline=None)
@given(st.floats(0.6, 1.8))
def test_a_common_factor_is_learned_and_known_surely(times: float) -> None:
    """Of runs that all take so many times as long, the factor's interval lies between nothing learned and all of it."""
    runs = [slower(gpt(batch), times) for batch in BATCHES]
    factor = step_factor(runs, start_of(runs[0]), learn_steps(runs))
    assert min(1.0, times) <= factor.middle * 1.001
    assert factor.middle <= max(1.0, times) * 1.001
    assert abs(factor.middle / times - 1) < abs(1 / times - 1) / 3 + 0.01
    assert factor.width < 0.4


def test_a_fit_of_a_classical_model_is_paced() -> None:
    """Three fits of twice the estimated time move the next one most of the way, and narrow its interval."""
    cold = cold_fit(fit(300_000))
    assert cold is not None
    warm = paced_interval(cold, learn_steps([slower(fit(samples), 2.0) for samples in (100_000, 200_000, 400_000)]))
    assert warm.middle == pytest.approx(2 * cold.middle, rel=0.3)
    assert warm.middle > 1.3 * cold.middle
    assert warm.width < cold.width


def test_what_is_trained_by_steps_has_no_fit() -> None:
    """Its steps are estimated instead."""
    assert cold_fit(gpt()) is None
