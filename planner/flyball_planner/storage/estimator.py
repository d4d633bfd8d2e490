"""Storage of a hierarchical learner: tokens become patterns at node0, those become patterns at node1, and so on."""

from collections.abc import Mapping, Sequence
from math import ceil
from typing import Self

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from flyball_planner.interval import Interval
from flyball_planner.storage.documents import METADATA_BYTES, NAME_BYTES, TOKEN_BYTES, pattern_bytes
from flyball_planner.storage.learnt import Learnt, LevelCount, learn
from flyball_planner.storage.zipf import Zipf, with_distinct
from flyball_reports.errors import InputError
from flyball_reports.figures import percent

DEDUPLICATION_AT_NODE0 = 0.6
DEDUPLICATION_FALLS_BY = 0.7
"""60 % of what node0 sees is known already, and each level above has 0.7 times that: 42, 29.4, 20.6 %. Token chunks
repeat; chunks of chunks do so less. Taken at α = 1 from earlier trainings of such learners."""

MONGODB_OVERHEAD = 0.2
"""Indexes, internal structures and padding, as measured on earlier trainings."""

UNSURE_OF_DEDUPLICATION = 0.1
"""Either way, where nothing was counted: a guess, named as one."""

COMPRESSED_TO = 0.5
"""WiredTiger's snappy stores documents at 0.27 to 0.4 of their size where much repeats; names are hashes and do not
(mongodb.com/blog/post/new-compression-options-mongodb-30; 3.3 to 3.7 times measured for counters)."""

COUNTED_BYTES_VARY = 0.1
"""Of a pattern, from one count to the next larger one."""

MOST_NODES, LARGEST_CHUNK = 32, 1_000_000
FEWEST_TOKENS, MOST_TOKENS = 1e-3, 1e12
"""Beyond which nobody learns, and figures leave what a float holds."""


class LevelEstimate(Struct, frozen=True):
    """One level. Sizes are as on disk, MongoDB's overhead included; 1 MB is 10⁶ bytes."""

    level: int
    observations: float
    unique_patterns: Interval
    deduplication: float
    bytes_a_pattern: float
    storage: Interval  # bytes
    law: Zipf

    @property
    def name(self) -> str:
        """As the learner's database calls it."""
        return f"node{self.level}"

    @property
    def storage_mb(self) -> float:
        """The most likely size."""
        return self.storage.middle / 1e6

    def distribution(self, points: int = 200) -> tuple[np.ndarray, np.ndarray]:
        """Ranks and frequencies for a plot with logarithmic axes."""
        last = max(2.0, self.unique_patterns.middle)
        ranks = np.unique(np.round(np.geomspace(1.0, last, points)))
        return ranks, self.law.frequency(ranks, self.observations)


class StorageEstimate(Struct, frozen=True):
    """All levels together."""

    samples: int
    level_estimates: tuple[LevelEstimate, ...]
    reasons: tuple[str, ...]

    @property
    def storage(self) -> Interval:
        """Bytes of all levels; their errors have one cause, so they add up."""
        total = Interval.exactly(0.0)
        for each in self.level_estimates:
            total += each.storage
        return total

    @property
    def total_storage_gb(self) -> float:
        """The most likely size; 1 GB is 10⁹ bytes."""
        return self.storage.middle / 1e9


