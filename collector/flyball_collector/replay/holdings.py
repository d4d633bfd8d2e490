"""Which workers of a CSV series hold which GPUs, and until when, as far as its lines tell.

A line that has a worker and a GPU's readings says so; a host's only worker holds all of its GPUs. It holds them until
its last step, and from then on for as long as they stay busy: what spins without a step hangs, what idles has ended.
"""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from flyball_proto.v1 import telemetry_pb2 as pb

BUSY = 0.05
"""Utilisation from which on a GPU is at work."""


@dataclass(slots=True)
class _Host:
    """What is noted of one host."""

    workers: dict[str, None] = field(default_factory=dict)  # that made a step
    holders: dict[str, str] = field(default_factory=dict)  # GPU → the worker beside whose name it stands
    until: dict[str, float] = field(default_factory=dict)  # GPU → when it was last at work
    stepped: dict[str, float] = field(default_factory=dict)  # worker → its last step
    paused: set[str] = field(default_factory=set)  # GPUs that were idle since the last step


class Noted:
    """Takes the lines of a series in rising time."""

    def __init__(self) -> None:
        self._hosts: dict[str, _Host] = {}

    def note(self, host: str, seconds: float, worker: str, gpu: str, busy: float | None, *, step: bool) -> None:
        """One line. `gpu` is empty where it reads none."""
        if not (worker or gpu):
            return
        of = self._hosts.setdefault(host, _Host())
        if step:
            of.workers[worker] = None
            of.stepped[worker] = seconds
            of.paused.clear()
        if gpu:
            if worker:
                of.holders.setdefault(gpu, worker)
            if busy is None or busy < BUSY:
                of.paused.add(gpu)
            of.until.setdefault(gpu, seconds)
            if gpu not in of.paused:
                of.until[gpu] = seconds

    def holdings(self, run: str, ranks: Mapping[str, int]) -> "Holdings":
        """For playing them."""
        made = Holdings()
        for host, of in self._hosts.items():
            only = next(iter(of.workers)) if len(of.workers) == 1 else None
            held = [(gpu, of.holders.get(gpu, only)) for gpu in of.until]
            made.add(
                host,
                [
                    (max(of.until[gpu], of.stepped[worker]), pb.Member(run=run, rank=ranks[worker], gpus=[gpu]))
                    for gpu, worker in held
                    if worker in of.stepped
                ],
            )
        return made


@dataclass(slots=True)
class Holdings:
    """Who holds what at each time."""

    tenancies: dict[int, pb.Tenancy] = field(default_factory=dict)  # by digest
    gpus: dict[tuple[str, int], list[str]] = field(default_factory=dict)  # of each (host, rank)
    _ends: dict[str, tuple[Sequence[float], int]] = field(default_factory=dict)  # of hosts: ends, the first's digest

    def add(self, host: str, members: Sequence[tuple[float, pb.Member]]) -> None:
        """A host's members, each with its end."""
        if not members:
            return
        members = sorted(members, key=lambda member: member[0])
        self._ends[host] = ([end for end, _ in members], len(self.tenancies) + 1)
        for first in range(len(members)):
            tenancy = pb.Tenancy(members=[member for _, member in members[first:]])
            self.tenancies[len(self.tenancies) + 1] = tenancy
        for _, member in members:
            self.gpus.setdefault((host, member.rank), []).extend(member.gpus)

    def digest(self, host: str, seconds: float) -> int:
        """Of the tenancy at that time; 0: there is none."""
        ends, first = self._ends.get(host, ((), 0))
        gone = bisect_left(ends, seconds)
        return first + gone if gone < len(ends) else 0
