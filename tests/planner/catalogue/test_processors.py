"""Tests of processors, whose rates are computed."""

import pytest

from flyball_planner.catalogue.devices import find_device
from flyball_planner.precision import NumberFormat


def test_a_rate_is_cores_times_clock_times_width() -> None:
    """Two multiply-adds of eight numbers are 32 FLOPs per cycle and core; two channels of DDR4-3200 are 51.2 GB/s."""
    baseline = find_device("CPU_8C_3.5Ghz_baseline")
    assert baseline.rate(NumberFormat.FP32) == pytest.approx(8 * 3.5e9 * 32)
    assert baseline.memory_bytes_per_second == pytest.approx(51.2e9)
    assert baseline.cores == 8


def test_known_processors_match_published_figures() -> None:
    """Intel specifies 307.2 GB/s for the 8480+ (eight channels), AMD 460.8 GB/s for the 9654 (twelve channels)."""
    assert find_device("8480+").memory_bytes_per_second == pytest.approx(307.2e9)
    assert find_device("EPYC 9654").memory_bytes_per_second == pytest.approx(460.8e9)
    assert find_device("8480+").native(NumberFormat.BF16)
    assert not find_device("EPYC 7763").native(NumberFormat.BF16)


def test_an_assumed_memory_is_noted() -> None:
    """The memory size of a processor without a profile is assumed, and its note states this."""
    assert "assumed memory" in find_device("EPYC 7763").note
    assert "assumed memory" not in find_device("CPU_8C_3.5Ghz_baseline").note
