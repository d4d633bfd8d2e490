"""Storage of a hierarchical learner: tokens become patterns at node0, which become patterns at node1, and so on."""

from collections.abc import Mapping, Sequence
from math import ceil
from typing import Self

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from flyball_planner.interval import Interval
from flyball_planner.storage.documents import METADATA_BYTES, NAME_BYTES, TOKEN_BYTES, pattern_bytes
from flyball_planner.storage.level_counts import LearnedLevel, LevelCount, learn
from flyball_planner.storage.zipf import Zipf, with_distinct
from flyball_reports.errors import InputError
from flyball_reports.figures import percent

DEDUPLICATION_AT_NODE0 = 0.6
DEDUPLICATION_FALLS_BY = 0.7
"""60 % of what node0 sees is already known, and each level above has 0.7 times that: 42, 29.4, 20.6 %. Chunks of
tokens repeat, chunks of chunks less so. From earlier trainings of such learners, at α = 1."""

MONGODB_OVERHEAD = 0.2
"""Share for indexes, internal structures and padding, measured on earlier trainings."""

UNSURE_OF_DEDUPLICATION = 0.1
"""Uncertainty in both directions without counts; a guess, and reported as one."""

COMPRESSED_TO = 0.5
"""WiredTiger's snappy compresses repetitive documents to 0.27 to 0.4 of their size, but names are hashes, which do not
compress (mongodb.com/blog/post/new-compression-options-mongodb-30; 3.3 to 3.7 times measured for counters)."""

COUNTED_BYTES_VARY = 0.1
"""Variation of a pattern's size between one count and the next larger one."""

MOST_NODES, LARGEST_CHUNK = 32, 1_000_000
FEWEST_TOKENS, MOST_TOKENS = 1e-3, 1e12
"""Limits outside of which nothing is learned and floats lose precision."""


class LevelEstimate(Struct, frozen=True):
    """The storage of one level, on disk with MongoDB's overhead; 1 MB is 10⁶ bytes."""

    level: int
    observations: float
    unique_patterns: Interval
    deduplication: float
    bytes_a_pattern: float
    storage: Interval  # bytes
    law: Zipf

    @property
    def name(self) -> str:
        """Return the level's name in the learner's database."""
        return f"node{self.level}"

    @property
    def storage_mb(self) -> float:
        """Return the most likely size."""
        return self.storage.middle / 1e6

    def distribution(self, points: int = 200) -> tuple[np.ndarray, np.ndarray]:
        """Return ranks and frequencies for a plot with logarithmic axes."""
        last = max(2.0, self.unique_patterns.middle)
        ranks = np.unique(np.round(np.geomspace(1.0, last, points)))
        return ranks, self.law.frequency(ranks, self.observations)


class StorageEstimate(Struct, frozen=True):
    """The storage of all levels."""

    samples: int
    level_estimates: tuple[LevelEstimate, ...]
    reasons: tuple[str, ...]

    @property
    def storage(self) -> Interval:
        """Return the bytes of all levels; their errors have the same cause, so the intervals add up."""
        total = Interval.exactly(0.0)
        for each in self.level_estimates:
            total += each.storage
        return total

    @property
    def total_storage_gb(self) -> float:
        """Return the most likely size; 1 GB is 10⁹ bytes."""
        return self.storage.middle / 1e9


StorageBreakdown = StorageEstimate
"""The name of an estimate in earlier scripts."""


def _refuse_words(**given: object) -> None:
    """Raise an error for an argument that is not a number."""
    for name, value in given.items():
        if isinstance(value, bool) or not isinstance(value, int | float | np.number):
            raise InputError(f"StorageEstimator: {name} must be a number, not {value!r}")


