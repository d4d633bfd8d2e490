"""Tests of Zipf's law and the number of distinct words in draws."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flyball_planner.storage.zipf import Zipf, fitted_alpha, with_distinct
from flyball_reports.errors import InputError

ALPHAS = st.floats(0.3, 2.5)
VOCABULARIES = st.floats(1, 1e12)
DRAWS = st.floats(1, 1e12)


@given(alpha=ALPHAS, vocabulary=st.integers(1, 1_000), draws=DRAWS)
def test_frequencies_add_up_to_the_draws(alpha: float, vocabulary: int, draws: float) -> None:
    """The frequencies of all ranks sum to the number of draws."""
    frequencies = Zipf(alpha, vocabulary).frequency(np.arange(1.0, vocabulary + 1), draws)
    assert frequencies.sum() == pytest.approx(draws)
    assert frequencies[0] / frequencies[-1] == pytest.approx(vocabulary**alpha)


@pytest.mark.parametrize("alpha", [0.5, 1.0, 1.5])
def test_sums_over_many_ranks_are_right(alpha: float) -> None:
    """The integral over a million ranks equals their sum."""
    ranks = np.arange(1.0, 1e6 + 1)
    expected = 1e5 * ranks**-alpha / (ranks**-alpha).sum()
    assert Zipf(alpha, 1e6).distinct(1e5) == pytest.approx(-np.expm1(-expected).sum(), rel=1e-4)


@given(alpha=ALPHAS, vocabulary=VOCABULARIES, draws=DRAWS)
def test_distinct_words_are_limited_and_grow(alpha: float, vocabulary: float, draws: float) -> None:
    """Distinct words are at most the draws and the vocabulary, and grow more slowly than the draws."""
    law = Zipf(alpha, vocabulary)
    once, twice = law.distinct(draws), law.distinct(2 * draws)
    assert once <= min(draws, vocabulary) * 1.0001
    assert once * 0.9999 <= twice <= once * 2.0001


def test_drawing_agrees_with_the_law() -> None:
    """100,000 random draws have the computed number of distinct words."""
    chances = np.arange(1.0, 50_001) ** -1.1
    drawn = np.random.default_rng(7).choice(50_000, size=100_000, p=chances / chances.sum())
    assert Zipf(1.1, 50_000).distinct(100_000) == pytest.approx(len(np.unique(drawn)), rel=0.01)
    assert fitted_alpha(np.unique(drawn, return_counts=True)[1].astype(float)) == pytest.approx(1.1, abs=0.1)


@settings(max_examples=30)
@given(alpha=st.floats(0.3, 1.0), draws=st.floats(10, 1e9), share=st.floats(0.05, 0.95))
def test_a_law_is_found_for_any_count(alpha: float, draws: float, share: float) -> None:
    """The fitted law gives the counted number of distinct words, to within one word."""
    assert with_distinct(alpha, draws, draws * share).distinct(draws) == pytest.approx(draws * share, rel=1e-3, abs=1)


def test_impossible_counts_are_refused() -> None:
    """Counts that no law can have are an error."""
    with pytest.raises(InputError, match="10 draws cannot contain 11"):
        with_distinct(1.0, 10, 11)
    with pytest.raises(InputError, match="equally frequent"):
        fitted_alpha(np.ones(20))
    with pytest.raises(InputError, match="α = -1"):
        Zipf(-1, 10)
