"""Tests that measure tasks of growing size."""

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from flyball_planner.scaling.fitting import fit
from flyball_planner.scaling.measurement import measure_sizes
from flyball_reports.errors import InputError


def _one_thread() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(1)


def test_every_repeat_of_every_size_is_a_point() -> None:
    """Sizes are measured in ascending order, each with all repeats."""
    called: list[int] = []

    def work(samples: int) -> None:
        called.append(samples)

    points = measure_sizes(work, (30, 10, 20), repeats=2, open_executor=_one_thread)
    assert called == [10, 10, 20, 20, 30, 30]
    assert [point.size for point in points] == called
    assert all(point.seconds > 0 for point in points)


def test_a_real_task_is_measured_and_its_law_found() -> None:
    """Linear work is not mistaken for constant or cubic, even on a busy machine."""

    def work(samples: int) -> int:
        time.sleep(samples * 2e-6)
        return samples

    found = fit(measure_sizes(work, (1_000, 10_000, 50_000, 100_000), repeats=2, open_executor=_one_thread))
    assert found.probabilities["O(1)"] + found.probabilities["O(n³)"] < 0.1


def test_a_size_beyond_the_budget_is_not_started() -> None:
    """The time of one size decides whether the next fits into the budget."""
    called: list[int] = []

    def work(samples: int) -> None:
        called.append(samples)
        time.sleep(0.01)

    measure_sizes(work, (10, 1_000_000), repeats=1, budget_seconds=60, open_executor=_one_thread)
    assert called == [10]


def test_a_failure_ends_the_measurement() -> None:
    """Smaller sizes that worked are kept; a failure of the smallest size is an error."""

    def work(samples: int) -> None:
        if samples > 20:
            raise MemoryError

    assert [point.size for point in measure_sizes(work, (10, 20, 30), repeats=1, open_executor=_one_thread)] == [10, 20]
    with pytest.raises(InputError, match="smallest size"):
        measure_sizes(work, (30, 40), repeats=1, open_executor=_one_thread)


def test_measured_sizes_are_not_measured_again(tmp_path: Path) -> None:
    """Repeats in the journal are not measured again."""
    called: list[int] = []
    journal = tmp_path / "sizes.jsonl"

    def work(samples: int) -> None:
        called.append(samples)

    first = measure_sizes(work, (10, 20), repeats=2, journal=journal, open_executor=_one_thread)
    second = measure_sizes(work, (10, 20), repeats=2, journal=journal, open_executor=_one_thread)
    assert first == second
    assert called == [10, 10, 20, 20]
