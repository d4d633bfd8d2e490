"""Limits and usage of the agent's control group: its container, or the parent group of its systemd service."""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from flyball_agent.probes.columns import ONE, Gaps, GroupedColumns
from flyball_agent.probes.files import KernelFile, count, number, number_after, read_text
from flyball_agent.probes.host_root import HOST, is_elsewhere
from flyball_agent.probes.periodic_reading import PeriodicReading
from flyball_agent.probes.probe import Absent, ProbeSample, Value
from flyball_proto.metric import counter, gauge

UNLIMITED = 1 << 60  # version 1 writes "no limit" as the largest number of whole pages
LIMITS_EVERY = 10
"""Limits are read every tenth time, because they rarely change."""
MOST_CORES = 1_000_000  # more than any host has
MICROSECONDS = 1_000_000
NANOSECONDS = 1_000_000_000

METRICS = (
    gauge("cgroup_cpu_limit_cores", "cores", "CPU limit of the group, as a number of cores.", scale=1000),
    counter("cgroup_cpu_seconds_total", "seconds", "CPU time used by the group.", scale=1000),
    counter("cgroup_cpu_periods_total", "periods", "Periods in which the CPU limit was enforced."),
    counter("cgroup_cpu_throttled_periods_total", "periods", "Periods in which the group was throttled."),
    counter(
        "cgroup_cpu_throttled_seconds_total",
        "seconds",
        "Time in which threads of the group were throttled.",
        scale=1000,
    ),
    gauge("cgroup_memory_limit_bytes", "bytes", "Memory limit of the group."),
    gauge("cgroup_memory_used_bytes", "bytes", "Memory used by the group, including page cache."),
    gauge(
        "cgroup_memory_working_bytes",
        "bytes",
        "Working set of the group: memory without the page cache that can be dropped at once.",
    ),
    gauge("cgroup_memory_used_ratio", "ratio", "Working set as a share of the limit.", scale=10_000),
    gauge("cgroup_swap_used_bytes", "bytes", "Swap used by the group."),
    counter("cgroup_memory_limit_hits_total", "events", "Times that the group reached its memory limit."),
    counter("cgroup_oom_kills_total", "processes", "Processes of the group killed because memory ran out."),
    gauge("cgroup_tasks_limit", "tasks", "Maximum number of threads and processes in the group."),
    gauge("cgroup_tasks", "tasks", "Threads and processes in the group."),
)
NO_LIMIT = "no limit is set"
_DETAILS = {
    "cgroup_cpu_limit_cores": NO_LIMIT,
    "cgroup_memory_limit_bytes": NO_LIMIT,
    "cgroup_memory_used_ratio": NO_LIMIT,
    "cgroup_tasks_limit": NO_LIMIT,
    "cgroup_cpu_periods_total": "no CPU limit is set",
    "cgroup_cpu_throttled_periods_total": "no CPU limit is set",
    "cgroup_cpu_throttled_seconds_total": "no CPU limit is set",
}


def parse_membership(text: str) -> dict[str, str]:
    """Parse `/proc/self/cgroup`; return the path by controller. Version 2 has one path, under the empty name."""
    paths: dict[str, str] = {}
    for line in text.splitlines():
        _, _, rest = line.partition(":")
        controllers, found, path = rest.partition(":")
        if found and path.startswith("/"):
            paths.update(dict.fromkeys(controllers.split(","), path))
    return paths


def enclosing(mount: Path, path: str) -> Path:
    """Return the folder of the group around the agent: the parent of a systemd service, in a container the root."""
    parts = [part for part in path.split("/") if part]
    if parts and parts[-1].endswith(".service"):
        parts.pop()
    folder = mount.joinpath(*parts)
    return mount if ".." in parts or "\0" in path or not folder.is_dir() else folder


Limits = tuple[float | None, int | None, int | None]
"""CPU in cores, memory in bytes, number of tasks."""


class ControlGroup(Protocol):
    """A control group of either version."""

    def values(self) -> list[Value]:
        """Return the values of `METRICS`."""
        ...


class ControlGroupV2:
    """The unified hierarchy: one folder. The files of controllers that are not enabled are missing."""

    def __init__(self, folder: Path) -> None:
        self._cpu_max = KernelFile(folder / "cpu.max", size=64)
        self._cpu_stat = KernelFile(folder / "cpu.stat", size=1024)
        self._memory = KernelFile(folder / "memory.current", size=64)
        self._memory_max = KernelFile(folder / "memory.max", size=64)
        self._memory_stat = KernelFile(folder / "memory.stat")
        self._memory_events = KernelFile(folder / "memory.events", size=512)
        self._swap = KernelFile(folder / "memory.swap.current", size=64)
        self._tasks = KernelFile(folder / "pids.current", size=64)
        self._tasks_max = KernelFile(folder / "pids.max", size=64)
        self._limits: PeriodicReading[Limits] = PeriodicReading(LIMITS_EVERY)

    def values(self) -> list[Value]:
        stat, events = b"\n" + self._cpu_stat.read_optional(), b"\n" + self._memory_events.read_optional()
        cores, limit, tasks = self._limits.value(self._read_limits)
        cache = number_after(b"\n" + self._memory_stat.read_optional(), b"\ninactive_file ")
        return [
            cores,
            _seconds(number_after(stat, b"\nusage_usec "), MICROSECONDS),
            number_after(stat, b"\nnr_periods "),
            number_after(stat, b"\nnr_throttled "),
            _seconds(number_after(stat, b"\nthrottled_usec "), MICROSECONDS),
            *memory_values(limit, count(self._memory.read_optional()), cache),
            count(self._swap.read_optional()),
            number_after(events, b"\nmax "),
            number_after(events, b"\noom_kill "),
            tasks,
            count(self._tasks.read_optional()),
        ]

    def _read_limits(self) -> Limits:
        quota, _, period = self._cpu_max.read_optional().partition(b" ")
        return (
            _cores(number(quota), count(period)),
            count(self._memory_max.read_optional()),
            count(self._tasks_max.read_optional()),
        )


