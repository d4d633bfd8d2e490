"""Runs: the list, one run, and its diagnosis."""

from typing import Annotated

import msgspec
from litestar import Request, get
from litestar.datastructures import State
from litestar.di import NamedDependency
from litestar.params import PathParameter, QueryParameter

from flyball_collector.http.collector_parts import CollectorParts, PartsDependency
from flyball_collector.http.diagnosis_answers import (
    DiagnosisAnswer,
    HostBrief,
    base_scores_of,
    primary_of,
    risks_of,
    scores_of,
)
from flyball_collector.http.diagnosis_routes import advice_about
from flyball_collector.http.guard import is_operator
from flyball_collector.http.recent_answers import RecentAnswers
from flyball_collector.http.run_answers import RunDetails
from flyball_collector.http.run_conditions import ActiveIndex
from flyball_collector.http.run_details import run_details
from flyball_collector.http.run_lookup import (
    DIAGNOSIS,
    VALUES,
    FoundRun,
    conditions_of,
    find_run,
    is_gone,
    is_paused,
    name_in_path,
    ranks_by_run,
    reporting_since,
    seen_runs,
)
from flyball_collector.http.run_summary import RunSummary, run_summary
from flyball_collector.http.run_values import RunValuesAnswer, run_values
from flyball_collector.timeline.entry_answer import entry_answer
from flyball_collector.timeline.live_entries import live_entries
from flyball_collector.times import moment

MOST_RANKS = 32
_MAX_HOSTS = 64  # of a run, whose scores are used for one answer

RunName = Annotated[str, PathParameter(max_length=1024, description="Name of a run. Quote slashes in it as %2F.")]
RecentRuns = NamedDependency[RecentAnswers[RunDetails]]
MostRanks = Annotated[int, QueryParameter(ge=0, le=65_536, description="Maximum number of ranks.")]


class RunsAnswer(msgspec.Struct, frozen=True):
    """Runs with processes or reports, those that ended within a day, and those with active conditions."""

    runs: list[RunSummary]
    total: int


@get("/runs", summary="Runs")
async def list_runs(
    parts: PartsDependency,
    offset: Annotated[int, QueryParameter(ge=0)] = 0,
    limit: Annotated[int, QueryParameter(ge=1, le=10_000)] = 1000,
) -> RunsAnswer:
    """List every run that agents have seen or that has active conditions, by name."""
    ranks, seen, index = ranks_by_run(parts), seen_runs(parts), ActiveIndex(parts)
    figures = {figure.run: figure for figure in parts.findings.of_runs().runs}
    names = sorted({*ranks, *index.runs, *seen})[offset : offset + limit]
    active = {name: conditions_of(parts, index, name, ranks.get(name, ()), seen.get(name)) for name in names}
    since = reporting_since(parts)
    last_step = parts.fleet.trends.last_step
    summaries = [
        run_summary(
            name,
            ranks.get(name, ()),
            seen.get(name),
            figures.get(name),
            active[name],
            since,
            last_step(name),
            is_paused=is_paused(parts, name),
            is_gone=name not in seen and is_gone(parts, ranks.get(name, ()), active[name]),
        )
        for name in names
    ]
    return RunsAnswer(summaries, len({*ranks, *index.runs, *seen}))


@get("/run", summary="One run, by a name of any form")
async def show_named_run(
    parts: PartsDependency,
    recent_runs: RecentRuns,
    name: Annotated[str, QueryParameter(max_length=1024, description="Name of a run.")],
    ranks: MostRanks = MOST_RANKS,
) -> RunDetails:
    """Return the same as `/runs/{name}`, also for names that a path cannot carry, such as `..`."""
    return recent_runs.get((name, ranks), lambda: _details(parts, name, ranks))


@get("/runs/{name:str}", summary="One run")
async def show_run(
    parts: PartsDependency, recent_runs: RecentRuns, name: RunName, ranks: MostRanks = MOST_RANKS
) -> RunDetails:
    """Return progress, speed, loss, sections, services, levels, ranks, diagnosis and recent points of a run."""
    return recent_runs.get((name, ranks), lambda: _details(parts, name, ranks))


@get("/runs/{name:str}/diagnosis", summary="Diagnosis of a run")
async def run_diagnosis(parts: PartsDependency, name: RunName) -> DiagnosisAnswer:
    """Return the diagnosis of a run: mean scores, and the conditions of the run, its ranks and its hosts."""
    return _diagnosis(parts, find_run(parts, name))


@get("/runs/{path:path}", include_in_schema=False)
async def run_by_path(
    parts: PartsDependency,
    recent_runs: RecentRuns,
    request: Request[object, object, State],
    path: Annotated[str, PathParameter(max_length=1024)],
    ranks: MostRanks = MOST_RANKS,
) -> RunDetails | DiagnosisAnswer | RunValuesAnswer:
    """Answer for the routes about runs, which describe it: the framework divides names even at quoted slashes."""
    name, part = name_in_path(request.scope["raw_path"].decode("latin-1"), path)
    if part == DIAGNOSIS:
        return _diagnosis(parts, find_run(parts, name))
    if part == VALUES:
        return run_values(parts, name, may_change=is_operator(request))
    return recent_runs.get((name, ranks), lambda: _details(parts, name, ranks))


def _details(parts: CollectorParts, name: str, most_ranks: int) -> RunDetails:
    found = find_run(parts, name)
    figure = next((figure for figure in parts.findings.of_runs().runs if figure.run == name), None)
    last_step = parts.fleet.trends.last_step(name)
    summary = run_summary(
        name,
        found.ranks,
        found.seen,
        figure,
        found.active,
        reporting_since(parts),
        last_step,
        is_paused=is_paused(parts, name),
        is_gone=found.seen is None and is_gone(parts, found.ranks, found.active),
    )
    return run_details(parts, found, summary, _diagnosis(parts, found), most_ranks)


def _diagnosis(parts: CollectorParts, run: FoundRun) -> DiagnosisAnswer:
    hosts = run.hosts
    found = {host: parts.findings.of_host(host) for host in hosts[:_MAX_HOSTS]}
    active_here = live_entries(parts.diagnosis.conditions, run.active.all)
    about = advice_about(parts, hosts=hosts, runs={run.name})
    return DiagnosisAnswer(
        host=None,
        run=run.name,
        time=moment(parts.clock()),
        primary=primary_of(list(found.values()), active_here),
        base_scores=base_scores_of(list(found.values())),
        scores=scores_of(list(found.values()), active_here),
        conditions=[entry_answer(entry) for entry in active_here],
        risks=risks_of(active_here),
        advice=[each for each in about if not each.conditions or not run.active.of_others.issuperset(each.conditions)],
        hosts=[HostBrief(host=host, primary=primary_of([one])) for host, one in found.items()],
        runs=[],
    )
