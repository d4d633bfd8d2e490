"""Tests of the bytes over PCIe: a counter of 32 bits becomes one that does not wrap."""

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flyball_agent.accelerators.nvidia_pcie import WrappingCounter
from flyball_agent.standin.chips import set_chip
from flyball_agent.standin.scenario import Scenario
from flyball_proto.unavailable_reading import Reason
from tests.agent.accelerators.nvidia_bench import Bench, unavailable_reading, value, values

WRAP = 1 << 32
SECOND = 1_000_000
RECEIVED = "gpu_pcie_receive_bytes_total"


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


@given(st.lists(st.integers(0, 64 * 10**9), min_size=1, max_size=20), st.integers(0, WRAP - 1), st.floats(0.98, 1.02))
def test_wraps_are_counted_with_the_rate_of_the_activity_counters(
    moved: list[int], start: int, inaccuracy: float
) -> None:
    """Up to 64 GB a second (PCIe 5.0) the counter is exact, although the rate is not."""
    counter, true, now = WrappingCounter(), start, 0
    assert counter.add(start, now, None) == start
    for size in moved:
        true, now = true + size, now + SECOND
        assert counter.add(true % WRAP, now, size * inaccuracy) == true


@given(st.lists(st.integers(0, WRAP - 1), min_size=1, max_size=20))
def test_one_wrap_needs_no_rate(moved: list[int]) -> None:
    """Without a rate the counter never falls, and is exact for less than 4.3 GB between readings."""
    counter, true, now = WrappingCounter(), 0, 0
    counter.add(0, now, None)
    for size in moved:
        true, now = true + size, now + SECOND
        assert counter.add(true % WRAP, now, None) == true


def test_a_wrapping_field_is_a_growing_counter(bench: Bench) -> None:
    """The driver's field wraps every 80 ms at 50 GB/s; the metric grows by what was moved."""
    rate = 50 * 10**9
    seen = []
    for second in range(1, 5):
        moving = {"pcie_receive": rate * second, "pcie_transmit": 10, "gpm_pcie_receive": rate / 2**20}
        bench.play(set_chip(Scenario(gpus=1), "H100").set(moving).at(second))
        seen.append(int(value(bench.read(), RECEIVED) or 0))
    assert [after - before for before, after in pairwise(seen[1:])] == [rate, rate]
    assert seen[0] == rate % WRAP


def test_a_wider_field_is_taken_as_it_is(bench: Bench) -> None:
    """A driver with a field of 64 bits needs no extension."""
    for total in (10**13, 3 * 10**13):
        bench.play(set_chip(Scenario(gpus=1), "H100").field(198, total))
        assert value(bench.read(), RECEIVED) == total


def test_a_device_without_the_fields_is_not_asked_again(bench: Bench) -> None:
    """Missing byte counters have a reason and cost no call."""
    bench.play(set_chip(Scenario(gpus=1), "T4").field(197, None).field(198, None))
    bench.read()
    missing = unavailable_reading(bench.read(), RECEIVED)
    assert missing is not None
    assert missing.reason is Reason.UNSUPPORTED


def test_link_errors_have_kinds(bench: Bench) -> None:
    """Errors and retries of the PCIe link are counted by kind."""
    bench.play(set_chip(Scenario(gpus=1), "H100").field(176, 26, kind="uint").field(180, 1, kind="uint"))
    counted = values(bench.read(), "gpu_pcie_errors_total")
    assert (counted["bad_tlp"], counted["fatal"], counted["correctable"]) == (26, 1, 0)
