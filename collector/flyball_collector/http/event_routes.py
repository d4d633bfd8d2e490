"""The timeline over HTTP: what was raised, changed and cleared, and what stands now."""

from typing import Annotated, Literal

import msgspec
from litestar import get
from litestar.di import NamedDependency
from litestar.params import QueryParameter

from flyball_collector.diagnosis.kinds import BY_NAME, Severity
from flyball_collector.http.errors import ApiError, bad_value, near
from flyball_collector.http.parts import Here
from flyball_collector.http.turnstile import Turnstile
from flyball_collector.timeline.answer import EntryAnswer, entry_answer
from flyball_collector.timeline.entry import NOTE_KINDS, STATES
from flyball_collector.timeline.query import Query
from flyball_collector.times import parse_time

SeverityName = Literal["info", "warning", "critical"]
KindNames = Annotated[list[str] | None, QueryParameter(name="kind", description="Only these kinds; may be repeated.")]
HostName = Annotated[str, QueryParameter(max_length=255, description="Only of this host.")]
RunName = Annotated[str, QueryParameter(max_length=255, description="Only of this run.")]
GpuName = Annotated[str, QueryParameter(max_length=255, description="Only of this GPU.")]
Least = Annotated[SeverityName, QueryParameter(description="At least so bad.")]


class EventsAnswer(msgspec.Struct, frozen=True):
    """One page of the timeline."""

    events: list[EntryAnswer]
    next: str | None  # the `cursor` of the page that follows
    complete: bool  # false: the store does not answer, so that only what is in memory is told


class ConditionsAnswer(msgspec.Struct, frozen=True):
    """Everything that stands."""

    conditions: list[EntryAnswer]
    total: int
    loaded: bool  # false: what stood before a restart is still being loaded


class KindAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What diagnosis can say."""

    kind: str
    group: str
    scope: str
    severity: str
    meaning: str
    explained_by: list[str]
    notifies: bool


@get("/events", summary="Timeline of events")
async def list_events(
    parts: Here,
    turnstile: NamedDependency[Turnstile],
    host: HostName = "",
    run: RunName = "",
    gpu: GpuName = "",
    kinds: KindNames = None,
    states: Annotated[
        list[Literal["raised", "changed", "cleared", "noted"]] | None,
        QueryParameter(name="state", description="Only these; may be repeated."),
    ] = None,
    severity: Least = "info",
    condition: Annotated[str, QueryParameter(max_length=64, description="Only of this condition.")] = "",
    start: Annotated[str, QueryParameter(description="RFC 3339, unix seconds, or relative: -7d.")] = "-30d",
    end: Annotated[str, QueryParameter(description="Not included.")] = "",
    order: Annotated[Literal["newest", "oldest"], QueryParameter(description="Which come first.")] = "newest",
    cursor: Annotated[str, QueryParameter(max_length=128, description="`next` of the page before, or an id.")] = "",
    limit: Annotated[int, QueryParameter(ge=1, le=1000)] = 100,
) -> EventsAnswer:
    """Raised, changed, cleared; and what happened on hosts (noted). Kept for `store.events_days`."""
    now_ns = parts.clock()
    query = Query(
        start_ns=_time("start", start, now_ns),
        end_ns=_time("end", end, now_ns) if end else None,
        host=host,
        run=run,
        gpu=gpu,
        condition=condition,
        kinds=frozenset(_known(kinds)),
        states=frozenset(states or ()) & frozenset(STATES),
        severity=Severity[severity.upper()],
        oldest_first=order == "oldest",
        cursor=cursor,
        limit=limit,
    )

    page, complete = await parts.timeline.read(query, call=turnstile.call)
    return EventsAnswer([entry_answer(entry) for entry in page.entries], page.following or None, complete)


@get("/conditions", summary="What stands")
async def list_conditions(
    parts: Here,
    host: HostName = "",
    run: RunName = "",
    gpu: GpuName = "",
    kinds: KindNames = None,
    severity: Least = "info",
    limit: Annotated[int, QueryParameter(ge=1, le=10_000)] = 1000,
) -> ConditionsAnswer:
    """Conditions that are raised and not cleared, the worst first."""
    query = Query(host=host, run=run, gpu=gpu, kinds=frozenset(_known(kinds)), severity=Severity[severity.upper()])
    found = [entry for entry in parts.timeline.active() if query.fits(entry)]
    return ConditionsAnswer(
        [entry_answer(entry) for entry in found[:limit]], len(found), parts.timeline.loaded.is_set()
    )


@get("/kinds", summary="Kinds of condition")
async def list_kinds() -> list[KindAnswer]:
    """The closed list of what can be raised, and what each means."""
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


def _known(kinds: list[str] | None) -> list[str]:
    """The names, or an error that names those alike."""
    known = [*BY_NAME, *NOTE_KINDS]
    for name in kinds or ():
        if name not in known:
            raise ApiError(
                400, "bad_value", f"kind: nothing is called {name[:100]!r}", near(name, known, "GET /api/v1/kinds")
            )
    return kinds or []


def _time(parameter: str, text: str, now_ns: int) -> int:
    try:
        return parse_time(text, now_ns)
    except ValueError as error:
        raise bad_value(parameter, str(error)) from None
