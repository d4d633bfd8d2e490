"""What a finished or sampled training of a hierarchical learner says of the next one."""

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from flyball_planner.storage.zipf import LARGEST_VOCABULARY, Zipf, fitted_alpha, with_distinct
from flyball_reports.errors import InputError


class LevelCount(Struct, frozen=True):
    """What was counted at one level: `db.nodeN.countDocuments()`, `collStats`, and how often patterns were seen."""

    level: int
    observations: float  # patterns seen, repetitions included
    unique: float  # patterns stored
    storage_bytes: float | None = None  # size on disk with indexes
    frequencies: tuple[int, ...] = ()  # of patterns, or of a sample of the frequent ones

    def __post_init__(self) -> None:
        if not 0 < self.unique <= self.observations:
            wrong = f"{self.observations:g} observations gave {self.unique:g} patterns"
            raise InputError(f"node{self.level}: {wrong}; expected at least one, and no more than were observed")


class Learnt(Struct, frozen=True):
    """What the counts of a level mean for any number of observations."""

    law: Zipf
    deduplication: float  # as counted
    bytes_a_pattern: float | None

    def unique(self, observations: float) -> float:
        """Patterns that so many observations leave, by Zipf's law."""
        return min(observations, self.law.distinct(observations))


def learn(counts: Sequence[LevelCount], alpha: float) -> dict[int, Learnt]:
    """What was learnt of each level; where a level was counted several times, the largest count is taken."""
    largest = {each.level: each for each in sorted(counts, key=lambda each: each.observations)}
    return {level: _learnt(count, alpha) for level, count in largest.items()}


def _learnt(count: LevelCount, alpha: float) -> Learnt:
    exponent = fitted_alpha(np.array(count.frequencies, dtype=float)) if count.frequencies else alpha
    return Learnt(
        law=_law(exponent, count),
        deduplication=1 - count.unique / count.observations,
        bytes_a_pattern=None if count.storage_bytes is None else count.storage_bytes / count.unique,
    )


def _law(alpha: float, count: LevelCount) -> Zipf:
    """The steepest law, from this exponent down, that leaves as many unique patterns as were counted.

    Frequent ranks of natural data may fall more steeply than rare ones (Ferrer i Cancho and Solé, 2001), so that the
    exponent of the former may not explain how many of the latter there are.
    """
    while Zipf(alpha, LARGEST_VOCABULARY).distinct(count.observations) < 0.99 * count.unique:
        alpha -= 0.05
    return with_distinct(alpha, count.observations, count.unique)
