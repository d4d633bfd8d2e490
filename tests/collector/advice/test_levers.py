"""Amdahl's law, the three levers, the checkpoint interval."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flyball_collector.advice.advice import Gain
from flyball_collector.advice.amdahl import amdahl, removal
from flyball_collector.advice.checkpoints import best_interval, between_failures, overhead
from flyball_collector.advice.levers import PUBLISHED, SampleTime, batched, expect, factor, pooled, side_by_side

PART = st.floats(0, 10)
TIMES = st.builds(SampleTime, PART, PART, PART, st.floats(0.001, 10), PART)


def test_amdahl() -> None:
    """Half of the time twice as fast gives 1.33; all of it gives the factor; nothing gives nothing."""
    assert amdahl(0.5, 2) == pytest.approx(4 / 3)
    assert amdahl(1.0, 5) == pytest.approx(5)
    assert amdahl(0.0, 100) == 1.0
    assert removal(0.5).lower == pytest.approx(4 / 3)
    assert removal(0.5).upper == pytest.approx(2.0)


@given(st.floats(0, 1), st.floats(1, 1e6))
def test_a_part_gains_at_most_its_removal(share: float, times: float) -> None:
    """However fast a part becomes, the whole gains no more than by removing it."""
    assert 1.0 <= amdahl(share, times) <= removal(share, (1.0, 1.0)).upper * (1 + 1e-6) or share > 0.999


def test_a_sample_of_a_hundred_calls() -> None:
    """100 calls of 0.12 s and 1.2 s of computing: fewer calls give the published 4–7×, workers the published 2–3×."""
    time = SampleTime(fixed=10.0, carried=0.8, connecting=1.2, computing=1.0)
    found = expect(time, calls=100, into=3, workers=6, cores=4)
    published = PUBLISHED["batch_calls"]
    assert found.batch_calls.lower < published.lower < found.batch_calls.upper
    assert found.batch_calls.upper < 1.5 * published.upper
    assert found.tune_pool.lower <= PUBLISHED["tune_pool"].upper <= found.tune_pool.upper * 1.1
    assert found.parallel_workers.lower > PUBLISHED["parallel_workers"].lower
    assert found.together.upper > PUBLISHED["together"].lower


@given(TIMES, st.floats(1, 1000), st.floats(1, 1000), st.integers(1, 64), st.integers(1, 64))
def test_together_is_not_the_product(time: SampleTime, calls: float, into: float, workers: int, cores: int) -> None:
    """All levers together give at least the best one, and at most their product, because shares overlap."""
    found = expect(time, calls=calls, into=into, workers=workers, cores=cores)
    alone = (found.batch_calls, found.tune_pool, found.parallel_workers)
    assert found.together.upper >= max(gain.upper for gain in alone) * (1 - 1e-6)
    rest = batched(pooled(time, 0.0), calls, into)
    limit = factor(time.total, rest.other + rest.computing / max(cores, 1))
    assert found.together.upper <= limit * (1 + 1e-6)


@given(TIMES, st.integers(1, 64), st.integers(1, 64))
def test_workers_are_limited_by_the_cpu(time: SampleTime, workers: int, cores: int) -> None:
    """However many workers there are, computing takes its time on the cores, and the rest stays."""
    seconds = side_by_side(time, workers, cores)
    assert seconds >= time.other + time.computing / cores - 1e-9
    assert seconds <= time.total + 1e-9


def test_the_checkpoint_interval_is_young_s() -> None:
    """It is √(2·C·M) − C; the overhead is smallest there; a job with more GPUs writes more checkpoints."""
    cost, mean = 60.0, between_failures(50_000, 1024)
    best = best_interval(cost, mean)
    assert best == pytest.approx((2 * cost * mean) ** 0.5 - cost)
    assert overhead(best + cost, cost, mean) <= min(overhead(best / 2, cost, mean), overhead(best * 2, cost, mean))
    assert best_interval(cost, between_failures(50_000, 16_384)) < best
    assert best_interval(3600.0, 100.0) == 3600.0


def test_a_gain_is_an_interval_of_factors() -> None:
    """An interval below one or in the wrong order is an error of the rule."""
    for lower, upper in ((0.5, 2.0), (3.0, 2.0), (float("nan"), 2.0)):
        with pytest.raises(ValueError, match="expected 1"):
            Gain(lower, upper)
