"""Processors, whose rates are computed."""

import pytest

from flyball_planner.catalogue import find_device
from flyball_planner.precision import Format


def test_a_rate_is_cores_times_clock_times_width() -> None:
    """Two multiply-adds of eight numbers are 32 FLOPs a cycle and core; two channels of DDR4-3200 move 51.2 GB/s."""
    baseline = find_device("CPU_8C_3.5Ghz_baseline")
    assert baseline.rate(Format.FP32) == pytest.approx(8 * 3.5e9 * 32)
    assert baseline.memory_bytes_per_second == pytest.approx(51.2e9)
    assert baseline.cores == 8


def test_known_processors_match_published_figures() -> None:
    """Intel prints 307.2 GB/s for the 8480+, with eight channels, and AMD 460.8 GB/s for the 9654, with twelve."""
    assert find_device("8480+").memory_bytes_per_second == pytest.approx(307.2e9)
    assert find_device("EPYC 9654").memory_bytes_per_second == pytest.approx(460.8e9)
    assert find_device("8480+").native(Format.BF16)
    assert not find_device("EPYC 7763").native(Format.BF16)


def test_an_assumed_memory_is_told() -> None:
    """A bare processor has no memory of its own; what is taken stands in its note."""
    assert "memory assumed" in find_device("EPYC 7763").note
    assert "memory assumed" not in find_device("CPU_8C_3.5Ghz_baseline").note
