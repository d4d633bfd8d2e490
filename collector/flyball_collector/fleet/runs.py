"""The runs whose processes agents report, with or without steps: their hosts, their start, and if they have ended."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import count
from typing import NamedTuple

from flyball_collector.fleet.common_labels import CLIENT, JOB, CommonLabels
from flyball_collector.fleet.host import HostState
from flyball_proto.v1 import telemetry_pb2 as pb

_TORCHRUN = "torchrun"
END_AFTER_SECONDS = 30.0
NOT_REPORTING_AFTER_SECONDS = 10.0
FORGET_AFTER_SECONDS = 86_400.0
"""A run that has ended is listed for this long."""

MAX_RUNS = 65_536
MAX_ENDED = 1024
FORGET_EVERY_SECONDS = 60.0

_SECOND = 10**9
Members = Sequence[pb.Member]


class RunPhase(StrEnum):
    """The state of a run's processes."""

    RUNNING = "running"
    NOT_REPORTING = "not_reporting"  # no host with its processes reports
    ENDED = "ended"


class FleetRun(NamedTuple):
    """A run and its processes. An ended run keeps what was seen of it. `None` is unknown."""

    run: str
    phase: RunPhase
    source: str
    users: tuple[str, ...]
    hosts: tuple[str, ...]
    gpus: int
    processes: int  # now
    ranks: int | None
    world_size: int | None
    started_ns: int
    last_seen_ns: int
    labels: Mapping[str, str]


@dataclass(slots=True)
class _Seen:
    """Everything seen of a run's processes since it began."""

    started_ns: int
    newest_started_ns: int = 0  # of a process
    source: str = ""
    users: dict[str, None] = field(default_factory=dict)
    hosts: set[str] = field(default_factory=set)
    gpus: set[tuple[str, str]] = field(default_factory=set)
    ranks: set[int] = field(default_factory=set)
    world_size: int = 0
    labels: CommonLabels = field(default_factory=CommonLabels)

    def add(self, host: str, members: Members) -> None:
        self.hosts.add(host)
        for member in members:
            if not self.source or member.source == CLIENT:
                self.source = member.source
            if member.user:
                self.users[member.user] = None
            if member.started_ns > 0:
                self.started_ns = min(self.started_ns, member.started_ns)
                self.newest_started_ns = max(self.newest_started_ns, member.started_ns)
            if member.world_size:
                self.ranks.add(member.rank)
                self.world_size = max(self.world_size, member.world_size)
            self.gpus.update((host, gpu) for gpu in member.gpus)
        self.labels.add(members)


@dataclass(slots=True)
class _Processes:
    """The processes under one name, as the agents report it."""

    seen: _Seen
    of_host: dict[str, Members] = field(default_factory=dict)
    left_ns: int = 0  # when the last process left
    last_seen_ns: int = 0
    revision: int = 0


