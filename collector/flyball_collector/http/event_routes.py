"""The timeline: entries of the past, and active conditions."""

from typing import Annotated, Literal

import msgspec
from litestar import get
from litestar.di import NamedDependency
from litestar.params import QueryParameter

from flyball_collector.diagnosis.kinds import BY_NAME, Severity
from flyball_collector.http.call_limiter import CallLimiter
from flyball_collector.http.collector_parts import PartsDependency
from flyball_collector.http.errors import ApiError, bad_value, near
from flyball_collector.timeline.entry import NOTE_KINDS, STATES
from flyball_collector.timeline.entry_answer import EntryAnswer, entry_answer
from flyball_collector.timeline.live_entries import live_entries
from flyball_collector.timeline.query import Query
from flyball_collector.times import parse_time

SeverityName = Literal["info", "warning", "critical"]
KindNames = Annotated[list[str] | None, QueryParameter(name="kind", description="Only these kinds. May be repeated.")]
HostName = Annotated[str, QueryParameter(max_length=255, description="Only this host.")]
RunName = Annotated[str, QueryParameter(max_length=255, description="Only this run.")]
GpuName = Annotated[str, QueryParameter(max_length=255, description="Only this GPU.")]
MinSeverity = Annotated[SeverityName, QueryParameter(description="Minimum severity.")]


class EventsAnswer(msgspec.Struct, frozen=True):
    """A page of the timeline."""

    events: list[EntryAnswer]
    next: str | None  # the `cursor` of the next page
    complete: bool  # false: the store does not answer, so only entries in memory are included


class ConditionsAnswer(msgspec.Struct, frozen=True):
    """All active conditions."""

    conditions: list[EntryAnswer]
    total: int
    loaded: bool  # false: conditions from before a restart are still being loaded


class KindAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """A kind of condition."""

    kind: str
    group: str
    scope: str
    severity: str
    meaning: str
    explained_by: list[str]
    notifies: bool


@get("/events", summary="Timeline of events")
async def list_events(
    parts: PartsDependency,
    limiter: NamedDependency[CallLimiter],
    host: HostName = "",
    run: RunName = "",
    gpu: GpuName = "",
    kinds: KindNames = None,
    states: Annotated[
        list[Literal["raised", "changed", "cleared", "noted"]] | None,
        QueryParameter(name="state", description="Only these states. May be repeated."),
    ] = None,
    severity: MinSeverity = "info",
    condition: Annotated[str, QueryParameter(max_length=64, description="Only this condition.")] = "",
    start: Annotated[str, QueryParameter(description="RFC 3339, unix seconds, or relative: -7d.")] = "-30d",
    end: Annotated[str, QueryParameter(description="Exclusive.")] = "",
    order: Annotated[Literal["newest", "oldest"], QueryParameter(description="Order of the entries.")] = "newest",
    cursor: Annotated[str, QueryParameter(max_length=128, description="`next` of the previous page, or an id.")] = "",
    limit: Annotated[int, QueryParameter(ge=1, le=1000)] = 100,
) -> EventsAnswer:
    """List entries: raised, changed, cleared, and events of hosts (noted). They are kept for `store.events_days`."""
    now_ns = parts.clock()
    query = Query(
        start_ns=_time("start", start, now_ns),
        end_ns=_time("end", end, now_ns) if end else None,
        host=host,
        run=run,
        gpu=gpu,
        condition=condition,
        kinds=frozenset(_known_kinds(kinds)),
        states=frozenset(states or ()) & frozenset(STATES),
        severity=Severity[severity.upper()],
        oldest_first=order == "oldest",
        cursor=cursor,
        limit=limit,
    )

    page, complete = await parts.timeline.read(query, call=limiter.call)
    return EventsAnswer([entry_answer(entry) for entry in page.entries], page.following or None, complete)


@get("/conditions", summary="Active conditions")
async def list_conditions(
    parts: PartsDependency,
    host: HostName = "",
    run: RunName = "",
    gpu: GpuName = "",
    kinds: KindNames = None,
    severity: MinSeverity = "info",
    limit: Annotated[int, QueryParameter(ge=1, le=10_000)] = 1000,
) -> ConditionsAnswer:
    """List conditions that are raised and not cleared, the most severe first, with their present values."""
    query = Query(
        host=host, run=run, gpu=gpu, kinds=frozenset(_known_kinds(kinds)), severity=Severity[severity.upper()]
    )
    found = [entry for entry in parts.timeline.active() if query.matches(entry)]
    return ConditionsAnswer(
        [entry_answer(entry) for entry in live_entries(parts.diagnosis.conditions, found[:limit])],
        len(found),
        parts.timeline.loaded.is_set(),
    )


@get("/kinds", summary="Kinds of condition")
async def list_kinds() -> list[KindAnswer]:
    """List every kind of condition with its meaning."""
    return [
        KindAnswer(
            kind=kind.name,
            group=kind.group.value,
            scope=kind.scope.value,
            severity=kind.severity.word,
            meaning=kind.meaning,
            explained_by=list(kind.explained_by),
            notifies=kind.notifies,
        )
        for kind in BY_NAME.values()
    ]


def _known_kinds(kinds: list[str] | None) -> list[str]:
    """Return the names. Raise an error with similar names for an unknown one."""
    known = [*BY_NAME, *NOTE_KINDS]
    for name in kinds or ():
        if name not in known:
            raise ApiError(
                400, "bad_value", f"kind: no kind named {name[:100]!r}", near(name, known, "GET /api/v1/kinds")
            )
    return kinds or []


def _time(parameter: str, text: str, now_ns: int) -> int:
    try:
        return parse_time(text, now_ns)
    except ValueError as error:
        raise bad_value(parameter, str(error)) from None
