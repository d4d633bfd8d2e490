"""Tests of the probe of kernel limits."""

from pathlib import Path

import pytest

from flyball_agent.probes.kernel_limits import KernelLimitProbe
from flyball_agent.probes.probe import Unavailable
from flyball_agent.probes.testing import broken_rules, values_by_name, write_tree

FILES = {
    "sys/fs/file-nr": "2112\t0\t800000\n",
    "loadavg": "0.20 0.18 0.12 1/512 11206\n",
    "sys/kernel/threads-max": "515000\n",
    "sys/kernel/pid_max": "32768\n",
    "sys/kernel/hung_task_detect_count": "4\n",
}


def test_reads_use_and_limits(tmp_path: Path) -> None:
    """The limit of tasks is the smaller of threads and process numbers."""
    sample = KernelLimitProbe(write_tree(tmp_path, FILES)).read()
    assert list(sample.values) == [2112, 800_000, 512, 32768, 4]
    assert not sample.unavailable


def test_no_limit_is_not_a_number(tmp_path: Path) -> None:
    """systemd removes the limit of open files; the largest number is not reported as one."""
    files = FILES | {"sys/fs/file-nr": "2112\t0\t9223372036854775807\n"}
    sample = KernelLimitProbe(write_tree(tmp_path, files)).read()
    assert values_by_name(sample)["open_files_limit",] is None
    assert [(each.metric, each.detail) for each in sample.unavailable] == [("open_files_limit", "no limit is set")]


def test_older_kernels_do_not_count_hung_tasks(tmp_path: Path) -> None:
    """Without the file the number is unknown, with the version that has it."""
    files = {name: text for name, text in FILES.items() if "hung" not in name}
    sample = KernelLimitProbe(write_tree(tmp_path, files)).read()
    assert values_by_name(sample)["hung_tasks_total",] is None
    assert "6.13" in sample.unavailable[0].detail


def test_damaged_files_are_unknown(tmp_path: Path) -> None:
    """Each value that is not a number has a reason; the others are kept."""
    files = FILES | {"sys/fs/file-nr": "1 2\n", "loadavg": "0.20 0.18\n", "sys/kernel/pid_max": "-1\n"}
    sample = KernelLimitProbe(write_tree(tmp_path, files)).read()
    assert list(sample.values) == [None, None, None, 515000, 4]
    assert not list(broken_rules(sample))


def test_nothing_is_a_failure(tmp_path: Path) -> None:
    """Without any of the files the probe gives a reason."""
    with pytest.raises(Unavailable, match="/proc/sys"):
        KernelLimitProbe(tmp_path).read()