class FleetRuns:
    """Follows the processes of all hosts. A client that reports for a run takes over the run of its job."""

    def __init__(self, end_after_seconds: float = END_AFTER_SECONDS) -> None:
        self._end_after_ns = int(end_after_seconds * _SECOND)
        self._tenancies: dict[str, tuple[pb.Tenancy, frozenset[str]]] = {}  # by host, with the names of its runs
        self._processes: dict[str, _Processes] = {}
        self._takers: dict[str, dict[str, None]] = {}  # run of a job → runs of clients in this job
        self._revisions = count(1)
        self._shapes: dict[str, tuple[tuple[int, ...], FleetRun]] = {}  # what changes only with the processes
        self._forgotten_ns = 0

    def advance(self, now_ns: int, states: Mapping[str, HostState]) -> None:
        """Follow the changes since the last call. It compares one reference for each host that has not changed."""
        for name, state in states.items():
            known = self._tenancies.get(name)
            if (known[0] if known is not None else None) is not state.tenancy:
                self._replace(name, state.tenancy, state.received_ns or now_ns, now_ns)
        for name in self._tenancies.keys() - states.keys():
            self._replace(name, None, now_ns, now_ns)
        if not 0 <= now_ns - self._forgotten_ns < FORGET_EVERY_SECONDS * _SECOND:
            self._forgotten_ns = now_ns
            self._forget(now_ns)

    def all(
        self,
        now_ns: int,
        states: Mapping[str, HostState],
        not_reporting_after_seconds: float = NOT_REPORTING_AFTER_SECONDS,
    ) -> dict[str, FleetRun]:
        """Return all runs by name."""
        parts: dict[str, list[_Processes]] = {}
        for name, processes in self._processes.items():
            parts.setdefault(self.name_of(name), []).append(processes)
        reported_ns = now_ns - int(not_reporting_after_seconds * _SECOND)
        before, self._shapes = self._shapes, {}
        runs = {}
        for name, of_run in parts.items():
            revisions = tuple(part.revision for part in of_run)
            known = before.get(name)
            shape = known[1] if known is not None and known[0] == revisions else self._shape(name, of_run)
            self._shapes[name] = revisions, shape
            runs[name] = self._current(shape, of_run, now_ns, states, reported_ns)
        return runs

    def of_host(self, host: str) -> list[str]:
        """Return the runs that have processes on a host."""
        _, names = self._tenancies.get(host, (None, ()))
        return sorted({self.name_of(name) for name in names})

    def name_of(self, name: str) -> str:
        """Return the run to which processes of this name belong: that of the only client in their job, or their own."""
        known = self._takers.get(name)
        if known is None:
            return name
        takers = [taker for taker in known if taker in self._processes]
        if len(takers) > 1:
            takers = [taker for taker in takers if self._processes[taker].of_host] or takers[-1:]
        return takers[0] if len(takers) == 1 else name

    def _replace(self, host: str, tenancy: pb.Tenancy | None, seen_ns: int, now_ns: int) -> None:
        """Replace the processes of a host."""
        by_run: dict[str, list[pb.Member]] = {}
        for member in tenancy.members if tenancy is not None else ():
            if member.run:
                by_run.setdefault(member.run, []).append(member)
        _, before = self._tenancies.pop(host, (None, frozenset[str]()))
        for name in before - by_run.keys():
            self._leave(name, host, seen_ns, now_ns)
        for name, members in by_run.items():
            self._join(name, host, members, seen_ns, now_ns)
        if tenancy is not None:
            self._tenancies[host] = tenancy, frozenset(by_run)

    def _join(self, name: str, host: str, members: Members, seen_ns: int, now_ns: int) -> None:
        processes = self._processes.get(name)
        if processes is None and len(self._processes) >= MAX_RUNS:
            return
        if processes is None or self._ended(processes, now_ns) or _begins_again(processes, members):
            processes = self._processes[name] = _Processes(_Seen(now_ns))
        processes.revision = next(self._revisions)
        processes.of_host[host] = members
        processes.left_ns, processes.last_seen_ns = 0, max(seen_ns, processes.last_seen_ns)
        processes.seen.add(host, members)
        for member in members:
            job = member.labels.get(JOB, "") if member.source == CLIENT else ""
            if job and job != name:
                self._takers.setdefault(job, {})[name] = None

    def _leave(self, name: str, host: str, seen_ns: int, now_ns: int) -> None:
        processes = self._processes.get(name)
        if processes is None:
            return
        processes.revision = next(self._revisions)
        processes.of_host.pop(host, None)
        processes.last_seen_ns = max(seen_ns, processes.last_seen_ns)
        if not processes.of_host:
            processes.left_ns = now_ns

    def _ended(self, processes: _Processes, now_ns: int) -> bool:
        return not processes.of_host and now_ns - processes.left_ns >= self._end_after_ns

    def _forget(self, now_ns: int) -> None:
        """Forget runs that ended long ago, the oldest first."""
        ended = sorted((each.left_ns, name) for name, each in self._processes.items() if self._ended(each, now_ns))
        limit = now_ns - FORGET_AFTER_SECONDS * _SECOND
        for place, (left_ns, name) in enumerate(ended):
            if left_ns < limit or place < len(ended) - MAX_ENDED:
                del self._processes[name]
        for job, takers in list(self._takers.items()):
            self._takers[job] = {taker: None for taker in takers if taker in self._processes}
            if not self._takers[job]:
                del self._takers[job]

    def _shape(self, name: str, parts: Sequence[_Processes]) -> FleetRun:
        """Return a run as its processes describe it. Its phase and when it was last seen are not known yet."""
        seen = self._processes[name].seen if name in self._processes else parts[0].seen
        members = [(host, member) for part in parts for host, of in part.of_host.items() for member in of]
        labels = dict(seen.labels.labels or {})
        if members:
            current = CommonLabels()
            current.add([member for _, member in members])
            labels = dict(current.labels or {})
            hosts = {host for host, _ in members}
            gpus = {(host, gpu) for host, member in members for gpu in member.gpus}
            ranks = {member.rank for _, member in members if member.world_size}
            world_size = max(member.world_size for _, member in members)  # a new attempt may have fewer ranks
        else:
            hosts = {host for part in parts for host in part.seen.hosts}
            gpus = {gpu for part in parts for gpu in part.seen.gpus}
            ranks = {rank for part in parts for rank in part.seen.ranks}
            world_size = max(part.seen.world_size for part in parts)
        return FleetRun(
            name,
            RunPhase.RUNNING,
            seen.source,
            tuple(dict.fromkeys(user for part in parts for user in part.seen.users)),
            tuple(sorted(hosts)),
            len(gpus),
            len(members),
            len(ranks) or None,
            world_size or None,
            min(part.seen.started_ns for part in parts),
            0,
            labels,
        )

    def _current(
        self,
        shape: FleetRun,
        parts: Sequence[_Processes],
        now_ns: int,
        states: Mapping[str, HostState],
        reported_ns: int,
    ) -> FleetRun:
        last_seen_ns = max(part.last_seen_ns for part in parts)
        phase = RunPhase.ENDED if all(self._ended(part, now_ns) for part in parts) else RunPhase.RUNNING
        if shape.processes:
            received_ns = max((states[host].received_ns for host in shape.hosts if host in states), default=0)
            last_seen_ns = max(last_seen_ns, received_ns)
            if received_ns < reported_ns:
                phase = RunPhase.NOT_REPORTING
        return shape._replace(phase=phase, last_seen_ns=last_seen_ns)


def _begins_again(processes: _Processes, members: Members) -> bool:
    """Return True if torchrun has started another job at the address of one whose processes have all left.

    A restart by torchrun itself counts its restarts. A scheduler never gives the id of a job to another one.
    """
    if processes.of_host or processes.seen.source != _TORCHRUN:
        return False
    first = all(member.labels.get("torchrun_restarts", "0") == "0" for member in members)
    return first and min(member.started_ns for member in members) > processes.seen.newest_started_ns


def live_runs(runs: Mapping[str, FleetRun]) -> Iterator[FleetRun]:
    """Yield the runs that have not ended."""
    return (run for run in runs.values() if run.phase is not RunPhase.ENDED)
