"""Tests of the file system probe."""

import os
from pathlib import Path

import pytest

from flyball_agent.probes.filesystem import METRICS, FilesystemProbe, space_values
from flyball_agent.probes.probe import Absent
from flyball_agent.probes.testing import broken_rules, values_by_name, write_tree
from flyball_proto.unavailable_reading import Reason


def test_reads_space_of_local_file_systems(tmp_path: Path) -> None:
    """Sizes are consistent, and a bind-mounted file is skipped."""
    (tmp_path / "file").write_text("")
    info = f"1 0 8:1 / {tmp_path} rw - ext4 /dev/sda1 rw\n2 0 8:2 / {tmp_path}/file rw - ext4 /dev/sda2 rw\n"
    sample = FilesystemProbe(write_tree(tmp_path, {"self/mountinfo": info})).read()
    values = values_by_name(sample)
    assert {column.labels for column in sample.columns} == {(str(tmp_path),)}
    assert (values["filesystem_available_bytes", str(tmp_path)] or 0) > 0
    assert (values["filesystem_used_bytes", str(tmp_path)] or 0) < (
        values["filesystem_total_bytes", str(tmp_path)] or 0
    )
    assert values["filesystem_read_only", str(tmp_path)] == 0
    assert not list(broken_rules(sample))


def test_reads_the_mounts_in_the_settings(tmp_path: Path) -> None:
    """Mount points in the settings replace the local ones, and a missing one has a reason with its path."""
    write_tree(tmp_path, {"self/mountinfo": f"1 0 0:5 / {tmp_path} rw - nfs4 server:/x ro\n"})
    missing = str(tmp_path / "none")
    sample = FilesystemProbe(tmp_path, (str(tmp_path), missing)).read()
    values = values_by_name(sample)
    assert values["filesystem_read_only", str(tmp_path)] == 1
    assert [values[metric.name, missing] for metric in METRICS] == [None] * len(METRICS)
    assert [
        (unavailable_reading.resource, unavailable_reading.reason) for unavailable_reading in sample.unavailable
    ] == [(missing, Reason.ABSENT)]
    assert not list(broken_rules(sample))


def test_columns_stay_while_mounts_do(tmp_path: Path) -> None:
    """While the mounts are unchanged, the columns are the same object."""
    probe = FilesystemProbe(write_tree(tmp_path, {"self/mountinfo": f"1 0 8:1 / {tmp_path} rw - xfs /dev/a rw\n"}))
    assert probe.read().columns is probe.read().columns


def test_none_is_absent(tmp_path: Path) -> None:
    """With network file systems only, the probe is absent, and the remedy names the setting."""
    write_tree(tmp_path, {"self/mountinfo": "1 0 0:5 / /net rw - nfs4 server:/x rw\n"})
    with pytest.raises(Absent) as caught:
        FilesystemProbe(tmp_path).read()
    assert "probes.filesystems" in caught.value.remedy


def test_host_paths_are_below_the_root(tmp_path: Path) -> None:
    """In a container the mounts are those of process 1, found below the root and named as on the host."""
    missing = "2 1 8:2 / /gone rw - ext4 /dev/sdb1 rw\n"
    host = write_tree(tmp_path, {"proc/1/mountinfo": f"1 0 8:1 / / rw - ext4 /dev/sda1 rw\n{missing}"})
    write_tree(tmp_path, {"proc/self/mountinfo": "1 0 0:50 / /container rw - ext4 /dev/sdz rw\n"})
    sample = FilesystemProbe(host / "proc", root=host).read()
    assert {column.labels for column in sample.columns} == {("/",)}
    assert not list(broken_rules(sample))
    wanted = FilesystemProbe(host / "proc", ("/proc", "/etc/none"), root=host).read()
    assert [missing.resource for missing in wanted.unavailable] == ["/etc/none"]


def test_a_file_system_stays_writable_when_the_agents_mount_is_not() -> None:
    """A sandbox or a container mounts everything read-only for the agent; the list of mounts knows the file system."""
    everything = os.statvfs("/")
    fields = {name: getattr(everything, name) for name in dir(everything) if name.startswith("f_")}
    sequence = [fields[name] for name in (
        "f_bsize", "f_frsize", "f_blocks", "f_bfree", "f_bavail", "f_files", "f_ffree", "f_favail",
    )]  # fmt: skip
    status = os.statvfs_result((*sequence, fields["f_flag"] | os.ST_RDONLY, 255, 0))
    assert [space_values(status, known)[-1] for known in (False, True, None)] == [0, 1, 1]
