"""The diagnosis of hosts, and the active advice."""

from collections.abc import Iterable
from typing import Annotated

from litestar import get
from litestar.params import PathParameter, QueryParameter

from flyball_collector.http.collector_parts import CollectorParts, PartsDependency
from flyball_collector.http.diagnosis_answers import (
    AdviceAnswer,
    DiagnosisAnswer,
    base_scores_of,
    primary_of,
    risks_of,
    scores_of,
)
from flyball_collector.http.host_routes import find_host
from flyball_collector.http.tried_changes import advice_answers
from flyball_collector.timeline.entry_answer import entry_answer
from flyball_collector.timeline.live_entries import live_entries
from flyball_collector.times import moment

HostName = Annotated[str, PathParameter(max_length=1024)]


@get("/hosts/{name:str}/diagnosis", summary="Diagnosis of a host")
async def host_diagnosis(parts: PartsDependency, name: HostName) -> DiagnosisAnswer:
    """Return scores, the primary bottleneck, active conditions, risks and advice."""
    host = find_host(parts, name)
    found = parts.findings.of_host(host.name)
    entries = [entry for entry in parts.timeline.active() if entry.host == host.name]
    active = live_entries(parts.diagnosis.conditions, entries)
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
        advice=advice_about(parts, hosts=[host.name], runs=runs),
        hosts=[],
        runs=sorted(runs),
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
    return advice_answers(parts, advice[:limit])


def advice_about(parts: CollectorParts, *, hosts: Iterable[str], runs: Iterable[str]) -> list[AdviceAnswer]:
    """Return the advice for any of these hosts or runs."""
    host_names, run_names = frozenset(hosts), frozenset(runs)
    about = [
        one
        for one in parts.advice()
        if one.subject.host in host_names or (one.subject.run and one.subject.run in run_names)
    ]
    return advice_answers(parts, about)