class StorageEstimator(Struct, frozen=True):
    """Estimates storage from a few figures, and better ones once a training was counted."""

    num_nodes: int = 4
    chunk_size: int = 15
    zipf_alpha: float = 1.0
    token_bytes: float = TOKEN_BYTES
    metadata_bytes: float = METADATA_BYTES
    learnt: Mapping[int, Learnt] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not 1 <= self.num_nodes <= MOST_NODES or not 2 <= self.chunk_size <= LARGEST_CHUNK:
            raise InputError(
                f"{self.num_nodes} nodes with chunks of {self.chunk_size}: expected 1 to {MOST_NODES} nodes and chunks "
                f"of 2 to {LARGEST_CHUNK:,}"
            )
        if not 0 < self.zipf_alpha <= 5:
            raise InputError(
                f"zipf_alpha is {self.zipf_alpha}; natural data lie near 1, anything above 0 up to 5 is taken"
            )

    def calibrated(self, counts: Sequence[LevelCount]) -> Self:
        """The same estimator with what was counted in place of assumptions."""
        return replace(self, learnt={**self.learnt, **learn(counts, self.zipf_alpha)})

    def estimate_storage(self, num_samples: int, avg_tokens_per_sample: float) -> StorageEstimate:
        """How much so many samples of so many tokens leave behind.

        >>> estimator = StorageEstimator(num_nodes=4, chunk_size=15, zipf_alpha=1.0)
        >>> estimate = estimator.estimate_storage(num_samples=100_000, avg_tokens_per_sample=500)
        >>> round(estimate.total_storage_gb, 2)
        1.4
        >>> [round(level.storage_mb, 1) for level in estimate.level_estimates]
        [1196.8, 185.3, 15.0, 1.1]
        >>> [round(level.deduplication, 3) for level in estimate.level_estimates]
        [0.6, 0.42, 0.294, 0.206]

        Counts of a finished training take the place of what was assumed:

        >>> from flyball_planner.storage.learnt import LevelCount
        >>> counted = estimator.calibrated([LevelCount(0, observations=3e6, unique=9e5, storage_bytes=7.2e8)])
        >>> round(counted.estimate_storage(100_000, 500).level_estimates[0].storage_mb)
        784
        """
        if num_samples < 1 or not FEWEST_TOKENS <= avg_tokens_per_sample <= MOST_TOKENS:
            raise InputError(
                f"{num_samples} samples of {avg_tokens_per_sample} tokens: expected 1 or more samples, and "
                f"{FEWEST_TOKENS:g} to {MOST_TOKENS:g} tokens in each"
            )
        levels: list[LevelEstimate] = []
        seen, most = avg_tokens_per_sample, float(ceil(avg_tokens_per_sample))
        for level in range(self.num_nodes):
            seen, most = seen / self.chunk_size, float(ceil(most / self.chunk_size))
            levels.append(self._level(level, seen * num_samples, most * num_samples))
        return StorageEstimate(num_samples, tuple(levels), self._reasons())

    def _level(self, level: int, observations: float, with_partial_chunks: float) -> LevelEstimate:
        known = self.learnt.get(level)
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
        """Unique patterns, where this rate holds for α = 1 and data repeat more the larger α is."""
        unique = observations * (1 - deduplication)
        if self.zipf_alpha == 1.0 or not 0 < unique < observations:
            return unique
        vocabulary = with_distinct(1.0, observations, unique).vocabulary
        return min(observations, Zipf(self.zipf_alpha, vocabulary).distinct(observations))

    def _bytes(self, level: int) -> Interval:
        known = self.learnt.get(level)
        if known and known.bytes_a_pattern:
            return Interval.around(known.bytes_a_pattern, COUNTED_BYTES_VARY, COUNTED_BYTES_VARY)
        symbol = self.token_bytes if level == 0 else NAME_BYTES
        size = pattern_bytes(self.chunk_size, symbol, self.metadata_bytes) * (1 + MONGODB_OVERHEAD)
        return Interval(size * COMPRESSED_TO, size, size)

    def _reasons(self) -> tuple[str, ...]:
        assumed = [f"node{level}" for level in range(self.num_nodes) if level not in self.learnt]
        counted = [f"node{level}" for level in range(self.num_nodes) if level in self.learnt]
        said = []
        if assumed:
            said.append(
                f"{', '.join(assumed)}: deduplication of {percent(DEDUPLICATION_AT_NODE0)} at node0, times "
                f"{DEDUPLICATION_FALLS_BY} a level, ± {percent(UNSURE_OF_DEDUPLICATION)}; "
                f"{percent(MONGODB_OVERHEAD)} for MongoDB"
            )
            said.append("low: MongoDB compresses documents to half; high: each sample ends in a partial chunk")
        if counted:
            said.append(
                f"{', '.join(counted)}: counted; from Zipf's law to the counted deduplication, which falls no more"
            )
        return tuple(said)


def _counted(known: Learnt, observations: float) -> Interval:
    """By Zipf's law, data repeat ever more; at worst they repeat only as much as they did when counted."""
    ends = sorted((known.unique(observations), observations * (1 - known.deduplication)))
    return Interval(ends[0] * (1 - COUNTED_BYTES_VARY), known.unique(observations), ends[1])
