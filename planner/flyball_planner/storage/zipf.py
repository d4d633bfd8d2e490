"""Zipf's law, frequency(rank) = C / rank^α, and how many different things so many draws from it show.

Sums over ranks are exact for the first thousand and integrals over logarithmic steps beyond, so that a vocabulary
may have more ranks than a computer could visit.
"""

from functools import lru_cache

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from flyball_reports.errors import InputError

Numbers = NDArray[np.float64]

EXACT_RANKS = 1_000
STEPS = 2_000  # of the integral
LARGEST_VOCABULARY = 1e30  # nothing repeats in a larger one


class Zipf(Struct, frozen=True):
    """A vocabulary whose words have frequencies that fall with a power of their rank."""

    alpha: float
    vocabulary: float

    def __post_init__(self) -> None:
        if not (self.alpha >= 0 and self.vocabulary >= 1):
            raise InputError(
                f"no Zipf's law has α = {self.alpha} over {self.vocabulary} words; use α ≥ 0 and 1 word or more"
            )

    def frequency(self, rank: Numbers, draws: float) -> Numbers:
        """How often the word of each rank is expected among so many draws; all ranks together give the draws."""
        ranks, weights = _ranks(self.vocabulary)
        return np.asarray(draws / (weights @ ranks**-self.alpha) * rank**-self.alpha)

    def distinct(self, draws: float) -> float:
        """How many different words so many draws are expected to show."""
        ranks, weights = _ranks(self.vocabulary)
        chances = ranks**-self.alpha
        return float(weights @ -np.expm1(-draws / (weights @ chances) * chances))


def with_distinct(alpha: float, draws: float, distinct: float) -> Zipf:
    """The law under which so many draws show so many different words."""
    if not 0 < distinct <= draws:
        raise InputError(f"{draws:g} draws cannot show {distinct:g} different words")
    low, high = np.log(max(1.0, distinct)), np.log(LARGEST_VOCABULARY)
    for _ in range(60):  # halves an interval of 70 to the precision of a float
        middle = (low + high) / 2
        if Zipf(alpha, float(np.exp(middle))).distinct(draws) < distinct:
            low = middle
        else:
            high = middle
    return Zipf(alpha, float(np.exp(high)))


def fitted_alpha(frequencies: Numbers) -> float:
    """The exponent of counted words: the slope of their frequencies over ranks, both logarithmic.

    Words seen fewer than five times are left out where enough others are there: their ranks are ties (Newman, 2005,
    arXiv cond-mat/0412004, on why the tail misleads a fit).
    """
    counted = np.sort(np.asarray(frequencies, dtype=float))[::-1]
    often = counted[counted >= 5] if np.count_nonzero(counted >= 5) >= 10 else counted[counted > 0]
    if len(often) < 2 or often[0] == often[-1]:
        raise InputError(
            f"no exponent can be read from {len(often)} different words that are equally frequent; count more"
        )
    ranks = np.arange(1, len(often) + 1)
    # Each logarithmic step of ranks weighs the same, or the many rare words would decide alone.
    slope = np.polyfit(np.log(ranks), np.log(often), 1, w=1 / np.sqrt(ranks))[0]
    return float(-slope)


@lru_cache(maxsize=64)
def _ranks(vocabulary: float) -> tuple[Numbers, Numbers]:
    """Ranks and how many ranks each of them stands for."""
    exact = np.arange(1.0, min(EXACT_RANKS, int(vocabulary)) + 1)
    if vocabulary <= EXACT_RANKS:
        return exact, np.ones_like(exact)
    edges = np.geomspace(EXACT_RANKS + 0.5, vocabulary + 0.5, STEPS + 1)
    return np.append(exact, np.sqrt(edges[:-1] * edges[1:])), np.append(np.ones_like(exact), np.diff(edges))
