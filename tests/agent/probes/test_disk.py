"""Tests of the disk probe."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flyball_agent.probes.disk import METRICS, DiskProbe, disk_values, parse_diskstats
from flyball_agent.probes.probe import Absent
from flyball_agent.probes.testing import broken_rules, values_by_name, write_tree

NVME = " 259 0 nvme0n1 10 1 200 30 40 2 800 1500 6 7000 8000 3 0 64 9 11 2500\n"
PARTITION = " 259 1 nvme0n1p1 9 1 190 29 40 2 800 1500 0 7000 8000 3 0 64 9 11 2500\n"
OLD = "   8 0 sda 10 1 200 30 40 2 800 1500 6 7000 8000\n"
UNUSED = "  43 0 nbd0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n"
LOOP = "   7 0 loop0 55 0 2000 3 0 0 0 0 0 9 3 0 0 0 0 0 0\n"


def test_reads_whole_disks_only(tmp_path: Path) -> None:
    """Partitions, loop devices and unused placeholders have no columns."""
    files = {"diskstats": LOOP + NVME + PARTITION + UNUSED, "block/nvme0n1/size": "1", "block/nbd0/size": "0"}
    sample = DiskProbe(write_tree(tmp_path, files), tmp_path).read()
    values = values_by_name(sample)
    assert {labels[0] for _, *labels in values} == {"nvme0n1"}
    assert values["disk_read_bytes_total", "nvme0n1"] == 200 * 512
    assert values["disk_written_bytes_total", "nvme0n1"] == 800 * 512
    assert values["disk_reads_total", "nvme0n1"] == 10
    assert values["disk_writes_total", "nvme0n1"] == 40
    assert values["disk_read_seconds_total", "nvme0n1"] == 0.03
    assert values["disk_write_seconds_total", "nvme0n1"] == 1.5
    assert values["disk_busy_seconds_total", "nvme0n1"] == 7.0
    assert values["disk_queue_seconds_total", "nvme0n1"] == 8.0
    assert values["disk_in_flight", "nvme0n1"] == 6
    assert values["disk_discarded_bytes_total", "nvme0n1"] == 64 * 512
    assert (values["disk_flushes_total", "nvme0n1"], values["disk_flush_seconds_total", "nvme0n1"]) == (11, 2.5)
    assert not sample.unavailable


def test_older_kernels_have_fewer_counters(tmp_path: Path) -> None:
    """Discards are unknown before Linux 4.18, flushes before 5.5."""
    sample = DiskProbe(write_tree(tmp_path, {"diskstats": OLD, "block/sda/size": "1"}), tmp_path).read()
    assert values_by_name(sample)["disk_flushes_total", "sda"] is None
    assert values_by_name(sample)["disk_reads_total", "sda"] == 10
    assert not list(broken_rules(sample))


def test_disks_come_and_go(tmp_path: Path) -> None:
    """A new disk gets columns, a removed one loses them, and without a change the columns are the same object."""
    files = {"diskstats": NVME, "block/nvme0n1/size": "1", "block/sda/size": "1"}
    probe = DiskProbe(write_tree(tmp_path, files), tmp_path)
    first = probe.read()
    assert probe.read().columns is first.columns
    write_tree(tmp_path, {"diskstats": NVME + OLD})
    assert len(probe.read().columns) == 2 * len(METRICS)
    write_tree(tmp_path, {"diskstats": OLD})
    assert {column.labels for column in probe.read().columns} == {("sda",)}


def test_without_disks_it_is_absent(tmp_path: Path) -> None:
    """Without disks the probe is absent; its values are not zero."""
    with pytest.raises(Absent):
        DiskProbe(write_tree(tmp_path, {"diskstats": LOOP}), tmp_path).read()


@given(st.binary(max_size=200))
def test_no_bytes_crash_the_parser(data: bytes) -> None:
    """For any line, each metric has a value or None."""
    for row in parse_diskstats(data + b"\n 8 0 sda " + data + b" 1" * 14):
        assert len(disk_values(row)) == len(METRICS)


def test_a_disk_that_is_listed_twice_has_its_columns_once(tmp_path: Path) -> None:
    """While disks come and go, the kernel may list one twice; the later line counts."""
    line = " 8 0 sda {} 0 8 1 1 0 8 1 0 1 1\n"
    sample = DiskProbe(write_tree(tmp_path, {"diskstats": line.format(1) + line.format(5)}), tmp_path).read()
    assert values_by_name(sample)["disk_reads_total", "sda"] == 5
    assert not list(broken_rules(sample))
