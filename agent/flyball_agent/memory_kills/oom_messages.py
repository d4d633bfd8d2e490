"""Parses what the kernel writes when it kills a process for want of memory: Linux 3.10 and newer.

Until 4.19 the control group is in `Task in GROUP killed as a result of limit of GROUP`, since 5.0 in the line
`oom-kill:constraint=…` (mm/oom_kill.c, mm/memcontrol.c). More than ten reports in five seconds are cut down to the
line of the kill itself.
"""

import re
from dataclasses import dataclass

from flyball_agent.memory_kills.kill import Limit, MemoryKill

KIB = 1024
UNLIMITED = 1 << 60
REACHED = 0.95
"""A memory limit counts as reached from this share on: a large page may not fit into the rest."""

_SUMMARY = re.compile(
    r"^oom-kill:constraint=(?P<constraint>CONSTRAINT_[A-Z_]+),.*?mems_allowed=(?P<nodes>[0-9,-]*),"
    r"(?:oom_memcg=(?P<group>.*)|global_oom),task_memcg=(?P<of>.*),task=.*,pid=\d+,uid=\d+$"
)
_TASK_IN = re.compile(r"^Task in (?P<of>.*) killed as a result of limit of (?P<group>.*)$")
_USAGE = re.compile(r"^(?P<what>memory|memory\+swap): usage (?P<used>\d+)kB, limit (?P<limit>\d+)kB,")
_KILL = re.compile(
    r"^(?:(?P<whose>Memory cgroup out of memory|Out of memory)(?: \([a-z_]+\))?: )?"
    r"Kill(?P<done>ed)? process (?P<pid>\d+) \((?P<name>.*)\)(?P<rest>.*)$"
)
_ANONYMOUS = re.compile(r"\banon-rss:(\d+)kB")
_WHOLE_GROUP = re.compile(r"^Tasks in .* are going to be killed due to memory\.oom\.group set$")

_LIMITS = {
    "CONSTRAINT_NONE": Limit.HOST,
    "CONSTRAINT_MEMCG": Limit.GROUP,
    "CONSTRAINT_CPUSET": Limit.NUMA_NODES,
    "CONSTRAINT_MEMORY_POLICY": Limit.NUMA_NODES,
}


@dataclass(slots=True)
class _Report:
    """The facts in the lines before the kill."""

    limit: Limit = Limit.UNKNOWN
    group: str = ""
    process_group: str = ""
    nodes: str = ""
    used_bytes: int | None = None
    limit_bytes: int | None = None
    reached: bool = False  # the limit is
    complete: bool = False  # its process has been killed
    whole_group: bool = False  # all processes of the group are killed


class OomMessages:
    """Takes the messages of the kernel's log one by one, and returns the kills."""

    def __init__(self) -> None:
        self._report = _Report()

    def take(self, message: str) -> MemoryKill | None:
        """Return the kill that a message reports, with what the messages before it showed."""
        if " invoked oom-killer: " in message:
            self._report = _Report()
        elif message.startswith("oom-kill:"):
            self._take_summary(message)
        elif message.startswith("memory"):
            self._take_usage(message)
        elif message.startswith("Task"):
            self._take_group(message)
        elif "Kill" in message and (found := _KILL.match(message)):
            return self._take_kill(found)
        return None

    def _take_summary(self, message: str) -> None:
        found = _SUMMARY.match(message)
        if found is None:
            return
        report = self._report
        report.limit = _LIMITS.get(found["constraint"], Limit.UNKNOWN)
        report.group, report.process_group = found["group"] or "", found["of"]
        report.nodes = found["nodes"] if report.limit is Limit.NUMA_NODES else ""

    def _take_usage(self, message: str) -> None:
        """Keep use and limit of the group. With version 1 the limit may be that of memory and swap together."""
        found, report = _USAGE.match(message), self._report
        if found is None:
            return
        used, limit = int(found["used"]) * KIB, int(found["limit"]) * KIB
        reached = used >= REACHED * limit
        if limit < UNLIMITED and (found["what"] == "memory" or (reached and not report.reached)):
            report.used_bytes, report.limit_bytes, report.reached = used, limit, reached

    def _take_group(self, message: str) -> None:
        if found := _TASK_IN.match(message):
            self._report.limit = Limit.GROUP
            self._report.group, self._report.process_group = found["group"], found["of"]
        elif _WHOLE_GROUP.match(message):
            self._report.whole_group = True

    def _take_kill(self, found: re.Match[str]) -> MemoryKill | None:
        if self._report.complete and not self._report.whole_group:
            self._report = _Report()  # of another kill, whose report the kernel has left out
        report = self._report
        if report.limit is Limit.UNKNOWN and found["whose"]:
            report.limit = Limit.GROUP if found["whose"].startswith("Memory cgroup") else Limit.HOST
        if not found["done"]:  # until 4.19 the line `Killed process` follows
            return None
        report.complete = True
        anonymous = _ANONYMOUS.search(found["rest"])
        of_group = report.limit is Limit.GROUP
        return MemoryKill(
            report.limit,
            group=report.group if of_group else "",
            limit_bytes=report.limit_bytes if of_group else None,
            used_bytes=report.used_bytes if of_group else None,
            pid=int(found["pid"]),
            process=found["name"],
            process_group=report.process_group,
            process_bytes=int(anonymous[1]) * KIB if anonymous else None,
            nodes=report.nodes,
        )
