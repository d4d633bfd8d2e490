"""Tests of the CPU probe."""

import contextlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flyball_agent.probes.cpu import CpuProbe, busy_ratio, parse_load, parse_stat
from flyball_agent.probes.probe import Unavailable
from flyball_agent.probes.testing import broken_rules, values_by_name, write_tree

LOADAVG = "1.05 0.70 12.50 3/812 4711\n"


def stat(cores: int, ticks: int = 100, idle: int = 1000) -> str:
    """Return `/proc/stat` of a machine whose cores each have `ticks` of user time."""
    total = f"cpu  {ticks * cores} 0 0 {idle * cores} 0 0 0 0 0 0\n"
    each = "".join(f"cpu{core} {ticks} 0 0 {idle} 0 0 0 0 0 0\n" for core in range(cores))
    interrupts = "intr 900 " + "0 " * 3000
    return f"{total}{each}{interrupts}\nctxt 5001\nbtime 1\nprocesses 77\nprocs_running 3\nprocs_blocked 2\n"


def test_reads_times_by_mode_and_core() -> None:
    """Busy time is everything except idle and iowait. Guest time is a part of user time and not added again."""
    times = parse_stat(
        b"cpu  20 2 4 800 6 8 10 12 14 16\n"
        b"cpu0 10 1 2 400 3 4 5 6 7 8\n"
        b"cpu3 10 1 2 400 3 4 5 6 7 8\n"
        b"intr 5 1\nctxt 9\nbtime 1\nprocesses 8\nprocs_running 7\nprocs_blocked 6\nsoftirq 1\n"
    )
    assert times.modes == (20, 2, 4, 800, 6, 8, 10, 12)
    assert times.core_names == [b"cpu0", b"cpu3"]
    assert times.core_busy == [28, 28]
    assert (times.context_switches, times.forks, times.runnable, times.blocked) == (9, 8, 7, 6)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"cpu\n",
        b"gpu  1 2 3 4 5 6 7 8 9 10\nintr 1\n",
        b"cpu  1 2 3 4 5 6 7 8 9 10\ncpu0 1 2\nintr 1\n",
        b"cpu  1 2 3 4 5 6 7 8 9 10\ncpu0 1 2 x 4 5 6 7 8 9 10\nintr 1\n",
    ],
)
def test_invalid_content_is_rejected(data: bytes) -> None:
    """A file that does not parse is a failure with a reason."""
    with pytest.raises(Unavailable, match="/proc/stat"):
        parse_stat(data)


@given(st.binary(max_size=300))
def test_no_bytes_crash_the_parser(data: bytes) -> None:
    """Any content gives numbers or `Unavailable`."""
    with contextlib.suppress(Unavailable):
        assert len(parse_stat(b"cpu  " + data).modes) == 8


def test_load_that_does_not_parse_is_unknown() -> None:
    """All three averages are known, or none."""
    assert parse_load(LOADAVG.encode()) == [1.05, 0.70, 12.5]
    assert parse_load(b"1.0 what") == [None, None, None]


counts = st.lists(st.integers(0, 10**9), min_size=8, max_size=8)


@given(counts, counts)
def test_the_busy_ratio_is_a_share(before: list[int], growth: list[int]) -> None:
    """Growing counters give a ratio between 0 and 1; without growth it is unknown."""
    now = [a + b for a, b in zip(before, growth, strict=True)]
    ratio = busy_ratio(before, now)
    if sum(growth) == 0:
        assert ratio is None
    else:
        assert ratio == pytest.approx(1 - (growth[3] + growth[4]) / sum(growth))


def test_a_machine_of_64_cores(tmp_path: Path) -> None:
    """Every core has its column, and the ratio is known from the second reading on."""
    probe = CpuProbe(write_tree(tmp_path, {"stat": stat(64), "loadavg": LOADAVG}))
    first = probe.read()
    assert [unavailable_reading.metric for unavailable_reading in first.unavailable] == ["cpu_busy_ratio"]
    write_tree(tmp_path, {"stat": stat(64, ticks=175, idle=1025)})
    second = probe.read()
    values = values_by_name(second)
    assert second.columns is first.columns
    assert values["cpu_busy_ratio",] == pytest.approx(0.75)
    assert values["cpu_core_busy_seconds_total", "63"] == 1.75
    assert values["cpu_seconds_total", "idle"] == 656.0
    assert values["load_average", "15m"] == 12.5
    assert (values["cpu_threads_online",], values["tasks_blocked",]) == (64, 2)
    assert not list(broken_rules(first))
    assert not second.unavailable


def test_a_core_that_goes_offline_loses_its_column(tmp_path: Path) -> None:
    """The columns follow the cores, and no ratio is computed from sums over different cores."""
    probe = CpuProbe(write_tree(tmp_path, {"stat": stat(4), "loadavg": LOADAVG}))
    probe.read()
    write_tree(tmp_path, {"stat": stat(3, ticks=200)})
    sample = probe.read()
    assert ("cpu_core_busy_seconds_total", "3") not in values_by_name(sample)
    assert values_by_name(sample)["cpu_busy_ratio",] is None
    assert not list(broken_rules(sample))
    write_tree(tmp_path, {"stat": stat(3, ticks=210)})
    assert values_by_name(probe.read())["cpu_busy_ratio",] == 1.0


@pytest.mark.parametrize("ticks", [-7, 2**64 - 7])
def test_times_below_zero_are_refused(ticks: int) -> None:
    """A time that ran below zero, which the kernel may print as almost 2**64, is a reason and not a value."""
    line = f"9 0 9 {ticks} 0 0 0 0 0 0\n"
    with pytest.raises(Unavailable, match="negative or too large"):
        parse_stat(f"cpu  {line}cpu0 {line}intr 1\n".encode())


@pytest.mark.parametrize("text", [b"nan 1 1 1/2 3", b"-1 1 1 1/2 3", b"1 1e400 1 1/2 3"])
def test_impossible_loads_are_unknown(text: bytes) -> None:
    """A load that is not a number, negative or infinite is unknown."""
    assert parse_load(text) == [None, None, None]
