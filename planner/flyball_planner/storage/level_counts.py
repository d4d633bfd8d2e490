"""Counts of a finished or sampled training of a hierarchical learner, for the estimate of the next one."""

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from flyball_planner.storage.zipf import LARGEST_VOCABULARY, Zipf, fitted_alpha, with_distinct
from flyball_reports.errors import InputError


class LevelCount(Struct, frozen=True):
    """The counts of one level: `db.nodeN.countDocuments()`, `collStats`, and how often patterns were seen."""

    level: int
    observations: float  # patterns seen, including repetitions
    unique: float  # patterns stored
    storage_bytes: float | None = None  # size on disk with indexes
    frequencies: tuple[int, ...] = ()  # of patterns, or of a sample of the frequent ones

    def __post_init__(self) -> None:
        if not 0 < self.unique <= self.observations:
            counts = f"{self.observations:g} observations with {self.unique:g} unique patterns"
            raise InputError(f"node{self.level}: {counts}; expected at least one, and not more than observations")


class LearnedLevel(Struct, frozen=True):
    """A model of one level from its counts, for any number of observations."""

    law: Zipf
    deduplication: float  # as counted
    bytes_a_pattern: float | None

    def unique(self, observations: float) -> float:
        """Return the patterns after some observations, by Zipf's law."""
        return min(observations, self.law.distinct(observations))


def learn(counts: Sequence[LevelCount], alpha: float) -> dict[int, LearnedLevel]:
    """Return a model of each level; of several counts, the one with the most observations is used."""
    largest = {each.level: each for each in sorted(counts, key=lambda each: each.observations)}
    return {level: _learned(count, alpha) for level, count in largest.items()}


def _learned(count: LevelCount, alpha: float) -> LearnedLevel:
    exponent = fitted_alpha(np.array(count.frequencies, dtype=float)) if count.frequencies else alpha
    return LearnedLevel(
        law=_law(exponent, count),
        deduplication=1 - count.unique / count.observations,
        bytes_a_pattern=None if count.storage_bytes is None else count.storage_bytes / count.unique,
    )


def _law(alpha: float, count: LevelCount) -> Zipf:
    """Return the steepest law, from this exponent down, that leaves as many unique patterns as counted.

    Frequent ranks of natural data may fall more steeply than rare ones (Ferrer i Cancho and Solé, 2001), so the
    exponent of the frequent ones may not explain the number of rare ones.
    """
    while Zipf(alpha, LARGEST_VOCABULARY).distinct(count.observations) < 0.99 * count.unique:
        alpha -= 0.05
    return with_distinct(alpha, count.observations, count.unique)
