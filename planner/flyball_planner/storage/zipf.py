"""Zipf's law, frequency(rank) = C / rank^α, and the expected number of distinct words in a number of draws.

Sums over ranks are exact for the first thousand and integrals over logarithmic steps beyond. So a vocabulary may have
any number of ranks.
"""

from functools import lru_cache

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from flyball_reports.errors import InputError

Numbers = NDArray[np.float64]

EXACT_RANKS = 1_000
STEPS = 2_000  # of the integral
LARGEST_VOCABULARY = 1e30  # words of a larger vocabulary never repeat


class Zipf(Struct, frozen=True):
    """A vocabulary in which frequencies fall with a power of the rank."""

    alpha: float
    vocabulary: float

    def __post_init__(self) -> None:
        if not (self.alpha >= 0 and self.vocabulary >= 1):
            raise InputError(
                f"Zipf's law needs α ≥ 0 and 1 word or more, not α = {self.alpha} and {self.vocabulary} words"
            )

    def frequency(self, rank: Numbers, draws: float) -> Numbers:
        """Return the expected count of the word of each rank; the counts of all ranks add up to the draws."""
        ranks, weights = _ranks(self.vocabulary)
        return np.asarray(draws / (weights @ ranks**-self.alpha) * rank**-self.alpha)

    def distinct(self, draws: float) -> float:
        """Return the expected number of distinct words in some draws."""
        ranks, weights = _ranks(self.vocabulary)
        chances = ranks**-self.alpha
        return float(weights @ -np.expm1(-draws / (weights @ chances) * chances))


def with_distinct(alpha: float, draws: float, distinct: float) -> Zipf:
    """Return the law under which some draws show this number of distinct words."""
    if not 0 < distinct <= draws:
        raise InputError(f"{draws:g} draws cannot contain {distinct:g} distinct words")
    low, high = np.log(max(1.0, distinct)), np.log(LARGEST_VOCABULARY)
    for _ in range(60):  # bisects an interval of 70 to the precision of a float
        middle = (low + high) / 2
        if Zipf(alpha, float(np.exp(middle))).distinct(draws) < distinct:
            low = middle
        else:
            high = middle
    return Zipf(alpha, float(np.exp(high)))


def fitted_alpha(frequencies: Numbers) -> float:
    """Return the exponent of word counts: the slope of frequencies over ranks, both logarithmic.

    Words with fewer than five occurrences are left out if there are enough others, because their ranks are ties
    (Newman, 2005, arXiv cond-mat/0412004, on why the tail distorts a fit).
    """
    counted = np.sort(np.asarray(frequencies, dtype=float))[::-1]
    often = counted[counted >= 5] if np.count_nonzero(counted >= 5) >= 10 else counted[counted > 0]
    if len(often) < 2 or often[0] == often[-1]:
        raise InputError(f"cannot fit an exponent to {len(often)} words that are equally frequent; count more words")
    ranks = np.arange(1, len(often) + 1)
    # Each logarithmic step of ranks has the same weight, otherwise the many rare words would dominate.
    slope = np.polyfit(np.log(ranks), np.log(often), 1, w=1 / np.sqrt(ranks))[0]
    return float(-slope)


@lru_cache(maxsize=64)
def _ranks(vocabulary: float) -> tuple[Numbers, Numbers]:
    """Return ranks, and the number of ranks that each of them represents."""
    exact = np.arange(1.0, min(EXACT_RANKS, int(vocabulary)) + 1)
    if vocabulary <= EXACT_RANKS:
        return exact, np.ones_like(exact)
    edges = np.geomspace(EXACT_RANKS + 0.5, vocabulary + 0.5, STEPS + 1)
    return np.append(exact, np.sqrt(edges[:-1] * edges[1:])), np.append(np.ones_like(exact), np.diff(edges))
