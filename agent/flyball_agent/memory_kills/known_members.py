"""Knows the processes of the trainings for a while after they are gone, with their control groups."""

from dataclasses import dataclass, field
from pathlib import Path

from flyball_agent.memory_kills.group_counters import chain_of
from flyball_agent.probes.cgroup import parse_membership
from flyball_agent.probes.files import read_text
from flyball_agent.runs.cgroup import parse_cgroup
from flyball_proto.v1 import telemetry_pb2 as pb

KEPT_TICKS = 10
"""A process is known for this many readings after it has left: its kill is read after its end."""

MOST_MEMBERS = 1024


@dataclass(slots=True)
class KnownMember:
    """A process of a training and the path of its group; empty: it could not be read."""

    member: pb.Member
    group: str
    seen: int


@dataclass(slots=True)
class KnownMembers:
    """The processes that `Tenancy` listed recently."""

    proc_root: Path
    controller: str  # of version 1; empty for the unified hierarchy
    _members: dict[int, KnownMember] = field(default_factory=dict)
    _body: bytes | None = None
    _now: tuple[pb.Member, ...] = ()
    _reading: int = 0

    def update(self, body: bytes) -> None:
        """Take the encoded list of processes of the newest reading."""
        self._reading += 1
        if body is not self._body:
            self._body = body
            self._now = tuple(member for member in pb.Tenancy.FromString(body).members if member.pid)[:MOST_MEMBERS]
        for member in self._now:
            known = self._members.get(member.pid)
            if known is None or known.member.started_ns != member.started_ns:
                self._members[member.pid] = KnownMember(member, self._group_of(member.pid), self._reading)
            else:
                known.member, known.seen = member, self._reading
        if len(self._members) > len(self._now):
            oldest = self._reading - KEPT_TICKS
            self._members = {pid: known for pid, known in self._members.items() if known.seen >= oldest}

    def groups(self) -> tuple[str, ...]:
        """Return the groups of the processes that run now."""
        return tuple(dict.fromkeys(k.group for k in self._members.values() if k.group and k.seen == self._reading))

    def find(self, pid: int) -> KnownMember | None:
        """Return a process by its id."""
        return self._members.get(pid)

    def killed_in(self, group: str) -> KnownMember | None:
        """Return the process of a group that is no longer there; None unless it is just one."""
        found = [known for known in self._members.values() if known.group and known.group == group]
        gone = [known for known in found if not (self.proc_root / str(known.member.pid)).exists()]
        return gone[0] if len(gone) == 1 else None

    def of_group(self, group: str) -> KnownMember | None:
        """Return a process whose group is this one, or has it inside; None unless all of them are of one run."""
        around = [known for known in self._members.values() if known.group and known.group in chain_of(group)]
        return around[0] if len({known.member.run for known in around}) == 1 else None

    def _group_of(self, pid: int) -> str:
        text = read_text(self.proc_root / str(pid) / "cgroup") or ""
        return parse_membership(text).get(self.controller, "")


def owner_of(group: str, near: KnownMember | None) -> str:
    """Return the owner of a group in words: its container and pod, Slurm job, service or container."""
    facts = parse_cgroup(f"0::{group}".encode())
    labels = dict(near.member.labels) if near is not None else {}
    if facts.pod_uid:
        pod = labels.get("pod") if labels.get("pod_uid") == facts.pod_uid else ""
        name = f"{labels['namespace']}/{pod}" if pod and labels.get("namespace") else pod or facts.pod_uid
        container = labels.get("container_name") or facts.container[:12] if facts.container else ""
        return f"container {container} of pod {name}" if container else f"pod {name}"
    if facts.slurm_job:
        step = f", step {facts.slurm_step}" if facts.slurm_step else ""
        return f"Slurm job {facts.slurm_job}{step}"
    if facts.container:
        return f"container {facts.container[:12]}"
    return facts.unit or _slice_of(group)


def _slice_of(group: str) -> str:
    """Return what a general slice holds."""
    last = group.rstrip("/").rpartition("/")[2]
    if last in {"kubepods.slice", "kubepods"}:
        return "all pods of the node"
    return f"the sessions of user {last[5:-6]}" if last.startswith("user-") and last.endswith(".slice") else ""
