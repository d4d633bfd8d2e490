"""The base formula, which the client and the collector share."""

import subprocess
import sys

import numpy as np

from flyball_collector.diagnosis.scores.settings import ScoreSettings
from flyball_planner.base_formula import (
    CPU_BUSY,
    DISK_BYTES_PER_SECOND,
    LATENCY_SECONDS,
    MEMORY_USED,
    base_bottleneck,
    base_score,
)


def test_a_score_is_the_share_of_its_limit_and_at_most_one() -> None:
    """The limits are 80 % CPU, 75 % memory, writes of 50 MB/s and round trips of 100 ms."""
    assert base_score(0.4, CPU_BUSY, min) == 0.5
    assert base_score(0.9, MEMORY_USED, min) == 1.0
    assert base_score(10e6, DISK_BYTES_PER_SECOND, min) == 0.2
    assert base_score(0.025, LATENCY_SECONDS, min) == 0.25


def test_numbers_and_arrays_have_the_same_scores() -> None:
    """Unknown values of an array remain unknown."""
    values = [0.0, 0.3, 0.8, 2.0]
    found = base_score(np.array([*values, np.nan]), CPU_BUSY, np.minimum)
    np.testing.assert_array_equal(found, [*(base_score(value, CPU_BUSY, min) for value in values), np.nan])


def test_the_settings_of_the_collector_begin_with_these_limits() -> None:
    """So that a profile and a diagnosis of the same machine agree."""
    settings = ScoreSettings()
    assert settings.base_cpu_busy == CPU_BUSY
    assert settings.base_memory_used == MEMORY_USED
    assert settings.base_disk_bytes_per_second == DISK_BYTES_PER_SECOND
    assert settings.base_latency_seconds == LATENCY_SECONDS


def test_the_largest_known_score_is_the_bottleneck_and_its_value_the_confidence() -> None:
    """Without a known score there is none."""
    assert base_bottleneck({"cpu": 0.4, "memory": 0.7, "disk": None, "network": 0.1}) == ("memory", 0.7)
    assert base_bottleneck({"cpu": None}) == ("", 0.0)


def test_the_formula_needs_the_standard_library_only() -> None:
    """The client imports it in a training, which may have none of our packages."""
    program = "import flyball_planner.base_formula, sys; print({'numpy', 'msgspec'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
