"""Tests of estimating the storage of a hierarchical learner."""

import bson
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flyball_planner.storage.documents import pattern_bytes
from flyball_planner.storage.estimator import StorageEstimator
from flyball_planner.storage.level_counts import LevelCount
from flyball_reports.errors import InputError


def test_deduplication_falls_from_level_to_level() -> None:
    """Deduplication is 60 % at node0, and at each level 0.7 times that of the level below."""
    estimate = StorageEstimator(num_nodes=4, chunk_size=15, zipf_alpha=1.0).estimate_storage(1_000_000, 500)
    rates = [each.deduplication for each in estimate.level_estimates]
    assert rates == pytest.approx([0.6, 0.42, 0.294, 0.2058])
    assert [each.name for each in estimate.level_estimates] == ["node0", "node1", "node2", "node3"]


def test_levels_add_up() -> None:
    """With chunks of 15 each level has a fifteenth of the observations; the total is the sum of levels."""
    estimate = StorageEstimator().estimate_storage(1000, 450)
    observations = [each.observations for each in estimate.level_estimates]
    assert observations == pytest.approx([30_000, 2000, 2000 / 15, 2000 / 225])
    first = estimate.level_estimates[0]
    assert first.storage_mb == pytest.approx(12_000 * pattern_bytes(15, 15) * 1.2 / 1e6)
    assert estimate.total_storage_gb == pytest.approx(sum(each.storage_mb for each in estimate.level_estimates) / 1e3)


@given(symbols=st.integers(1, 120), length=st.integers(1, 60))
def test_a_pattern_has_the_size_of_its_document(symbols: int, length: int) -> None:
    """The size equals that of the BSON document that MongoDB stores."""
    document = {
        "_id": bson.ObjectId(),
        "name": "PTRN|" + "a" * 40,
        "pattern_data": [["x" * length] for _ in range(symbols)],
        "frequency": bson.Int64(1),
        "length": symbols,
    }
    assert pattern_bytes(symbols, length, metadata_bytes=0) == len(bson.encode(document))


@settings(max_examples=20)
@given(samples=st.integers(1, 10**9), tokens=st.floats(1, 1e5), nodes=st.integers(1, 10), chunk=st.integers(2, 25))
def test_an_estimate_is_an_interval_that_grows_with_the_data(
    samples: int, tokens: float, nodes: int, chunk: int
) -> None:
    """The interval contains its middle; without counts twice the samples need twice the space."""
    estimator = StorageEstimator(nodes, chunk)
    once, twice = estimator.estimate_storage(samples, tokens), estimator.estimate_storage(2 * samples, tokens)
    assert 0 < once.storage.low < once.storage.middle <= once.storage.high
    assert twice.total_storage_gb == pytest.approx(2 * once.total_storage_gb)
    assert len(once.level_estimates) == nodes


def test_more_even_data_need_more_space() -> None:
    """With a larger α fewer patterns make up more of the data, so less space is needed."""
    sizes = [
        StorageEstimator(zipf_alpha=alpha).estimate_storage(10**6, 500).total_storage_gb
        for alpha in (0.8, 1.0, 1.2, 1.5)
    ]
    assert sizes == sorted(sizes, reverse=True)


def test_the_distribution_follows_zipf() -> None:
    """On double logarithmic axes the frequencies fall with a slope of −α."""
    level = StorageEstimator(zipf_alpha=1.2).estimate_storage(10**6, 500).level_estimates[0]
    ranks, frequencies = level.distribution()
    slopes = np.diff(np.log(frequencies)) / np.diff(np.log(ranks))
    assert slopes == pytest.approx(-1.2)
    assert ranks[-1] == pytest.approx(level.unique_patterns.middle, abs=1)


@pytest.mark.parametrize("alpha", [0.7, 1.0, 1.3])
def test_counts_of_a_small_run_predict_a_large_one(alpha: float) -> None:
    """After calibration with 200,000 drawn observations the estimate for ten times as many is within 10 %."""
    random = np.random.default_rng(11)
    chances = np.arange(1.0, 300_001) ** -alpha
    drawn = random.choice(300_000, size=2_000_000, p=chances / chances.sum())
    small = np.unique(drawn[:200_000], return_counts=True)[1]
    count = LevelCount(0, 200_000, len(small), 500.0 * len(small), tuple(np.sort(small)[::-1][:5000].tolist()))
    estimator = StorageEstimator(1, 10, zipf_alpha=1.0).calibrated([count])
    (level,) = estimator.estimate_storage(200_000, 100).level_estimates
    actual = len(np.unique(drawn))
    assert level.unique_patterns.middle == pytest.approx(actual, rel=0.10)
    assert level.unique_patterns.holds(actual)
    assert level.bytes_a_pattern == 500.0


@settings(max_examples=20)
@given(unique=st.floats(0.01, 1.0), frequencies=st.lists(st.integers(1, 10**6), max_size=50, unique=True))
def test_any_counts_calibrate(unique: float, frequencies: list[int]) -> None:
    """For any frequencies the estimate for the counted size equals the count."""
    counted = tuple(frequencies) if len(frequencies) > 1 else ()
    estimator = StorageEstimator(1, 10).calibrated([LevelCount(0, 1e6, 1e6 * unique, frequencies=counted)])
    (level,) = estimator.estimate_storage(100_000, 100).level_estimates
    assert level.unique_patterns.middle == pytest.approx(1e6 * unique, rel=0.011)


def test_a_calibrated_estimate_states_its_sources() -> None:
    """The reasons distinguish between counted and assumed levels."""
    counted = StorageEstimator(2).calibrated([LevelCount(0, 1000, 300), LevelCount(0, 100, 90)])
    estimate = counted.estimate_storage(30, 500)
    assert estimate.level_estimates[0].deduplication == pytest.approx(0.7, abs=1e-3)
    assert any(reason.startswith("node0: counted") for reason in estimate.reasons)
    assert any(reason.startswith("node1: deduplication of 60 %") for reason in estimate.reasons)


def test_impossible_figures_are_refused() -> None:
    """Each message gives the value and the expected range."""
    with pytest.raises(InputError, match="0 samples"):
        StorageEstimator().estimate_storage(0, 500)
    for tokens in (float("nan"), float("inf"), 0.0, -1.0, 1e308):
        with pytest.raises(InputError, match=r"expected .* 0.001 to 1e\+12 tokens"):
            StorageEstimator().estimate_storage(10, tokens)
    with pytest.raises(InputError, match="expected 1 to 32 nodes"):
        StorageEstimator(num_nodes=100_000)
    with pytest.raises(InputError, match="chunks of 1"):
        StorageEstimator(chunk_size=1)
    with pytest.raises(InputError, match="zipf_alpha must be above 0"):
        StorageEstimator(zipf_alpha=0)
    with pytest.raises(InputError, match="node1: 5 observations with 6"):
        LevelCount(1, 5, 6)


def test_words_in_place_of_numbers_are_refused() -> None:
    """A text is named with its argument, instead of an error of Python."""
    with pytest.raises(InputError, match="num_nodes must be a number, not '4'"):
        StorageEstimator(num_nodes="4")  # type: ignore[arg-type]  # as untyped callers may pass
    with pytest.raises(InputError, match="avg_tokens_per_sample must be a number, not None"):
        StorageEstimator().estimate_storage(1000, None)  # type: ignore[arg-type]  # the same
