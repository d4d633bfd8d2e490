"""The work of a hierarchical learner: patterns to count, look up and store, by the planner's model of its storage."""

from dataclasses import dataclass
from math import ceil
from numbers import Real
from typing import TypeGuard

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

LARGEST = 1e18
"""No data set has more samples. Much larger numbers would not be floats at all."""

LONGEST_SHOWN = 40  # characters of a wrong value in a message
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
    service_calls: float = 0.0
    """Calls of a service, one after the other for each worker."""
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
    calls_per_sample: float = 0.0,
) -> HostWork:
    """Return the work of a learner over so many samples. Raise InputError for values that cannot be."""
    if pattern_store not in PATTERN_STORES:
        raise InputError(f"pattern_store: expected {' or '.join(PATTERN_STORES)}, not {pattern_store!r}")
    dataset_size, chunk_size = whole("dataset_size", dataset_size), whole("chunk_size", chunk_size)
    num_nodes, workers = whole("num_nodes", num_nodes), whole("workers", workers)
    tokens_per_sample = number("tokens_per_sample", tokens_per_sample)
    calls = dataset_size * number("calls_per_sample", calls_per_sample)
    if workers < 1:
        raise InputError(f"workers must be at least 1, not {workers}")
    if calls < 0:
        raise InputError(f"calls_per_sample must be at least 0, not {shown(calls_per_sample)}")
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
            service_calls=calls,
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
        service_calls=calls,
        written_bytes=2 * stored,  # once in the journal and once in the data files
    )


def number(name: str, value: object) -> float:
    """Return a number, also one of numpy. Raise InputError for anything else."""
    if not _is_real(value):
        raise InputError(f"{name}: expected a number, not {shown(value)}")
    if not -LARGEST <= value <= LARGEST:
        raise InputError(f"{name}: expected at most {LARGEST:g}, not {shown(value)}")
    return float(value)


def whole(name: str, value: object) -> int:
    """Return a whole number. A data set may be given as 1e6."""
    found = number(name, value) if _is_real(value) else None
    if found is None or not found.is_integer():
        raise InputError(f"{name}: expected a whole number, not {shown(value)}")
    return int(found)


def _is_real(value: object) -> TypeGuard[float]:
    """Return True for a number that is neither a truth value nor "not a number"."""
    return not isinstance(value, bool) and isinstance(value, Real) and bool(value == value)  # noqa: PLR0124


def shown(value: object) -> str:
    """Return a value as Python shows it, but never a long one in full."""
    try:
        text = repr(value)
    except ValueError:  # Python refuses to write integers of thousands of digits
        return "one with thousands of digits"
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}…"


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
