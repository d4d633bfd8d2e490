"""Hosts: the list, one of them, what it says now, and forgetting it."""

import math
from collections.abc import Callable
from typing import Annotated, Literal

import msgspec
from litestar import delete, get
from litestar.di import NamedDependency
from litestar.params import PathParameter, QueryParameter

from flyball_collector.fleet.host import HostState
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
from flyball_collector.http.parts import Here, Parts
from flyball_collector.http.plain import Plain
from flyball_collector.http.status import Status, status_of
from flyball_collector.http.turnstile import Turnstile
from flyball_collector.security.tokens import Role

Sort = Literal["name", "status", "age", "skew", "backlog", "unavailable"]
HostName = Annotated[str, PathParameter(description="Name of a host, as GET /api/v1/hosts lists it.")]

_SORTS: dict[Sort, Callable[[HostState, Status], tuple[object, ...]]] = {
    "name": lambda host, status: (host.name,),  # noqa: ARG005  as the others
    "status": lambda host, status: (status.word, host.name),
    "age": lambda host, status: (-host.received_ns or math.inf, host.name),  # noqa: ARG005
    "skew": lambda host, status: (abs(host.clock_skew_seconds or 0.0), host.name),  # noqa: ARG005
    "backlog": lambda host, status: (host.backlog_bytes, host.name),  # noqa: ARG005
    "unavailable": lambda host, status: (len(host.unavailable), host.name),  # noqa: ARG005
}


class HostList(msgspec.Struct, frozen=True):
    """A page of hosts; `total` counts all that match."""

    total: int
    offset: int
    limit: int
    hosts: list[HostSummary]


class LiveColumn(msgspec.Struct, frozen=True):
    """A column of the live answer."""

    metric: str
    labels: dict[str, str]


class LiveAnswer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the page asks each second; columns and inventory only for a caller that has not `seen` them."""

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
    """What was forgotten."""

    host: str
    blocks: int


@get("/hosts", summary="Hosts of the fleet")
async def list_hosts(
    parts: Here,
    name: Annotated[str, QueryParameter(description="Only hosts whose name contains this.")] = "",
    status: Annotated[
        Literal["up", "not_reporting", "ended", "waiting"] | None, QueryParameter(description="Only these.")
    ] = None,
    sort: Annotated[Sort, QueryParameter(description="Order of the list.")] = "name",
    descending: Annotated[bool, QueryParameter(description="The other way round.")] = False,
    offset: Annotated[int, QueryParameter(ge=0, description="Hosts to leave out at the beginning.")] = 0,
    limit: Annotated[int, QueryParameter(ge=1, le=1000, description="Most hosts to answer.")] = 100,
) -> HostList:
    """Every host that is known, with its state."""
    now_ns = parts.clock()
    found = [(host, _status(parts, host, now_ns)) for host in parts.fleet.hosts() if name in host.name]
    wanted = [each for each in found if status is None or each[1].word == status]
    wanted.sort(key=lambda each: _SORTS[sort](*each), reverse=descending)
    shown = [summary_of(*each, now_ns) for each in wanted[offset : offset + limit]]
    return HostList(len(wanted), offset, limit, shown)


@get("/hosts/{name:str}", summary="One host")
async def show_host(parts: Here, name: HostName) -> HostAnswer:
    """Its state, its inventory, what is silent and why, who uses it, and what happened lately."""
    now_ns = parts.clock()
    host = find_host(parts, name)
    return _host_answer(parts, host, now_ns)


@get("/hosts/{name:str}/latest", summary="Newest readings of a host")
async def latest(
    parts: Here,
    name: HostName,
    metric: Annotated[list[str] | None, QueryParameter(description="Only these metrics.")] = None,
) -> LatestAnswer:
    """Every column of the newest record; what is unknown says why."""
    host = find_host(parts, name)
    readings = [each for each in parts.fleet.readings(host) if metric is None or each[0].metric.name in metric]
    return latest_answer(host, readings, _status(parts, host, parts.clock()))


@get("/hosts/{name:str}/live", summary="Newest readings of a host, compact")
async def live(
    parts: Here,
    name: HostName,
    seen: Annotated[
        str, QueryParameter(description="`seen` of an earlier answer: leaves out what that one said.")
    ] = "",
) -> LiveAnswer:
    """What the page draws; `values` follow the order of `columns`."""
    host = find_host(parts, name)
    whole = _host_answer(parts, host, parts.clock())
    mark = _mark(host)
    columns = host.layout.layout.columns if host.layout else ()
    fresh = seen != mark
    return LiveAnswer(
        host=whole.host,
        time=host.corrected_ns / 1e9 if host.corrected_ns else None,
        seen=mark,
        columns=[LiveColumn(c.metric.name, dict(c.label_pairs())) for c in columns] if fresh else msgspec.UNSET,
        inventory=whole.inventory if fresh else msgspec.UNSET,
        values=parts.fleet.values(host).tolist(),  # msgspec writes NaN as null
        unavailable=list(whole.unavailable),
        processes=list(whole.processes),
        runs=whole.runs,
        events=list(whole.events),
    )


@delete("/hosts/{name:str}", summary="Forget a host", status_code=200, opt={"role": Role.OPERATOR})
async def remove_host(parts: Here, turnstile: NamedDependency[Turnstile], name: HostName) -> Removed:
    """Forget everything of a host that is gone: its state, its blocks and its minute series."""
    host = parts.fleet.get(name)
    if host is not None and host.connected:
        what = f"{name} is connected and would be back at once"
        raise ApiError(409, "host_connected", what, "stop its agent first: systemctl stop flyball-agent")
    parts.forget_host(name)
    known = parts.fleet.remove(name)
    parts.timeline.forget_recent(name)
    await turnstile.call(parts.timeline.remove_host, name)
    blocks = await turnstile.call(parts.store.remove_host, name)
    if not known and not blocks:
        raise unknown_host(name, [each.name for each in parts.fleet.hosts()])
    return Removed(name, blocks)


def find_host(parts: Parts, name: str) -> HostState:
    """The host of this name; an error that names those alike when there is none."""
    if len(name) > 255:
        raise bad_value("name", "longer than 255 characters")
    host = parts.fleet.get(name)
    if host is None:
        raise unknown_host(name, [each.name for each in parts.fleet.hosts()])
    return host


def _status(parts: Parts, host: HostState, now_ns: int) -> Status:
    return status_of(host, now_ns, int(parts.settings.not_reporting_after_seconds * 1e9))


def _host_answer(parts: Parts, host: HostState, now_ns: int) -> HostAnswer:
    view = parts.fleet.snapshot(now_ns, [host.name]).hosts[0]
    return host_answer(host, view.steps, _status(parts, host, now_ns), now_ns)


def _mark(host: HostState) -> str:
    """Changes with the layout and with the inventory message, which is replaced, never changed."""
    return f"{host.layout.digest if host.layout else 0:016x}-{id(host.inventory) & 0xFFFFFFFF:08x}"
