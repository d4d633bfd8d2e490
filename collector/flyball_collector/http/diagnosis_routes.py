"""The diagnosis of hosts and runs, and the active advice."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated

import msgspec
from litestar import get
from litestar.params import PathParameter, QueryParameter

from flyball_collector.fleet.runs import FleetRun
from flyball_collector.http.collector_parts import CollectorParts, PartsDependency
from flyball_collector.http.diagnosis_answers import (
    AdviceAnswer,
    DiagnosisAnswer,
    HostBrief,
    RunSummary,
    advice_answer,
    base_scores_of,
    conditions_of,
    primary_of,
    risks_of,
    run_summary,
    scores_of,
)
from flyball_collector.http.errors import ApiError, near
from flyball_collector.http.host_routes import find_host
from flyball_collector.timeline.entry import Entry
from flyball_collector.timeline.entry_answer import entry_answer
from flyball_collector.times import moment

_MAX_HOSTS = 64  # of a run, whose scores are used for one answer
_DIAGNOSIS = "/diagnosis"
_RANK_COLUMNS = ("received", "world_size", "step")

HostName = Annotated[str, PathParameter(max_length=1024)]
RunName = Annotated[str, PathParameter(max_length=1024)]
Rank = Mapping[str, float | str]


class RunsAnswer(msgspec.Struct, frozen=True):
    """Runs with processes or reports, those that ended within a day, and those with active conditions."""

    runs: list[RunSummary]
    total: int


@get("/hosts/{name:str}/diagnosis", summary="Diagnosis of a host")
async def host_diagnosis(parts: PartsDependency, name: HostName) -> DiagnosisAnswer:
    """Return scores, the primary bottleneck, active conditions, risks and advice."""
    host = find_host(parts, name)
    found = parts.findings.of_host(host.name)
    active = conditions_of(found, (entry for entry in parts.timeline.active() if entry.host == host.name))
    runs = {key.run for key in parts.fleet.ranks.keys if key.host == host.name}
    runs |= set(parts.fleet.runs.of_host(host.name))
    return DiagnosisAnswer(
        host=host.name,
        run=None,
        time=moment(parts.clock()),
        primary=primary_of([found]),
        base_scores=base_scores_of([found]),
        scores=scores_of([found], active),
        conditions=[entry_answer(entry) for entry in active],
        risks=risks_of(active),
        advice=_advice(parts, hosts=[host.name], runs=runs),
        hosts=[],
        runs=sorted(runs),
    )


@get("/runs", summary="Runs")
async def list_runs(
    parts: PartsDependency,
    offset: Annotated[int, QueryParameter(ge=0)] = 0,
    limit: Annotated[int, QueryParameter(ge=1, le=10_000)] = 1000,
) -> RunsAnswer:
    """List every run that agents have seen or that has active conditions, by name."""
    ranks, active, seen = _ranks(parts), _active_by_run(parts), _seen(parts)
    figures = {figure.run: figure for figure in parts.findings.of_runs().runs}
    names = sorted({*ranks, *active, *seen})
    since = parts.clock() / 1e9 - parts.settings.diagnosis.runs.end_after_seconds
    summaries = [
        run_summary(name, ranks.get(name, ()), seen.get(name), figures.get(name), active.get(name, ()), since)
        for name in names[offset : offset + limit]
    ]
    return RunsAnswer(summaries, len(names))


@get("/runs/{name:str}/diagnosis", summary="Diagnosis of a run")
async def run_diagnosis(parts: PartsDependency, name: RunName) -> DiagnosisAnswer:
    """Return the diagnosis of a run: mean scores, and the conditions of the run, its ranks and its hosts."""
    return _run_diagnosis(parts, name)


@get("/runs/{path:path}", include_in_schema=False)
async def run_diagnosis_by_path(parts: PartsDependency, path: RunName) -> DiagnosisAnswer:
    """Return the same for names with slashes: even a quoted slash divides the path into several parts."""
    name = path.removeprefix("/").removesuffix(_DIAGNOSIS)
    if not path.endswith(_DIAGNOSIS):
        raise ApiError(404, "not_found", f"no such path: runs{path[:100]}", "GET /openapi.json lists all paths")
    return _run_diagnosis(parts, name)


def _run_diagnosis(parts: CollectorParts, name: str) -> DiagnosisAnswer:
    ranks, active, seen = _ranks(parts), _active_by_run(parts), _seen(parts)
    if name not in {*ranks, *active, *seen}:
        hint = near(name, {*ranks, *active, *seen}, "GET /api/v1/runs")
        raise ApiError(404, "unknown_run", f"no run named {name[:100]!r}", hint)
    hosts = sorted(
        {str(rank["host"]) for rank in ranks.get(name, ())}
        | {e.host for e in active.get(name, ()) if e.host}
        | set(seen[name].hosts if name in seen else ())
    )
    found = {host: parts.findings.of_host(host) for host in hosts[:_MAX_HOSTS]}
    active_here = [
        fresh
        for entry in parts.timeline.active()
        if entry.run == name or (not entry.run and entry.host in hosts)
        for fresh in (conditions_of(found[entry.host], [entry]) if entry.host in found else [entry])
    ]
    return DiagnosisAnswer(
        host=None,
        run=name,
        time=moment(parts.clock()),
        primary=primary_of(found.values(), active_here),
        base_scores=base_scores_of(list(found.values())),
        scores=scores_of(list(found.values()), active_here),
        conditions=[entry_answer(entry) for entry in active_here],
        risks=risks_of(active_here),
        advice=_advice(parts, hosts=hosts, runs={name}),
        hosts=[HostBrief(host=host, primary=primary_of([one])) for host, one in found.items()],
        runs=[],
    )


@get("/advice", summary="Advice")
async def list_advice(
    parts: PartsDependency,
    host: Annotated[str, QueryParameter(max_length=255, description="Only about this host.")] = "",
    run: Annotated[str, QueryParameter(max_length=255, description="Only about this run and its ranks.")] = "",
    limit: Annotated[int, QueryParameter(ge=1, le=10_000)] = 1000,
) -> list[AdviceAnswer]:
    """List advice: first for threats to a run, then by recoverable time × confidence ÷ effort."""
    advice = [
        one for one in parts.advice() if (not host or one.subject.host == host) and (not run or one.subject.run == run)
    ]
    return [advice_answer(one) for one in advice[:limit]]


def _advice(parts: CollectorParts, *, hosts: Iterable[str], runs: Iterable[str]) -> list[AdviceAnswer]:
    host_names, run_names = frozenset(hosts), frozenset(runs)
    return [
        advice_answer(one)
        for one in parts.advice()
        if one.subject.host in host_names or (one.subject.run and one.subject.run in run_names)
    ]


def _seen(parts: CollectorParts) -> dict[str, FleetRun]:
    """Return the runs whose processes agents have seen."""
    return parts.fleet.seen_runs(parts.clock(), parts.settings.not_reporting_after_seconds)


def _ranks(parts: CollectorParts) -> dict[str, list[Rank]]:
    """Return the ranks of each run."""
    ranks = parts.fleet.ranks
    columns = {name: ranks.column(name).tolist() for name in _RANK_COLUMNS}
    runs: dict[str, list[Rank]] = {}
    for row, key in enumerate(ranks.keys):
        rank: dict[str, float | str] = {name: values[row] for name, values in columns.items()}
        runs.setdefault(key.run, []).append({"host": key.host, **rank})
    return runs


def _active_by_run(parts: CollectorParts) -> dict[str, Sequence[Entry]]:
    runs: dict[str, list[Entry]] = {}
    for entry in parts.timeline.active():
        if entry.run:
            runs.setdefault(entry.run, []).append(entry)
    return dict(runs)