class ControlGroupV1:
    """The older hierarchies: one folder per controller."""

    def __init__(self, cpu: Path, account: Path, memory: Path, pids: Path) -> None:
        self._quota = KernelFile(cpu / "cpu.cfs_quota_us", size=64)
        self._period = KernelFile(cpu / "cpu.cfs_period_us", size=64)
        self._cpu_stat = KernelFile(cpu / "cpu.stat", size=512)
        self._usage = KernelFile(account / "cpuacct.usage", size=64)
        self._memory = KernelFile(memory / "memory.usage_in_bytes", size=64)
        self._limit = KernelFile(memory / "memory.limit_in_bytes", size=64)
        self._with_swap = KernelFile(memory / "memory.memsw.usage_in_bytes", size=64)
        self._hits = KernelFile(memory / "memory.failcnt", size=64)
        self._memory_stat = KernelFile(memory / "memory.stat")
        self._kills = KernelFile(memory / "memory.oom_control", size=256)
        self._tasks = KernelFile(pids / "pids.current", size=64)
        self._tasks_max = KernelFile(pids / "pids.max", size=64)
        self._limits: PeriodicReading[Limits] = PeriodicReading(LIMITS_EVERY)

    def values(self) -> list[Value]:
        stat = b"\n" + self._cpu_stat.read_optional()
        cores, limit, tasks = self._limits.value(self._read_limits)
        used, with_swap = count(self._memory.read_optional()), count(self._with_swap.read_optional())
        cache = number_after(b"\n" + self._memory_stat.read_optional(), b"\ntotal_inactive_file ")
        return [
            cores,
            _seconds(count(self._usage.read_optional()), NANOSECONDS),
            number_after(stat, b"\nnr_periods "),
            number_after(stat, b"\nnr_throttled "),
            _seconds(number_after(stat, b"\nthrottled_time "), NANOSECONDS),
            *memory_values(limit, used, cache),
            None if used is None or with_swap is None else max(0, with_swap - used),
            count(self._hits.read_optional()),
            number_after(b"\n" + self._kills.read_optional(), b"\noom_kill "),
            tasks,
            count(self._tasks.read_optional()),
        ]

    def _read_limits(self) -> Limits:
        return (
            _cores(number(self._quota.read_optional()), count(self._period.read_optional())),
            count(self._limit.read_optional()),
            count(self._tasks_max.read_optional()),
        )


def memory_values(limit: int | None, used: int | None, droppable: int | None) -> list[Value]:
    """Return limit, used, working set, and working set as a share of the limit."""
    if limit is not None and limit >= UNLIMITED:
        limit = None
    working = None if used is None or droppable is None else max(0, used - droppable)
    return [limit, used, working, min(1.0, working / limit) if working is not None and limit else None]


def _cores(quota: int | None, period: int | None) -> float | None:
    cores = quota / period if quota is not None and period and quota > 0 else MOST_CORES
    return cores if cores < MOST_CORES else None


def _seconds(units: int | None, per_second: int) -> float | None:
    return None if units is None else units / per_second


def find_group(proc_root: Path, sys_root: Path, root: Path = HOST) -> ControlGroup | None:
    """Return the group around the agent, or None if the kernel has no group with limits or counters.

    If the host's root is mounted at `root`, it is the host's root group: the limits of the agent's container are not
    those of the host.
    """
    mount = sys_root / "fs/cgroup"
    paths = {} if is_elsewhere(root) else parse_membership(read_text(proc_root / "self/cgroup") or "")
    if (mount / "cgroup.controllers").exists():
        folder = enclosing(mount, paths.get("", "/"))
        limited = (folder / "memory.current").exists() or (folder / "cpu.max").exists()
        return ControlGroupV2(folder) if limited else None
    cpu, account, memory, pids = (
        _folder_v1(mount, names, paths)
        for names in (("cpu", "cpu,cpuacct"), ("cpuacct", "cpu,cpuacct"), ("memory",), ("pids",))
    )
    return ControlGroupV1(cpu, account, memory, pids) if cpu.is_dir() or memory.is_dir() else None


def _folder_v1(mount: Path, names: Sequence[str], paths: dict[str, str]) -> Path:
    """Return the folder of a controller. Some systems mount two controllers in one folder and name it after both."""
    hierarchy = next((mount / name for name in names if (mount / name).is_dir()), mount / names[0])
    return enclosing(hierarchy, paths.get(names[0], "/"))


class CgroupProbe:
    """Reads the group around the agent. The group is determined once, because a process rarely moves."""

    name = "cgroup"
    metrics = METRICS
    every_seconds = 0.0
    blocking = False

    def __init__(self, proc_root: Path, sys_root: Path, root: Path = HOST) -> None:
        self._group = find_group(proc_root, sys_root, root)
        self._columns = GroupedColumns(METRICS).columns(ONE)
        self._gaps = Gaps(self.name, "not provided by this group or kernel", details=_DETAILS)

    def read(self) -> ProbeSample:
        if self._group is None:
            raise Absent("the group is the root control group, which limits nothing")
        values = self._group.values()
        return ProbeSample(self._columns, values, self._gaps.unavailable(self._columns, values))
