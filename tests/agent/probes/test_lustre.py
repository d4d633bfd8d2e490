"""Tests of the Lustre probe."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flyball_agent.probes.lustre import METRICS, LustreProbe, filesystem_label, stats_values
from flyball_agent.probes.probe import Absent, Denied
from flyball_agent.probes.testing import broken_rules, values_by_name, write_tree

HEAD = "snapshot_time             1790000000.123456789 secs.nsecs\n"
STATS = HEAD + (
    "read_bytes                100 samples [bytes] 1 4096 204800 900\n"
    "write_bytes               20 samples [bytes] 0 4096 40960 900\n"
    "read                      100 samples [usecs] 1 90 2500000 900\n"
    "write                     20 samples [usecs] 1 90 500000 900\n"
    "open                      7 samples [usecs] 1 9 30 90\n"
)


def test_reads_a_file_system(tmp_path: Path) -> None:
    """Sums are bytes and microseconds; the label is the name of the file system."""
    root = write_tree(tmp_path, {"kernel/debug/lustre/llite/scratch-ffff8f3c/stats": STATS})
    sample = LustreProbe(root / "proc", root).read()
    assert {column.labels for column in sample.columns} == {("scratch",)}
    assert list(sample.values) == [204800, 40960, 100, 20, 2.5, 0.5, 7]
    assert not sample.unavailable


def test_old_versions_have_their_files_in_procfs(tmp_path: Path) -> None:
    """Before 2.12 the statistics are in procfs, without times: these are unknown with a reason."""
    text = HEAD + "read_bytes 5 samples [bytes] 1 4096 9000\n"
    root = write_tree(tmp_path, {"fs/lustre/llite/home-ff/stats": text})
    sample = LustreProbe(root, root / "sys").read()
    assert list(sample.values) == [9000, 0, 5, 0, None, 0, 0]
    assert not list(broken_rules(sample))


def test_a_file_without_a_snapshot_is_unknown() -> None:
    """An empty or damaged file is not taken for a file system without traffic."""
    assert stats_values(b"") == [None] * len(METRICS)


def test_two_mounts_of_one_file_system_keep_their_folders() -> None:
    """The name alone would be ambiguous."""
    folders = ["scratch-ff01", "scratch-ff02", "home-ff03"]
    assert [filesystem_label(folder, folders) for folder in folders] == ["scratch-ff01", "scratch-ff02", "home"]


def test_statistics_for_root_only_are_denied(tmp_path: Path) -> None:
    """If Lustre is mounted but debugfs cannot be read, the reason is the permission."""
    root = write_tree(tmp_path, {"fs/lustre/llite/scratch-ff/max_cached_mb": "1\n"})
    with pytest.raises(Denied, match="debugfs") as caught:
        LustreProbe(root / "proc", root).read()
    assert "CAP_DAC_READ_SEARCH" in caught.value.remedy


def test_none_is_absent_until_it_is_mounted(tmp_path: Path) -> None:
    """Without a mount the probe is absent, and the first one is found at once."""
    probe = LustreProbe(tmp_path, tmp_path)
    with pytest.raises(Absent):
        probe.read()
    write_tree(tmp_path, {"fs/lustre/llite/a-1/stats": STATS})
    assert values_by_name(probe.read())["lustre_opens_total", "a"] == 7


@given(st.binary(max_size=200))
def test_no_bytes_crash_the_parser(data: bytes) -> None:
    """For any content each metric has a value or None."""
    assert len(stats_values(HEAD.encode() + data)) == len(METRICS)
