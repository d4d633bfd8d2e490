"""Hosts: the list, one host, its newest readings, and its removal."""

import math
from collections.abc import Callable
from typing import Annotated, Literal

import msgspec
from litestar import delete, get
from litestar.di import NamedDependency
from litestar.params import PathParameter, QueryParameter

from flyball_collector.fleet.host import HostState
from flyball_collector.http.call_limiter import CallLimiter
from flyball_collector.http.collector_parts import CollectorParts, PartsDependency
from flyball_collector.http.errors import ApiError, bad_value, unknown_host
from flyball_collector.http.host_answers import (
    HostAnswer,
    HostSummary,
    LatestAnswer,
    RunAnswer,
    host_answer,
    latest_answer,
    summary_of,
)
from flyball_collector.http.plain_values import Plain
from flyball_collector.http.status import Status, status_of
from flyball_collector.security.tokens import Role

Sort = Literal["name", "status", "age", "skew", "backlog", "unavailable"]
HostName = Annotated[str, PathParameter(description="Name of a host.")]

_SORTS: dict[Sort, Callable[[HostState, Status], tuple[object, ...]]] = {
    "name": lambda host, status: (host.name,),  # noqa: ARG005  like the others
    "status": lambda host, status: (status.word, host.name),
    "age": lambda host, status: (-host.received_ns or math.inf, host.name),  # noqa: ARG005
    "skew": lambda host, status: (abs(host.clock_skew_seconds or 0.0), host.name),  # noqa: ARG005
    "backlog": lambda host, status: (host.backlog_bytes, host.name),  # noqa: ARG005
    "unavailable": lambda host, status: (len(host.unavailable), host.name),  # noqa: ARG005
}


class HostList(msgspec.Struct, frozen=True):
    """A page of hosts. `total` counts all matching ones."""

    total: int
    offset: int
    limit: int
    hosts: list[HostSummary]


class LiveColumn(msgspec.Struct, frozen=True):
    """A column of the live answer."""

    metric: str
    labels: dict[str, str]


class LiveAnswer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The answer to the page's request of every second. Columns and inventory are omitted if `seen` is current."""

    host: HostSummary
    time: float | None
    seen: str
    columns: list[LiveColumn] | msgspec.UnsetType = msgspec.UNSET
    inventory: Plain | msgspec.UnsetType | None = msgspec.UNSET
    values: list[float | None]
    unavailable: list[object]
    processes: list[object]
    runs: list[RunAnswer]
    events: list[object]


class Removed(msgspec.Struct, frozen=True):
    """The result of a removal."""

    host: str
    blocks: int


@get("/hosts", summary="Hosts of the fleet")
async def list_hosts(
    parts: PartsDependency,
    name: Annotated[str, QueryParameter(description="Only hosts whose name contains this text.")] = "",
    status: Annotated[
        Literal["up", "not_reporting", "ended", "waiting"] | None,
        QueryParameter(description="Only hosts with this status."),
    ] = None,
    sort: Annotated[Sort, QueryParameter(description="Sort key.")] = "name",
    descending: Annotated[bool, QueryParameter(description="Descending order.")] = False,
    offset: Annotated[int, QueryParameter(ge=0, description="Number of hosts to skip.")] = 0,
    limit: Annotated[int, QueryParameter(ge=1, le=1000, description="Maximum number of hosts.")] = 100,
) -> HostList:
    """List all known hosts with their state."""
    now_ns = parts.clock()
    found = [(host, _status(parts, host, now_ns)) for host in parts.fleet.hosts() if name in host.name]
    wanted = [each for each in found if status is None or each[1].word == status]
    wanted.sort(key=lambda each: _SORTS[sort](*each), reverse=descending)
    shown = [summary_of(*each, now_ns) for each in wanted[offset : offset + limit]]
    return HostList(len(wanted), offset, limit, shown)


