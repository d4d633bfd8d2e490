"""Parsing of `/proc/PID/stat` and `/proc/PID/io`."""

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flyball.profiling.process_reading import (
    CLOCK_TICKS,
    PAGE_BYTES,
    ConsumedResources,
    parse_process_io,
    parse_process_stat,
    read_process,
    read_stat,
)

IO = b"rchar: 1\nwchar: 2\nsyscr: 3\nsyscw: 4\nread_bytes: 4096\nwrite_bytes: 8192\ncancelled_write_bytes: 0\n"


def stat_line(
    name: bytes, *, parent: int = 7, times: tuple[int, int, int, int] = (0, 0, 0, 0), started: int = 99
) -> bytes:
    """Return a line of `/proc/PID/stat` with 3 threads and 5 resident pages."""
    own_and_waited = b" ".join(str(ticks).encode() for ticks in times)
    return (
        b"42 (" + name + b") S " + str(parent).encode() + b" 1 1 0 -1 4194304 10 0 0 0 " + own_and_waited
        + b" 20 0 3 0 " + str(started).encode() + b" 1000000 5 18446744073709551615 1 1 0 0 0 0\n"
    )  # fmt: skip


@given(st.binary(max_size=15))
def test_the_name_of_a_program_may_contain_anything(name: bytes) -> None:
    """Brackets, spaces and line ends in it do not shift the fields."""
    found = parse_process_stat(stat_line(name, parent=12, times=(10, 20, 30, 40), started=777))
    assert (found.parent, found.started, found.threads) == (12, 777, 3)
    assert found.resident_bytes == 5 * PAGE_BYTES
    assert found.own_cpu_seconds == 30 / CLOCK_TICKS
    assert found.waited_cpu_seconds == 70 / CLOCK_TICKS


def test_io_is_read_by_name() -> None:
    """Bytes that reached the storage, and calls; bytes through caches and pipes are not among them."""
    assert parse_process_io(IO) == (4096, 8192, 3, 4)
    with pytest.raises(ValueError, match="format"):
        parse_process_io(IO.replace(b"syscr", b"other"))


def test_this_process_is_read_as_the_kernel_knows_it() -> None:
    """The parent and the CPU time are those of Python's own functions."""
    stat = read_stat("/proc", os.getpid())
    assert stat is not None
    reading = read_process("/proc", os.getpid(), stat)
    assert reading is not None
    assert reading.parent == os.getppid()
    assert reading.io_known
    times = os.times()
    assert reading.consumed.cpu_seconds <= sum(times[:4]) + 0.05
    assert reading.resident_bytes is not None
    assert reading.resident_bytes > 1e6


def test_a_process_that_does_not_exist_is_none() -> None:
    """A process may end at any moment."""
    assert read_stat("/proc", 2**22 + 1) is None


def test_amounts_never_become_negative() -> None:
    """A difference is at least 0."""
    assert ConsumedResources(1, 2).minus(ConsumedResources(2, 1)) == (0, 1, 0, 0, 0)
