"""Incident capsules: everything around an event in one file."""

from typing import Annotated

from litestar import Request, Response, get
from litestar.datastructures import State
from litestar.di import NamedDependency
from litestar.params import PathParameter, QueryParameter

from flyball_collector.blocks.block import RowGroup
from flyball_collector.captures.capsule_files import capsule_files
from flyball_collector.http.call_limiter import CallLimiter
from flyball_collector.http.collector_parts import CollectorParts, PartsDependency
from flyball_collector.http.encoding import OWN_ENCODING
from flyball_collector.http.errors import ApiError, near
from flyball_collector.http.guard import is_operator
from flyball_collector.http.version import own_version
from flyball_collector.replay.capsule import SUFFIX
from flyball_collector.replay.capsule_export import MAX_SECONDS, CapsuleSpan, CapsuleWriter, export_capsule, find_entry
from flyball_collector.replay.errors import ReplayError
from flyball_collector.timeline.entry import Entry
from flyball_proto.layout import Layout

_Seconds = Annotated[float, QueryParameter(ge=0, le=MAX_SECONDS, description="Seconds.")]


@get("/capsules/{name:str}", summary="An incident in one file", opt={OWN_ENCODING: True})
async def capsule(
    request: Request[object, object, State],
    parts: PartsDependency,
    limiter: NamedDependency[CallLimiter],
    name: Annotated[str, PathParameter(max_length=128, description="Id of an event or a condition.")],
    before: _Seconds = 900.0,
    after: _Seconds = 300.0,
) -> Response[bytes]:
    """Return readings, steps, events, captures, settings and versions around an event, as a ZIP archive.

    It has the event's host, or all hosts of its run, from `before` seconds before the event was raised until `after`
    seconds after its last entry. Captures are included for operators.
    """
    memory = parts.timeline.recent()
    entry = await limiter.call(find_entry, parts.store, name, memory)
    if entry is None:
        hint = near(name, [each.condition for each in memory if each.condition], "GET /api/v1/events")
        raise ApiError(404, "unknown_event", f"no event with the id {name[:100]!r}", hint)
    span = CapsuleSpan(before, after)
    hosts = hosts_of(parts, entry)
    recent = {host: parts.recent.recent_rows(host, *span.around(entry)) for host in hosts}

    def recent_rows(host: str, _start_ns: int, _end_ns: int) -> list[tuple[Layout, RowGroup]]:
        return list(recent[host])

    agents = {host.name: host.agent_version for host in parts.fleet.hosts()}
    shows_captures = bool(entry.condition) and is_operator(request)
    found = parts.captures.captures.find(condition=entry.condition) if shows_captures else []
    writer = CapsuleWriter(own_version(), parts.settings.diagnosis, agents)
    captures = capsule_files(parts.captures.archive, found)
    try:
        body = await limiter.call(
            export_capsule, parts.store, recent_rows, entry, hosts, span, writer, parts.clock(), memory, captures
        )
    except ReplayError as error:
        raise ApiError(409, "no_capsule", str(error), "choose another event or another time range") from None
    headers = {"content-disposition": f'attachment; filename="{entry.condition or entry.id}{SUFFIX}"'}
    return Response(body, media_type="application/zip", headers=headers)


def hosts_of(parts: CollectorParts, entry: Entry) -> list[str]:
    """Return the hosts that an event affects: its own, and those of its run."""
    of_run = parts.diagnosis.conditions.hosts_of_run(entry.run) if entry.run else ()
    return sorted({*of_run, *([entry.host] if entry.host else [])})
