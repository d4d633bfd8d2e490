"""The CPUs: matrix products by numpy, and the counting of patterns in pure Python."""

import statistics
import time
from collections.abc import Sequence

from flyball.host.benchmarks.benchmark_names import BenchmarkFailed
from flyball.host.benchmarks.pattern_counting import count_patterns
from flyball.host.hardware_parts import ProcessorSpeed

SIZE = 1024
SECONDS = 0.3  # for each part
QUOTA_SECONDS = 0.6
"""Six periods of the usual quota (cpu.max: 100 ms)."""

CHUNK = 15
NODES = 4
TOKENS = 500
SAMPLES = 20
VOCABULARY = 5_000


def measure_processor(threads: int, *, quota: bool = False) -> ProcessorSpeed:
    """Return what the CPUs compute. Raise BenchmarkFailed without numpy.

    `quota` is true if this process may use less time than the CPUs that it sees.
    """
    rate = matmul_rate(quota=quota)
    return ProcessorSpeed(matmul_gflops=rate / 1e9, threads=threads, python_patterns_per_second=pattern_rate())


def matmul_rate(*, quota: bool = False) -> float:
    """Return the FLOP/s of matrix products in fp32, on as many threads as numpy's library uses."""
    try:
        import numpy as np
    except ImportError:
        raise BenchmarkFailed("numpy is not installed: pip install 'flyball-fleet[planner]'") from None
    left, right = (np.full((SIZE, SIZE), value, np.float32) for value in (0.5, 0.25))
    out = np.empty_like(left)
    np.matmul(left, right, out=out)  # starts the threads of the library
    spent: list[float] = []
    ends = time.perf_counter() + (QUOTA_SECONDS if quota else SECONDS)
    while time.perf_counter() < ends:
        started = time.perf_counter()
        np.matmul(left, right, out=out)
        spent.append(time.perf_counter() - started)
    return 2 * SIZE**3 / seconds_of_product(spent, quota=quota)


def seconds_of_product(spent: Sequence[float], *, quota: bool) -> float:
    """Return the time of a product: the shortest, because other programs may use the CPUs now.

    With a quota it is the mean: some products run on all CPUs of the machine until the quota is used up, and the next
    ones wait.
    """
    return statistics.fmean(spent) if quota else min(spent)


def pattern_rate() -> float:
    """Return the patterns per second of CPU time that one process counts: the median of many passes.

    CPU time, because other programs may use the same CPU now.
    """
    samples = [
        [f"token{(place * 97 + sample * 31) % VOCABULARY}" for place in range(TOKENS)] for sample in range(SAMPLES)
    ]
    counts: list[dict[str, int]] = [{} for _ in range(NODES)]
    spent: list[float] = []
    ends = time.perf_counter() + SECONDS
    while time.perf_counter() < ends:
        started = time.thread_time()
        patterns = sum(learn(tokens, CHUNK, counts) for tokens in samples)
        spent.append((time.thread_time() - started) / patterns)
    return 1 / statistics.median(spent)


def learn(tokens: Sequence[str], chunk_size: int, counts: Sequence[dict[str, int]]) -> int:
    """Count the patterns of one sample on all levels. Return their number."""
    patterns = 0
    for level in counts:
        tokens = count_patterns(tokens, chunk_size, level)
        patterns += len(tokens)
    return patterns
