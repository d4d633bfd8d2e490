"""CPUs and memory that a process may use."""

import os
from pathlib import Path

import pytest

from flyball.profiling.allowed_resources import allowed_cpus, memory_use, own_groups


@pytest.fixture
def groups(tmp_path: Path) -> list[Path]:
    """A control group below another, both without limits."""
    mounted, proc = tmp_path / "cgroup", tmp_path / "proc"
    group = mounted / "slurm" / "job-1"
    group.mkdir(parents=True)
    (mounted / "cgroup.controllers").write_text("cpu memory\n")
    (proc / "self").mkdir(parents=True)
    (proc / "self" / "cgroup").write_text("0::/slurm/job-1\n")
    found = own_groups(proc, mounted)
    assert found == [group, group.parent, mounted]
    return found


def test_a_quota_of_a_group_above_limits_the_cpus(groups: list[Path]) -> None:
    """The smallest of all quotas and the affinity counts."""
    affinity = len(os.sched_getaffinity(0))
    (groups[0] / "cpu.max").write_text("max 100000\n")
    assert allowed_cpus(groups) == affinity
    (groups[1] / "cpu.max").write_text("50000 100000\n")
    assert allowed_cpus(groups) == 0.5


def test_memory_counts_against_the_limit_without_idle_file_pages(groups: list[Path]) -> None:
    """The kernel takes idle pages of files back before the limit is reached."""
    assert memory_use(groups) is None
    (groups[0] / "memory.max").write_text("max\n")
    assert memory_use(groups) is None
    for name, text in (("max", "1000"), ("current", "800"), ("stat", "anon 1\ninactive_file 300\n")):
        (groups[1] / f"memory.{name}").write_text(text)
    assert memory_use(groups) == 0.5


def test_without_groups_of_version_2_only_the_affinity_counts(tmp_path: Path) -> None:
    """Older systems."""
    (tmp_path / "self").mkdir()
    (tmp_path / "self" / "cgroup").write_text("4:memory:/a\n")
    assert own_groups(tmp_path, tmp_path) == []
    assert own_groups(tmp_path / "missing", tmp_path) == []
    assert allowed_cpus([]) == len(os.sched_getaffinity(0))
