"""Tests of the control group probe, with both versions of control groups."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flyball_agent.probes.cgroup import CgroupProbe, enclosing, memory_values, parse_membership
from flyball_agent.probes.probe import Absent
from flyball_agent.probes.testing import broken_rules, values_by_name, write_tree

V2 = {
    "cpu.max": "250000 100000\n",
    "cpu.stat": "usage_usec 5500000\nuser_usec 1\nnr_periods 10\nnr_throttled 4\nthrottled_usec 1500000\n",
    "memory.current": "1000\n",
    "memory.max": "2000\n",
    "memory.stat": "anon 1\ninactive_anon 7\ninactive_file 400\n",
    "memory.events": "low 0\nhigh 0\nmax 12\noom 2\noom_kill 1\n",
    "memory.swap.current": "64\n",
    "pids.current": "33\n",
    "pids.max": "max\n",
}
V1 = {
    "cpu,cpuacct/cpu.cfs_quota_us": "-1\n",
    "cpu,cpuacct/cpu.cfs_period_us": "100000\n",
    "cpu,cpuacct/cpu.stat": "nr_periods 10\nnr_throttled 4\nthrottled_time 1500000000\n",
    "cpu,cpuacct/cpuacct.usage": "5500000000\n",
    "memory/docker/abc/memory.usage_in_bytes": "1000\n",
    "memory/docker/abc/memory.limit_in_bytes": "9223372036854771712\n",
    "memory/docker/abc/memory.memsw.usage_in_bytes": "1064\n",
    "memory/docker/abc/memory.failcnt": "12\n",
    "memory/docker/abc/memory.stat": "cache 1\ninactive_file 3\ntotal_inactive_file 400\n",
    "memory/docker/abc/memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n",
    "pids/pids.current": "33\n",
    "pids/pids.max": "100\n",
}
MEMBER_V1 = "4:memory:/docker/abc\n3:pids:/docker/abc\n1:cpu,cpuacct:/docker/abc\n0::/\n"


def tree(root: Path, group: str, files: dict[str, str]) -> Path:
    """Write procfs and sysfs of a process in a group."""
    return write_tree(root, {"self/cgroup": group} | {f"fs/cgroup/{name}": text for name, text in files.items()})


def test_reads_a_container_of_version_2(tmp_path: Path) -> None:
    """In a container the files of the group are at the root of the mount."""
    root = tree(tmp_path, "0::/\n", {"cgroup.controllers": "cpu memory pids\n", **V2})
    sample = CgroupProbe(root, root).read()
    values = values_by_name(sample)
    assert values["cgroup_cpu_limit_cores",] == 2.5
    assert values["cgroup_cpu_seconds_total",] == 5.5
    assert (values["cgroup_cpu_periods_total",], values["cgroup_cpu_throttled_periods_total",]) == (10, 4)
    assert values["cgroup_cpu_throttled_seconds_total",] == 1.5
    assert (values["cgroup_memory_limit_bytes",], values["cgroup_memory_used_bytes",]) == (2000, 1000)
    assert (values["cgroup_memory_working_bytes",], values["cgroup_memory_used_ratio",]) == (600, 0.3)
    assert values["cgroup_swap_used_bytes",] == 64
    assert (values["cgroup_memory_limit_hits_total",], values["cgroup_oom_kills_total",]) == (12, 1)
    assert values["cgroup_tasks",] == 33
    assert [(unavailable_reading.metric, unavailable_reading.detail) for unavailable_reading in sample.unavailable] == [
        ("cgroup_tasks_limit", "no limit is set")
    ]


def test_reads_a_container_of_version_1(tmp_path: Path) -> None:
    """Each controller has its own folder, nanoseconds become seconds, and the largest number means no limit."""
    root = tree(tmp_path, MEMBER_V1, V1)
    sample = CgroupProbe(root, root).read()
    values = values_by_name(sample)
    assert values["cgroup_cpu_limit_cores",] is None
    assert values["cgroup_cpu_seconds_total",] == 5.5
    assert values["cgroup_cpu_throttled_seconds_total",] == 1.5
    assert values["cgroup_memory_limit_bytes",] is None
    assert (values["cgroup_memory_used_bytes",], values["cgroup_memory_working_bytes",]) == (1000, 600)
    assert values["cgroup_swap_used_bytes",] == 64
    assert (values["cgroup_memory_limit_hits_total",], values["cgroup_oom_kills_total",]) == (12, 1)
    assert (values["cgroup_tasks",], values["cgroup_tasks_limit",]) == (33, 100)
    assert not list(broken_rules(sample))


def test_a_service_reads_its_parent_group(tmp_path: Path) -> None:
    """The agent's service reads its parent group, because its own group does not contain the training."""
    files = {f"system.slice/{name}": text for name, text in V2.items()}
    files |= {"system.slice/flyball-agent.service/memory.current": "5\n", "cgroup.controllers": "cpu\n"}
    root = tree(tmp_path, "0::/system.slice/flyball-agent.service\n", files)
    assert values_by_name(CgroupProbe(root, root).read())["cgroup_memory_used_bytes",] == 1000


