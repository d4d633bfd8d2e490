"""The work of a hierarchical learner: patterns to count, look up and store, by the planner's model of its storage."""

from dataclasses import dataclass
from math import ceil, isfinite

from flyball_planner.recommend.database import CACHE_USED, hot_share
from flyball_planner.storage.estimator import StorageEstimate, StorageEstimator
from flyball_reports.errors import InputError

PATTERN_STORES = ("mongodb", "memory")
TOKEN_BYTES = 4.0
"""Bytes of a token in a tokenised data set, as in the planner's demand."""

PATTERN_OVERHEAD = 150.0
"""Bytes of a pattern in the memory of a Python process: its name of 40 characters, its counter, and their places in
the dictionary (sys.getsizeof in CPython 3.11: 89 + 28 + 104 for three slots, two thirds of which are used)."""

TOKEN_SHARE = 0.03
"""What each token adds to the CPU time of a pattern, as a share of what a pattern without tokens costs: the time of
chunks of 3 to 40 tokens relative to 15, fitted on random tokens of seeds 1 and 2 (right within 12 %)."""

USUAL_CHUNK = 15
"""The tokens of a pattern whose rate the benchmark measures."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostWork:
    """The work that a training needs from one machine. Everything is 0 unless it is needed."""

    cpu_patterns: float = 0.0
    """Chunks of tokens that Python hashes and counts."""
    pattern_cost: float = 1.0
    """The CPU time of one of them, relative to a chunk of 15 tokens."""
    workers: int = 1
    """Processes that share the work of the CPU and the calls of the database."""
    database_lookups: float = 0.0
    database_writes: float = 0.0
    database_bytes: float = 0.0
    """Data of the database at the end, on its disk."""
    cache_bytes: float = 0.0
    """The cache that would answer 90 % of all accesses."""
    read_bytes: float = 0.0
    """Bytes read from the disk in sequence."""
    written_bytes: float = 0.0
    """Bytes written to the disk in sequence."""
    resident_bytes: float = 0.0
    """Memory that the training holds at the end."""
    device_flops: float = 0.0
    """Operations of matrix products on the GPUs."""
    precision: str = "bf16"


def learner_work(
    dataset_size: int,
    chunk_size: int = 15,
    num_nodes: int = 4,
    *,
    tokens_per_sample: float = 500.0,
    workers: int = 1,
    pattern_store: str = "mongodb",
) -> HostWork:
    """Return the work of a learner over so many samples. Raise InputError for values that cannot be."""
    if pattern_store not in PATTERN_STORES:
        raise InputError(f"pattern_store: expected {' or '.join(PATTERN_STORES)}, not {pattern_store!r}")
    whole = {"dataset_size": dataset_size, "chunk_size": chunk_size, "num_nodes": num_nodes, "workers": workers}
    for name, value in whole.items():
        _check_number(name, value, "a whole number")
    _check_number("tokens_per_sample", tokens_per_sample, "a number")
    if workers < 1:
        raise InputError(f"workers must be at least 1, not {workers}")
    estimator = StorageEstimator(num_nodes=num_nodes, chunk_size=chunk_size)
    estimate = estimator.estimate_storage(dataset_size, tokens_per_sample)
    observed = dataset_size * patterns_of_sample(tokens_per_sample, chunk_size, num_nodes)
    data = dataset_size * tokens_per_sample * TOKEN_BYTES
    if pattern_store == "memory":
        unique = sum(level.unique_patterns.middle for level in estimate.level_estimates)
        return HostWork(
            cpu_patterns=observed,
            pattern_cost=pattern_cost(chunk_size),
            workers=workers,
            read_bytes=data,
            resident_bytes=unique * PATTERN_OVERHEAD,
        )
    stored = estimate.storage.middle
    return HostWork(
        cpu_patterns=observed,
        pattern_cost=pattern_cost(chunk_size),
        workers=workers,
        database_lookups=observed,
        database_writes=observed,
        database_bytes=stored,
        cache_bytes=stored * _hot(estimate) / CACHE_USED,
        read_bytes=data,
        written_bytes=2 * stored,  # once in the journal and once in the data files
    )


def _check_number(name: str, value: object, wanted: str) -> None:
    """Raise InputError for a value that is not a number, or not a whole one. A data set may be given as 1e6."""
    usable = isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)
    if not usable or ("whole" in wanted and value != int(value)):  # type: ignore[call-overload]
        raise InputError(f"{name}: expected {wanted}, not {value!r}")


def patterns_of_sample(tokens: float, chunk_size: int, num_nodes: int) -> float:
    """Return the patterns of one sample on all levels; the last chunk of each level may be a part of one."""
    total = 0.0
    for _ in range(num_nodes):
        tokens = float(ceil(tokens / chunk_size))
        total += tokens
    return total


def pattern_cost(chunk_size: int) -> float:
    """Return the CPU time of a pattern relative to one of 15 tokens."""
    return (1 + TOKEN_SHARE * chunk_size) / (1 + TOKEN_SHARE * USUAL_CHUNK)


def _hot(estimate: StorageEstimate) -> float:
    """Return the share of the stored data that serves most accesses."""
    stored = estimate.storage.middle
    return sum(hot_share(level) * level.storage.middle for level in estimate.level_estimates) / stored
