"""Infers which workers of a CSV series hold which GPUs, and until when.

A line with a worker and a GPU's readings assigns the GPU; a host's only worker holds all of its GPUs. A worker holds
them until its last step, and then for as long as they stay busy: GPUs that spin without a step hang, idle ones ended.
"""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from flyball_proto.v1 import telemetry_pb2 as pb

BUSY = 0.05
"""Utilisation from which a GPU is busy."""


@dataclass(slots=True)
class _HostObservations:
    """The observations of one host."""

    workers: dict[str, None] = field(default_factory=dict)  # that reported a step
    holders: dict[str, str] = field(default_factory=dict)  # GPU → the worker on its lines
    until: dict[str, float] = field(default_factory=dict)  # GPU → when it was last busy
    stepped: dict[str, float] = field(default_factory=dict)  # worker → its last step
    paused: set[str] = field(default_factory=set)  # GPUs that were idle since the last step


class HoldingsObserver:
    """Observes the lines of a series in rising time."""

    def __init__(self) -> None:
        self._hosts: dict[str, _HostObservations] = {}

    def observe(self, host: str, seconds: float, worker: str, gpu: str, busy: float | None, *, step: bool) -> None:
        """Observe one line. `gpu` is empty if it has no GPU readings."""
        if not (worker or gpu):
            return
        seen = self._hosts.setdefault(host, _HostObservations())
        if step:
            seen.workers[worker] = None
            seen.stepped[worker] = seconds
            seen.paused.clear()
        if gpu:
            if worker:
                seen.holders.setdefault(gpu, worker)
            if busy is None or busy < BUSY:
                seen.paused.add(gpu)
            seen.until.setdefault(gpu, seconds)
            if gpu not in seen.paused:
                seen.until[gpu] = seconds

    def holdings(self, run: str, ranks: Mapping[str, int]) -> "Holdings":
        """Return the holdings for the replay."""
        holdings = Holdings()
        for host, seen in self._hosts.items():
            only = next(iter(seen.workers)) if len(seen.workers) == 1 else None
            held = [(gpu, seen.holders.get(gpu, only)) for gpu in seen.until]
            holdings.add(
                host,
                [
                    (max(seen.until[gpu], seen.stepped[worker]), pb.Member(run=run, rank=ranks[worker], gpus=[gpu]))
                    for gpu, worker in held
                    if worker in seen.stepped
                ],
            )
        return holdings


@dataclass(slots=True)
class Holdings:
    """The holders of GPUs at each time."""

    tenancies: dict[int, pb.Tenancy] = field(default_factory=dict)  # by digest
    gpus: dict[tuple[str, int], list[str]] = field(default_factory=dict)  # of each (host, rank)
    _ends: dict[str, tuple[Sequence[float], int]] = field(default_factory=dict)  # by host: ends, first digest

    def add(self, host: str, members: Sequence[tuple[float, pb.Member]]) -> None:
        """Add a host's members, each with its end."""
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
        """Return the digest of the tenancy at that time; 0 means none."""
        ends, first = self._ends.get(host, ((), 0))
        ended = bisect_left(ends, seconds)
        return first + ended if ended < len(ends) else 0