@get("/hosts/{name:str}", summary="One host")
async def show_host(parts: PartsDependency, name: HostName) -> HostAnswer:
    """Return a host's state, inventory, unavailable readings, users and recent events."""
    now_ns = parts.clock()
    host = find_host(parts, name)
    return _host_answer(parts, host, now_ns)


@get("/hosts/{name:str}/latest", summary="Newest readings of a host")
async def latest(
    parts: PartsDependency,
    name: HostName,
    metric: Annotated[list[str] | None, QueryParameter(description="Only these metrics. May be repeated.")] = None,
) -> LatestAnswer:
    """Return every column of the newest record, with the reason of unknown values."""
    host = find_host(parts, name)
    readings = [each for each in parts.fleet.readings(host) if metric is None or each[0].metric.name in metric]
    return latest_answer(host, readings, _status(parts, host, parts.clock()))


@get("/hosts/{name:str}/live", summary="Newest readings of a host, compact")
async def live(
    parts: PartsDependency,
    name: HostName,
    seen: Annotated[
        str, QueryParameter(description="`seen` of an earlier answer, whose columns and inventory are then omitted.")
    ] = "",
) -> LiveAnswer:
    """Return the values that the page shows. `values` are in the order of `columns`."""
    host = find_host(parts, name)
    answer = _host_answer(parts, host, parts.clock())
    mark = _mark(host)
    columns = host.layout.layout.columns if host.layout else ()
    fresh = seen != mark
    return LiveAnswer(
        host=answer.host,
        time=host.corrected_ns / 1e9 if host.corrected_ns else None,
        seen=mark,
        columns=[LiveColumn(c.metric.name, dict(c.label_pairs())) for c in columns] if fresh else msgspec.UNSET,
        inventory=answer.inventory if fresh else msgspec.UNSET,
        values=parts.fleet.values(host).tolist(),  # msgspec writes NaN as null
        unavailable=list(answer.unavailable),
        processes=list(answer.processes),
        runs=answer.runs,
        events=list(answer.events),
    )


@delete("/hosts/{name:str}", summary="Forget a host", status_code=200, opt={"role": Role.OPERATOR})
async def remove_host(parts: PartsDependency, limiter: NamedDependency[CallLimiter], name: HostName) -> Removed:
    """Remove a host that is gone: its state, its blocks and its minute series."""
    host = parts.fleet.get(name)
    if host is not None and host.connected:
        what = f"{name} is connected and would return at once"
        raise ApiError(409, "host_connected", what, "stop its agent first: systemctl stop flyball-agent")
    parts.forget_host(name)
    known = parts.fleet.remove(name)
    parts.timeline.forget_recent(name)
    await limiter.call(parts.timeline.remove_host, name)
    blocks = await limiter.call(parts.store.remove_host, name)
    if not known and not blocks:
        raise unknown_host(name, [each.name for each in parts.fleet.hosts()])
    return Removed(name, blocks)


def find_host(parts: CollectorParts, name: str) -> HostState:
    """Return the host of this name. Raises an error with similar names."""
    if len(name) > 255:
        raise bad_value("name", "longer than 255 characters")
    host = parts.fleet.get(name)
    if host is None:
        raise unknown_host(name, [each.name for each in parts.fleet.hosts()])
    return host


def _status(parts: CollectorParts, host: HostState, now_ns: int) -> Status:
    return status_of(host, now_ns, int(parts.settings.not_reporting_after_seconds * 1e9))


def _host_answer(parts: CollectorParts, host: HostState, now_ns: int) -> HostAnswer:
    view = parts.fleet.snapshot(now_ns, [host.name]).hosts[0]
    return host_answer(host, view.steps, _status(parts, host, now_ns), now_ns)


def _mark(host: HostState) -> str:
    """Return a value that changes with the layout and the inventory message, which is replaced, never modified."""
    return f"{host.layout.digest if host.layout else 0:016x}-{id(host.inventory) & 0xFFFFFFFF:08x}"
