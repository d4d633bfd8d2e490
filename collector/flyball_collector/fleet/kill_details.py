"""Whose memory ran out when the kernel killed a process, as the host's agent reports it."""

from dataclasses import dataclass
from enum import IntEnum

from flyball_proto.v1 import telemetry_pb2 as pb

_LONGEST = 200


class KillLimit(IntEnum):
    """The memory that ran out. The numbers are those of `OomKill.Limit`."""

    UNKNOWN = 0
    HOST = 1
    GROUP = 2
    NUMA_NODES = 3


@dataclass(frozen=True, slots=True)
class KillDetails:
    """One kill. Texts come from the host; empty texts and `None` are unknown."""

    limit: KillLimit = KillLimit.UNKNOWN
    source: int = pb.OomKill.UNSPECIFIED
    group: str = ""
    limit_bytes: int | None = None
    used_bytes: int | None = None
    pid: int | None = None
    process: str = ""
    process_group: str = ""
    run: str = ""
    rank: int | None = None
    owner: str = ""
    kills: int = 1


NO_DETAILS = KillDetails()
_LIMITS: dict[int, KillLimit] = {limit.value: limit for limit in KillLimit}


def kill_details(event: pb.HostEvent) -> KillDetails | None:
    """Return the details of an event; None for other events and for agents that do not send any."""
    if not event.HasField("oom_kill"):
        return None
    kill = event.oom_kill
    names = {name: getattr(kill, name)[:_LONGEST] for name in ("group", "process", "process_group", "run", "owner")}
    return KillDetails(
        limit=_LIMITS.get(kill.limit, KillLimit.UNKNOWN),  # a newer agent may know more limits
        source=kill.source,
        limit_bytes=kill.limit_bytes if kill.HasField("limit_bytes") else None,
        used_bytes=kill.used_bytes if kill.HasField("used_bytes") else None,
        pid=kill.pid or None,
        rank=kill.rank if kill.HasField("rank") else None,
        kills=max(1, kill.kills),
        **names,
    )