class StorageEstimator(Struct, frozen=True):
    """Estimates storage from a few parameters, or more accurately from the counts of a training."""

    num_nodes: int = 4
    chunk_size: int = 15
    zipf_alpha: float = 1.0
    token_bytes: float = TOKEN_BYTES
    metadata_bytes: float = METADATA_BYTES
    learned: Mapping[int, LearnedLevel] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _refuse_words(num_nodes=self.num_nodes, chunk_size=self.chunk_size, zipf_alpha=self.zipf_alpha)
        if not 1 <= self.num_nodes <= MOST_NODES or not 2 <= self.chunk_size <= LARGEST_CHUNK:
            raise InputError(
                f"{self.num_nodes} nodes with chunks of {self.chunk_size}: expected 1 to {MOST_NODES} nodes and chunks "
                f"of 2 to {LARGEST_CHUNK:,}"
            )
        if not 0 < self.zipf_alpha <= 5:
            raise InputError(
                f"zipf_alpha must be above 0 and at most 5, not {self.zipf_alpha}; natural data are near 1"
            )

    def calibrated(self, counts: Sequence[LevelCount]) -> Self:
        """Return an estimator that uses counts instead of assumptions."""
        return replace(self, learned={**self.learned, **learn(counts, self.zipf_alpha)})

    def estimate_storage(self, num_samples: int, avg_tokens_per_sample: float) -> StorageEstimate:
        """Return the storage of some samples with some tokens each.

        >>> estimator = StorageEstimator(num_nodes=4, chunk_size=15, zipf_alpha=1.0)
        >>> estimate = estimator.estimate_storage(num_samples=100_000, avg_tokens_per_sample=500)
        >>> round(estimate.total_storage_gb, 2)
        1.4
        >>> [round(level.storage_mb, 1) for level in estimate.level_estimates]
        [1196.8, 185.3, 15.0, 1.1]
        >>> [round(level.deduplication, 3) for level in estimate.level_estimates]
        [0.6, 0.42, 0.294, 0.206]

        Counts of a finished training replace the assumptions:

        >>> from flyball_planner.storage.level_counts import LevelCount
        >>> counted = estimator.calibrated([LevelCount(0, observations=3e6, unique=9e5, storage_bytes=7.2e8)])
        >>> round(counted.estimate_storage(100_000, 500).level_estimates[0].storage_mb)
        784
        """
        _refuse_words(num_samples=num_samples, avg_tokens_per_sample=avg_tokens_per_sample)
        if num_samples < 1 or not FEWEST_TOKENS <= avg_tokens_per_sample <= MOST_TOKENS:
            raise InputError(
                f"{num_samples} samples with {avg_tokens_per_sample} tokens: expected at least 1 sample and "
                f"{FEWEST_TOKENS:g} to {MOST_TOKENS:g} tokens per sample"
            )
        levels: list[LevelEstimate] = []
        seen, most = avg_tokens_per_sample, float(ceil(avg_tokens_per_sample))
        for level in range(self.num_nodes):
            seen, most = seen / self.chunk_size, float(ceil(most / self.chunk_size))
            levels.append(self._level(level, seen * num_samples, most * num_samples))
        return StorageEstimate(num_samples, tuple(levels), self._reasons())

    def _level(self, level: int, observations: float, with_partial_chunks: float) -> LevelEstimate:
        known = self.learned.get(level)
        unique = _counted(known, observations) if known else self._assumed(level, observations)
        unique = replace(unique, high=max(unique.high, unique.high / observations * with_partial_chunks))
        size = self._bytes(level)
        law = known.law if known else with_distinct(self.zipf_alpha, observations, unique.middle)
        return LevelEstimate(
            level=level,
            observations=observations,
            unique_patterns=unique,
            deduplication=1 - unique.middle / observations,
            bytes_a_pattern=size.middle,
            storage=Interval(unique.low * size.low, unique.middle * size.middle, unique.high * size.high),
            law=law,
        )

    def _assumed(self, level: int, observations: float) -> Interval:
        usual = DEDUPLICATION_AT_NODE0 * DEDUPLICATION_FALLS_BY**level
        rates = (usual + UNSURE_OF_DEDUPLICATION, usual, usual - UNSURE_OF_DEDUPLICATION)
        return Interval(*(self._after(min(1.0, max(0.0, rate)), observations) for rate in rates))

    def _after(self, deduplication: float, observations: float) -> float:
        """Return unique patterns. The rate is for α = 1; with a larger α, data repeat more."""
        unique = observations * (1 - deduplication)
        if self.zipf_alpha == 1.0 or not 0 < unique < observations:
            return unique
        vocabulary = with_distinct(1.0, observations, unique).vocabulary
        return min(observations, Zipf(self.zipf_alpha, vocabulary).distinct(observations))

    def _bytes(self, level: int) -> Interval:
        known = self.learned.get(level)
        if known and known.bytes_a_pattern:
            return Interval.around(known.bytes_a_pattern, COUNTED_BYTES_VARY, COUNTED_BYTES_VARY)
        symbol = self.token_bytes if level == 0 else NAME_BYTES
        size = pattern_bytes(self.chunk_size, symbol, self.metadata_bytes) * (1 + MONGODB_OVERHEAD)
        return Interval(size * COMPRESSED_TO, size, size)

    def _reasons(self) -> tuple[str, ...]:
        assumed = [f"node{level}" for level in range(self.num_nodes) if level not in self.learned]
        counted = [f"node{level}" for level in range(self.num_nodes) if level in self.learned]
        reasons = []
        if assumed:
            reasons.append(
                f"{', '.join(assumed)}: deduplication of {percent(DEDUPLICATION_AT_NODE0)} at node0 and "
                f"{DEDUPLICATION_FALLS_BY} times as much at each further level, ± {percent(UNSURE_OF_DEDUPLICATION)} "
                f"(assumed); MongoDB adds {percent(MONGODB_OVERHEAD)}"
            )
            reasons.append(
                "lower bound: MongoDB compresses documents to half; upper bound: each sample ends with a partial chunk"
            )
        if counted:
            reasons.append(f"{', '.join(counted)}: counted; between Zipf's law and the counted deduplication")
        return tuple(reasons)


def _counted(known: LearnedLevel, observations: float) -> Interval:
    """Return unique patterns: data repeat more by Zipf's law, or at worst as much as when counted."""
    ends = sorted((known.unique(observations), observations * (1 - known.deduplication)))
    return Interval(ends[0] * (1 - COUNTED_BYTES_VARY), known.unique(observations), ends[1])
