"""Tests of what measured steps teach."""

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
def test_a_common_factor_is_learned_and_known_surely(times: float) -> None:
    """Of runs that all take so many times as long, the factor's interval lies between nothing learned and all of it."""
    runs = [slower(gpt(batch), times) for batch in BATCHES]
    factor = step_factor(runs, start_of(runs[0]), learn_steps(runs))
    assert min(1.0, times) <= factor.middle * 1.001
    assert factor.middle <= max(1.0, times) * 1.001
    assert abs(factor.middle / times - 1) < abs(1 / times - 1) / 3 + 0.01
    assert factor.width < 0.4


@pytest.mark.parametrize("times", [0.6, 1.3, 2.0])
def test_one_run_moves_steps_part_of_the_way_and_four_nearly_all_of_it(times: float) -> None:
    """Also of a model that is bound by arithmetic, whose coefficients are thought to be well known."""
    runs = [slower(llama(batch), times) for batch in BATCHES[:4]]
    one, four = (step_factor(known, start_of(known[0]), learn_steps(known)) for known in (runs[:1], runs))
    assert 0.4 < log(one.middle) / log(times) < 0.9
    assert 0.85 < log(four.middle) / log(times) <= 1.001
    assert four.width < one.width


def test_contradicting_runs_widen_the_steps_interval() -> None:
    """Their middle counts for less than that of runs which agree, and the next run may lie anywhere among them."""
    torn = [slower(llama(batch), times) for batch, times in zip(BATCHES, (1.0, 2.0, 3.0, 1.5), strict=False)]
    agreed = [slower(llama(batch), 2.0) for batch in BATCHES[:4]]
    before, after = start_of(torn[0]), learn_steps(torn)
    assert step_intervals(torn, after)[0].width > 2 * step_intervals(torn, before)[0].width
    assert step_factor(torn, before, after).middle < step_factor(agreed, before, learn_steps(agreed)).middle
    assert step_factor(torn, before, after).width > step_factor(agreed, before, learn_steps(agreed)).width


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
