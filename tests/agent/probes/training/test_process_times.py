"""Tests of the parsers of `/proc/PID/stat` and `schedstat`."""

import os

from hypothesis import given
from hypothesis import strategies as st

from flyball_agent.probes.training.process_times import ProcessCounters, parse_schedstat, parse_stat

TICKS = os.sysconf("SC_CLK_TCK")


def test_the_name_of_a_process_may_contain_anything() -> None:
    """Fields are counted from the last parenthesis, because a name may contain spaces and parentheses."""
    line = b"7 (a) R 1) S 5 7 7 0 -1 4194560 100 0 12 0 300 50 0 0 20 0 9 0 88000 1000 20 18446744073709551615"
    assert parse_stat(line) == ProcessCounters("S", 5, 12, 350 / TICKS, 88000)


def test_nanoseconds_become_seconds() -> None:
    """The kernel counts the time on a CPU and the time in a queue in nanoseconds."""
    assert parse_schedstat(b"1500000000 250000000 42\n") == (1.5, 0.25)


@given(st.binary(max_size=200))
def test_no_bytes_crash_the_parsers(data: bytes) -> None:
    """Any other content is unknown, and never an error."""
    for found in (parse_stat(b"7 (x) " + data), parse_schedstat(data)):
        assert found is None or found
