"""The benchmark of the disk: its rates, its bounds, and that nothing stays."""

import os
import time
from pathlib import Path

import pytest

from flyball.host.benchmarks import disk_benchmark
from flyball.host.benchmarks.benchmark_names import BenchmarkFailed
from flyball.host.benchmarks.disk_benchmark import IN_MEMORY, DiskTimes, measure_disk
from flyball.host.hardware_parts import DiskSpeed
from tests.client.profiling.disks import needs_a_disk

MEBIBYTE = 2**20
QUICK = DiskTimes(write=0.3, read=0.1, random_read=0.05, random_write=0.05)


def rates(found: DiskSpeed) -> list[float]:
    """Return the four rates; all of them must be known."""
    known = (
        found.write_mb_per_second,
        found.read_mb_per_second,
        found.random_reads_per_second,
        found.random_writes_per_second,
    )
    assert None not in known
    return [each for each in known if each is not None]


@pytest.mark.parametrize("direct", [True, False])
def test_rates_are_measured_and_no_file_stays(tmp_path: Path, direct: bool) -> None:
    """With the page cache bypassed, and with it flushed and dropped."""
    found = measure_disk(str(tmp_path), most_bytes=16 * MEBIBYTE, times=QUICK, direct=direct)
    assert all(rate > 0 for rate in rates(found))
    assert 0 < found.bytes <= 16 * MEBIBYTE
    assert list(tmp_path.iterdir()) == []
    assert found.direct or "page cache" in found.note


def test_without_direct_operations_this_is_stated(tmp_path: Path) -> None:
    """The note states how the cache was defeated instead."""
    found = measure_disk(str(tmp_path), most_bytes=16 * MEBIBYTE, times=QUICK, direct=False)
    assert not found.direct
    assert "flushed after writes and dropped before reads" in found.note


def test_reads_come_from_the_disk_and_not_from_memory(tmp_path: Path) -> None:
    """A random read of the measured file waits for a device: it is slower than one from the page cache."""
    needs_a_disk(tmp_path)
    found = measure_disk(str(tmp_path), most_bytes=16 * MEBIBYTE, times=QUICK)
    path = tmp_path / "cached"
    path.write_bytes(os.urandom(MEBIBYTE))
    with path.open("rb") as file:
        best = min(_timed_read(file.fileno(), place) for place in range(0, MEBIBYTE, 4096))
    assert found.random_reads_per_second is not None
    assert found.random_reads_per_second < 1 / best


def _timed_read(descriptor: int, place: int) -> float:
    started = time.perf_counter()
    os.pread(descriptor, 4096, place)
    return time.perf_counter() - started


def test_time_and_bytes_have_limits() -> None:
    """At most 512 MB, a twentieth of the free space, and 3 s."""
    times = DiskTimes()
    assert times.write + times.read + times.random_read + times.random_write <= 3
    assert disk_benchmark.MOST_BYTES <= 512 * MEBIBYTE
    assert disk_benchmark.MOST_OF_FREE <= 0.05


def test_a_slow_disk_ends_at_its_time_limit(tmp_path: Path) -> None:
    """Fewer bytes are written, and the rates are of those."""
    times = DiskTimes(write=1e-4, read=1e-4, random_read=1e-4, random_write=1e-4)
    found = measure_disk(str(tmp_path), most_bytes=64 * MEBIBYTE, times=times)
    assert found.bytes < 64 * MEBIBYTE
    assert all(rate > 0 for rate in rates(found))


def test_too_little_free_space_is_a_reason(tmp_path: Path) -> None:
    """A nearly full disk is not filled further."""
    with pytest.raises(BenchmarkFailed, match="a twentieth of them is too little to measure"):
        measure_disk(str(tmp_path), most_bytes=4 * MEBIBYTE)


def test_a_folder_that_cannot_be_written_is_a_reason(tmp_path: Path) -> None:
    """It is named."""
    with pytest.raises(BenchmarkFailed, match=r"none: No such file or directory"):
        measure_disk(str(tmp_path / "none"))
    if os.geteuid() != 0:
        tmp_path.chmod(0o500)
        with pytest.raises(BenchmarkFailed, match="Permission denied"):
            measure_disk(str(tmp_path), most_bytes=16 * MEBIBYTE)


def test_a_file_system_without_direct_operations_is_measured_through_the_cache() -> None:
    """Such as memory: older kernels refuse the flag, newer ones accept it."""
    folder = "/dev/shm"  # noqa: S108  the file has no name
    if not os.access(folder, os.W_OK) or os.statvfs(folder).f_bavail * 4096 < 400 * MEBIBYTE:
        pytest.skip("the file system in memory is not there or too small")
    found = measure_disk(folder, most_bytes=16 * MEBIBYTE, times=QUICK)
    assert all(rate > 0 for rate in rates(found))
    known = measure_disk(folder, most_bytes=16 * MEBIBYTE, times=QUICK, in_memory=True)
    assert (known.direct, known.note) == (False, IN_MEMORY)