def test_the_root_group_limits_nothing(tmp_path: Path) -> None:
    """Outside of any group the probe is absent."""
    root = tree(tmp_path, "0::/\n", {"cgroup.controllers": "cpu\n", "cpu.stat": "usage_usec 1\n"})
    with pytest.raises(Absent, match="root control group"):
        CgroupProbe(root, root).read()


def test_the_group_of_a_container_is_not_that_of_the_host(tmp_path: Path) -> None:
    """With the host's root elsewhere, the limits of the agent's own container are not reported."""
    files = {
        "proc/self/cgroup": "0::/kubepods/pod1\n",
        "sys/fs/cgroup/cgroup.controllers": "",
        "sys/fs/cgroup/kubepods/pod1/memory.current": "1\n",
        "sys/fs/cgroup/kubepods/pod1/memory.max": "9\n",
    }
    write_tree(tmp_path, files)
    with pytest.raises(Absent, match="root control group"):
        CgroupProbe(tmp_path / "proc", tmp_path / "sys", tmp_path).read()
    assert CgroupProbe(tmp_path / "proc", tmp_path / "sys").read().columns


def test_a_path_outside_the_mount_means_the_root(tmp_path: Path) -> None:
    """A path that is not visible in the container means the root of the mount."""
    (tmp_path / "a").mkdir()
    assert enclosing(tmp_path, "/a") == tmp_path / "a"
    assert enclosing(tmp_path, "/docker/none") == tmp_path
    assert enclosing(tmp_path, "/../..") == tmp_path


@given(st.none() | st.integers(0, 2**63), st.none() | st.integers(0, 2**63), st.none() | st.integers(0, 2**63))
def test_memory_is_never_negative(limit: int | None, used: int | None, cache: int | None) -> None:
    """Counters are read one after the other, so a difference below zero counts as zero."""
    assert all(value is None or value >= 0 for value in memory_values(limit, used, cache))


@given(st.text(max_size=100))
def test_no_text_crashes_the_parser(text: str) -> None:
    """Every parsed path is absolute."""
    assert all(path.startswith("/") for path in parse_membership(text + "\n0::" + text).values())


def test_a_group_above_its_limit_is_full() -> None:
    """After the limit was lowered the group may use more than it: the share is 1, not more."""
    assert memory_values(100, 500, 0) == [100, 500, 500, 1.0]


def test_a_limit_of_more_cores_than_any_host_has_is_unknown(tmp_path: Path) -> None:
    """A damaged limit is not reported."""
    write_tree(tmp_path, {"fs/cgroup/cgroup.controllers": "cpu", "fs/cgroup/cpu.max": f"{10**18} 1\n"})
    sample = CgroupProbe(tmp_path, tmp_path).read()
    assert values_by_name(sample)["cgroup_cpu_limit_cores",] is None
    assert not list(broken_rules(sample))
