"""The use of the whole machine."""

from pathlib import Path

import psutil
import pytest

from flyball.profiling.machine_reading import (
    CoreTime,
    MachineReading,
    busy_ratio,
    core_percents,
    largest_write_rate,
    machine_percent,
    parse_cores,
    parse_disks,
    parse_memory,
    read_machine,
)

STAT = (
    b"cpu  100 20 30 800 40 5 5 0 70 0\ncpu0 50 10 15 400 20 2 3 0 70 0\ncpu1 50 10 15 400 20 3 2 0 0 0\nintr 1 2 3\n"
)
DISKSTATS = (
    b"   8       0 sda 10 0 80 5 20 0 4000 9 0 10 14\n   8       1 sda1 10 0 80 5 20 0 4000 9 0 10 14\n"
    b"   7       0 loop0 1 0 8 0 2 0 16 0 0 0 0\n"
)  # fmt: skip


def test_busy_time_is_neither_idle_nor_waiting_for_io() -> None:
    """Time of guests is a part of the user time and does not count again."""
    assert parse_cores(STAT) == [CoreTime(1.6, 10.0), CoreTime(0.8, 5.0), CoreTime(0.8, 5.0)]


def test_percentages_cover_the_time_between_two_readings() -> None:
    """Of all cores and of each one; without time in between they are unknown."""
    before = MachineReading(CoreTime(1.0, 10.0), (CoreTime(0.5, 5.0), CoreTime(0.5, 5.0)))
    after = MachineReading(CoreTime(2.0, 12.0), (CoreTime(1.5, 6.0), CoreTime(0.5, 6.0)))
    assert machine_percent(before, after) == 50.0
    assert core_percents(before, after) == (100.0, 0.0)
    assert machine_percent(after, after) is None
    assert core_percents(after, after) is None
    assert core_percents(MachineReading(), after) is None
    assert busy_ratio(CoreTime(5.0, 10.0), CoreTime(4.0, 11.0)) == 0.0


def test_memory_that_is_not_available_is_used() -> None:
    """Without the two lines it is unknown."""
    assert parse_memory(b"MemTotal:  1000 kB\nMemFree: 10 kB\nMemAvailable: 400 kB\n") == 0.6
    assert parse_memory(b"MemTotal:  1000 kB\n") is None
    assert parse_memory(b"") is None


def test_only_whole_disks_count(tmp_path: Path) -> None:
    """Partitions would count twice; loop devices are files on other disks."""
    (tmp_path / "sda").mkdir()
    (tmp_path / "loop0").mkdir()
    assert parse_disks(DISKSTATS, str(tmp_path)) == ((b"sda", 4000 * 512),)


def test_the_write_rate_is_that_of_the_busiest_disk() -> None:
    """A disk that was not there before is left out; without disks the rate is unknown."""
    before = MachineReading(written_bytes=((b"a", 0), (b"b", 1000)))
    after = MachineReading(written_bytes=((b"a", 300), (b"b", 5000), (b"c", 10**9)))
    assert largest_write_rate(before, after, 2.0) == 2000.0
    assert largest_write_rate(MachineReading(), MachineReading(), 2.0) is None


def test_this_machine_is_read_as_psutil_reads_it() -> None:
    """The same cores and the same memory."""
    found = read_machine()
    assert len(found.cores) == psutil.cpu_count()
    memory = psutil.virtual_memory()
    assert found.memory_used_ratio == pytest.approx(1 - memory.available / memory.total, abs=0.1)


def test_a_system_without_proc_has_no_figures(tmp_path: Path) -> None:
    """Everything is unknown, nothing is raised."""
    assert read_machine(str(tmp_path), str(tmp_path)) == MachineReading()
