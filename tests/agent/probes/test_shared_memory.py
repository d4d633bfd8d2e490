"""Tests of the shared memory probe."""

from pathlib import Path

import pytest

from flyball_agent.probes.probe import Absent
from flyball_agent.probes.shared_memory import SharedMemoryProbe
from flyball_agent.probes.testing import broken_rules, values_by_name


def test_reads_space(tmp_path: Path) -> None:
    """The ratio is used space divided by total space."""
    sample = SharedMemoryProbe(tmp_path).read()
    total, used, ratio = (value or 0 for value in sample.values)
    assert 0 <= used <= total
    assert ratio == used / total
    assert not list(broken_rules(sample))


def test_a_file_takes_space() -> None:
    """A file written to /dev/shm increases used space."""
    probe, path = SharedMemoryProbe(), Path("/dev/shm/flyball-test-shared-memory")  # noqa: S108
    before = values_by_name(probe.read())["shared_memory_used_bytes",] or 0
    try:
        path.write_bytes(bytes(8 * 1024**2))
        after = values_by_name(probe.read())["shared_memory_used_bytes",] or 0
    finally:
        path.unlink()
    assert after - before >= 4 * 1024**2


def test_none_is_absent(tmp_path: Path) -> None:
    """In a container without /dev/shm the probe is absent, with a remedy."""
    with pytest.raises(Absent) as caught:
        SharedMemoryProbe(tmp_path / "shm").read()
    assert "tmpfs" in caught.value.remedy
