"""The benchmarks of the CPUs and of the memory."""

import pytest

from flyball.host.benchmarks.benchmark_names import BenchmarkFailed
from flyball.host.benchmarks.memory_benchmark import MEBIBYTE, MOST_BYTES, array_bytes, measure_memory
from flyball.host.benchmarks.pattern_counting import count_patterns
from flyball.host.benchmarks.processor_benchmark import measure_processor, seconds_of_product


def test_bandwidths_are_plausible_and_the_arrays_exceed_the_cache() -> None:
    """Memory and caches of any machine move between 0.2 and 5,000 GB/s, a busy one's too."""
    found = measure_memory(1, 2 * 2**30, 2 * MEBIBYTE)
    assert 0.2 < found.copy_gb_per_second < 5000
    assert 0.2 < found.triad_gb_per_second < 5000
    assert found.bytes >= 3 * 4 * 2 * MEBIBYTE


@pytest.mark.parametrize(
    ("available", "cache", "expected"),
    [
        (None, None, 128 * MEBIBYTE),
        (2**40, 64 * MEBIBYTE, 256 * MEBIBYTE),
        (2**40, 2**30, MOST_BYTES // 3),
        (2**30, None, 2**30 // 20 // 3),
    ],
)
def test_the_available_memory_limits_the_arrays(available: int | None, cache: int | None, expected: int) -> None:
    """Four times the cache, at most a gibibyte and a twentieth of what is available."""
    assert array_bytes(available, cache) == expected


def test_a_machine_short_of_memory_is_not_measured() -> None:
    """The reason is that others would be disturbed."""
    with pytest.raises(BenchmarkFailed, match="without disturbing other programs"):
        measure_memory(1, 100 * MEBIBYTE, None)


def test_the_processor_has_a_rate_of_matrix_products_and_of_patterns() -> None:
    """Both are positive, and plausible for any machine."""
    found = measure_processor(2)
    assert 0.1 < found.matmul_gflops < 1e6
    assert 1e3 < found.python_patterns_per_second < 1e8
    assert found.threads == 2


def test_patterns_are_counted_under_their_names() -> None:
    """Equal chunks have equal names; the last chunk may be shorter."""
    counts: dict[str, int] = {}
    names = count_patterns(["a", "b"] * 5 + ["c"], 2, counts)
    assert (len(names), len(set(names))) == (6, 2)
    assert sorted(counts.values()) == [1, 5]


def test_with_a_quota_products_on_all_cpus_do_not_count_alone() -> None:
    """In a container with 2 CPUs of 64, four products take 1 ms each, and the next one waits for 96 ms."""
    spent = [0.001, 0.001, 0.001, 0.001, 0.096] * 6
    assert seconds_of_product(spent, quota=True) == pytest.approx(0.02)
    assert seconds_of_product(spent, quota=False) == 0.001
