"""Reports which process the kernel killed, and whether its control group's memory limit or the host's memory ran out.

The kernel's log names both. Without permission to read it, the counters of the trainings' groups show the limit.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from flyball_agent.host_events import HostEventQueue
from flyball_agent.memory_kills.group_counters import GroupHierarchy
from flyball_agent.memory_kills.kernel_log import KernelLog
from flyball_agent.memory_kills.kill import Limit, MemoryKill
from flyball_agent.memory_kills.known_members import KnownMember, KnownMembers, owner_of
from flyball_agent.memory_kills.oom_messages import OomMessages
from flyball_agent.memory_kills.watched_groups import WatchedGroups
from flyball_agent.probes.host_root import below
from flyball_agent.probes.probe import ProbeSample, Unavailable
from flyball_agent.settings import AgentSettings
from flyball_proto.metric import Metric
from flyball_proto.unavailable_reading import UnavailableReading
from flyball_proto.v1 import telemetry_pb2 as pb

MOST_KILLS = 16
"""Kills reported for one reading. A group that is killed as a whole may have hundreds of processes."""

LOG_AGAIN = 60
"""Number of readings after which an unreadable log is tried again."""

_LONGEST = 200


class MemoryKillProbe:
    """A probe without metrics: kills are events."""

    name = "memory_kills"
    metrics: Sequence[Metric] = ()
    every_seconds = 0.0
    blocking = False

    def __init__(
        self,
        events: HostEventQueue,
        tenancy: Callable[[], bytes],
        proc_root: Path,
        sys_root: Path,
        log: KernelLog | None = None,
    ) -> None:
        """Read the kernel's log and the groups of the processes in `tenancy`, an encoded `Tenancy`."""
        hierarchy = GroupHierarchy(sys_root)
        self._events = events
        self._tenancy = tenancy
        self._log = log or KernelLog()
        self._messages = OomMessages()
        self._members = KnownMembers(proc_root, hierarchy.controller)
        self._groups = WatchedGroups(hierarchy) if hierarchy.present else None
        self._wait = 0
        self._unavailable: tuple[UnavailableReading, ...] = ()

    def read(self) -> ProbeSample:
        self._members.update(self._tenancy())
        logged = self._logged()
        counted = self._counted(look=bool(self._unavailable or logged))
        kills = counted if self._unavailable else [completed(kill, counted) for kill in logged]
        for kill in kills[:MOST_KILLS]:
            self._events.add(self._event(kill))
        return ProbeSample((), (), self._unavailable)

    def _counted(self, *, look: bool) -> list[MemoryKill]:
        """Return the kills that the counters show. They are looked at only where the log does not suffice."""
        return self._groups.update(self._members.groups(), look=look) if self._groups is not None else []

    def _logged(self) -> list[MemoryKill]:
        if self._wait:
            self._wait -= 1
            return []
        try:
            messages = self._log.messages()
        except Unavailable as error:
            self._wait = LOG_AGAIN - 1
            self._unavailable = (
                UnavailableReading(self.name, "kernel_log", "", error.reason, error.detail, error.remedy),
            )
            return []
        self._unavailable = ()
        return [kill for kill in map(self._messages.take, messages) if kill is not None]

    def _event(self, kill: MemoryKill) -> pb.HostEvent:
        known = self._members.find(kill.pid) if kill.pid else self._members.killed_in(kill.process_group)
        near = known or self._members.of_group(kill.process_group or kill.group)
        if known is not None and not kill.pid:
            command = known.member.command.partition(" ")[0]
            kill = replace(kill, pid=known.member.pid, process=command.rpartition("/")[2])
        found = message_of(kill, known, near)
        return pb.HostEvent(kind="oom_kill", resource=found.process, code=kill.pid, text=text_of(found), oom_kill=found)


def completed(kill: MemoryKill, counted: Sequence[MemoryKill]) -> MemoryKill:
    """Return a kill of the log with the group that the counters show, if the log was cut down to one line."""
    if kill.limit is not Limit.GROUP or kill.group:
        return kill
    groups = [each for each in counted if each.limit is Limit.GROUP and each.group]
    if len(groups) != 1:
        return kill
    of = groups[0]
    return replace(
        kill,
        group=of.group,
        limit_bytes=of.limit_bytes,
        used_bytes=of.used_bytes,
        process_group=kill.process_group or of.process_group,
    )


def message_of(kill: MemoryKill, known: KnownMember | None, near: KnownMember | None) -> pb.OomKill:
    """Return the message for a kill of a process, near a process of the same run."""
    nodes = f"NUMA nodes {kill.nodes}" if kill.nodes else ""
    found = pb.OomKill(
        limit=pb.OomKill.Limit.ValueType(kill.limit),
        source=pb.OomKill.Source.ValueType(kill.source),
        group=kill.group[:_LONGEST],
        limit_bytes=kill.limit_bytes,
        used_bytes=kill.used_bytes,
        pid=kill.pid,
        process=kill.process[:_LONGEST],
        process_group=kill.process_group[:_LONGEST],
        process_bytes=kill.process_bytes,
        run=near.member.run if near is not None else "",
        owner=owner_of(kill.group, near)[:_LONGEST] if kill.group else nodes,
        kills=kill.kills,
    )
    if known is not None and known.member.run:
        found.rank = known.member.rank
    return found


def text_of(kill: pb.OomKill) -> str:
    """Return the event in one line, for collectors that do not know its parts."""
    process = f"{kill.process or 'a process'}{f' (pid {kill.pid})' if kill.pid else ''}"
    run = f" of run {kill.run}" if kill.run and kill.HasField("rank") else ""
    return f"the kernel killed {process}{run}: {_whose(kill)}"


def _whose(kill: pb.OomKill) -> str:
    if kill.limit == pb.OomKill.GROUP:
        return (
            f"the memory limit of {f'its control group {kill.group}' if kill.group else 'a control group'} was reached"
        )
    if kill.limit == pb.OomKill.NUMA_NODES:
        return f"the memory of {kill.owner or 'its NUMA nodes'} ran out"
    return "the memory of the host ran out" if kill.limit == pb.OomKill.HOST else "memory ran out"


def has_kills(settings: AgentSettings) -> bool:
    """Return True if kills are reported: on Linux, unless the settings disable the probe."""
    return MemoryKillProbe.name not in settings.probes.disabled and (Path(settings.proc_root) / "vmstat").exists()


def kill_probe(settings: AgentSettings, events: HostEventQueue, tenancy: Callable[[], bytes]) -> MemoryKillProbe:
    """Build the probe of this host."""
    log = KernelLog(below(Path(settings.root), "dev/kmsg"))
    return MemoryKillProbe(events, tenancy, Path(settings.proc_root), Path(settings.sys_root), log)
