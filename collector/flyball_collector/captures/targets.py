"""The processes that a capture can name: those of a run, as the agents report them."""

import math
from collections.abc import Iterator
from typing import NamedTuple

from flyball_collector.fleet.common_labels import CLIENT
from flyball_collector.fleet.fleet import Fleet


class CaptureTarget(NamedTuple):
    """A process of a rank."""

    rank: int | None  # `None`: unknown
    host: str
    pid: int
    has_client: bool
    connected: bool  # its host


def targets_of(fleet: Fleet, run: str) -> list[CaptureTarget]:
    """Return the processes of a run, one of each rank. If several have the same rank, it is one with a client.

    It looks at the processes of all hosts (2,048 hosts with 8 each: 18 ms), because a run that has just begun may be
    captured before the next pass over the fleet.
    """
    found = [
        CaptureTarget(
            member.rank if member.world_size else None, host.name, member.pid, member.source == CLIENT, host.connected
        )
        for host in fleet.hosts()
        if host.tenancy is not None
        for member in host.tenancy.members
        if fleet.runs.name_of(member.run) == run
    ]
    found.sort(key=lambda each: (-1 if each.rank is None else each.rank, not each.has_client, each.host, each.pid))
    return list(_one_of_each_rank(found))


def by_last_step(fleet: Fleet, run: str) -> list[CaptureTarget]:
    """Return the processes of a run; those that stopped first are first."""
    ranks = fleet.ranks
    steps = {
        key.rank: float(step) for key, step in zip(ranks.keys, ranks.column("step"), strict=True) if key.run == run
    }
    return sorted(targets_of(fleet, run), key=lambda each: steps.get(-1 if each.rank is None else each.rank, math.inf))


def _one_of_each_rank(targets: list[CaptureTarget]) -> Iterator[CaptureTarget]:
    """Yield the first process of each rank, and every process without a known rank."""
    seen: set[int] = set()
    for target in targets:
        if target.rank is None:
            yield target
        elif target.rank not in seen:
            seen.add(target.rank)
            yield target
