"""The interval of checkpoints."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flyball_collector.adjustments.rules.young_daly import (
    LEAST_COSTS,
    MOST_OF_RUN,
    MOST_SECONDS,
    best_steps,
    most_steps,
    seconds_between_failures,
)
from flyball_collector.advice.checkpoints import overhead

CHOICES = tuple(base * 10**power for power in range(6) for base in (1, 2, 3, 5, 7))


def test_before_any_failure_the_published_value_counts() -> None:
    """Eight devices share 50,000 hours; a thousand hours without a failure make failures rarer, not impossible."""
    assert seconds_between_failures(8, 0, 0.0) == pytest.approx(50_000 * 3600 / 8)
    assert seconds_between_failures(8, None, None) == pytest.approx(50_000 * 3600 / 8)
    assert seconds_between_failures(8, 0, 1000.0) > 50_000 * 3600 / 8


@pytest.mark.parametrize("failures", [1, 3, 10])
def test_failures_that_were_seen_outweigh_it(failures: int) -> None:
    """With as many failures as there were days on 64 devices, the estimate is within a third of what was seen."""
    hours = 24.0 * failures
    assert seconds_between_failures(64, failures, hours) == pytest.approx(24 * 3600, rel=0.34)


def test_the_best_choice_is_near_the_optimum() -> None:
    """For a cost of 10 s and a failure every 5 h, the choice loses at most 2 % more than the square-root rule."""
    mean = 5 * 3600.0
    found = best_steps(CHOICES, 10_000, step_seconds=0.5, cost_seconds=10.0, between_failures=mean)
    optimum = math.sqrt(2 * 10.0 * mean)
    assert found is not None
    assert found.lost_share == pytest.approx(overhead(optimum, 10.0, mean), rel=0.02)
    assert found.lost_share < found.lost_share_before


@given(
    now=st.sampled_from(CHOICES), step=st.floats(0.01, 10.0), cost=st.floats(0.01, 100.0), mean=st.floats(600.0, 1e8)
)
def test_the_choice_is_within_its_limits_and_stays(now: int, step: float, cost: float, mean: float) -> None:
    """The interval is neither longer than an hour nor shorter than ten times the cost, and is not changed again."""
    found = best_steps(CHOICES, now, step_seconds=step, cost_seconds=cost, between_failures=mean)
    if found is not None:
        assert LEAST_COSTS * cost <= found.seconds <= max(MOST_SECONDS, LEAST_COSTS * cost)
        assert best_steps(CHOICES, found.steps, step_seconds=step, cost_seconds=cost, between_failures=mean) is None


@pytest.mark.parametrize(("step", "cost", "now"), [(0.0, 1.0, 10), (0.5, 0.0, 10), (0.5, 1.0, 0)])
def test_unknown_figures_propose_nothing(step: float, cost: float, now: int) -> None:
    """Without the time of a step, the cost or the present interval there is no choice."""
    assert best_steps(CHOICES, now, step_seconds=step, cost_seconds=cost, between_failures=1e6) is None


@given(now=st.sampled_from(CHOICES), cost=st.floats(0.01, 100.0), total=st.integers(1, 10**6), done=st.floats(0.0, 1.0))
def test_no_interval_is_longer_than_what_is_left_of_the_run(now: int, cost: float, total: int, done: float) -> None:
    """The interval is at most a tenth of the run's steps and at most the steps that are left."""
    left = total * (1.0 - done)
    found = best_steps(
        CHOICES, now, step_seconds=0.5, cost_seconds=cost, between_failures=1e8, most=most_steps(total, left)
    )
    if found is not None:
        assert found.steps <= MOST_OF_RUN * total
        assert found.steps <= left


def test_a_run_of_unknown_length_is_not_limited_by_it() -> None:
    """Without a total number of steps only time limits the interval; without progress the whole run is left."""
    assert most_steps(None, None) == math.inf
    assert most_steps(5000, None) == 500


def test_an_interval_of_hours_is_shortened() -> None:
    """Although a failure is unlikely, more than two hours of work are never at risk."""
    found = best_steps(CHOICES, 20_000, step_seconds=1.0, cost_seconds=1.0, between_failures=1e9)
    assert found is not None
    assert found.seconds <= MOST_SECONDS
