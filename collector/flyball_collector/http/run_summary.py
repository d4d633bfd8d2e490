"""The summary of a run in the list of runs."""

import math
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from flyball_collector.exporter.diagnosis.snapshot import RunFigure
from flyball_collector.fleet.runs import FleetRun, RunPhase
from flyball_collector.http.run_conditions import RunConditions
from flyball_collector.times import Moment, moment

PAUSED = "paused"
"""The state of a running run whose ranks wait between two steps, because an adjustment asked for it."""


class RunSummary(msgspec.Struct, frozen=True, kw_only=True):
    """A run over all its ranks. Null is unknown: a run without step reports has no step times, for example."""

    run: str
    state: str  # running, paused (by an adjustment), not_reporting, ended
    source: str | None  # how its processes were attributed: client, environment, slurm, kubernetes, torchrun …
    users: list[str]
    ranks: int | None
    world_size: int | None
    hosts: list[str]
    gpus: int | None
    processes: int | None  # now
    labels: dict[str, str]  # common to all its processes
    started: Moment | None  # the first process that was seen
    last_seen: Moment | None  # a process or a report
    step: int | None
    step_median_seconds: float | None
    step_slowest_seconds: float | None
    remaining_seconds: float | None
    remaining_low_seconds: float | None
    remaining_high_seconds: float | None
    last_report: Moment | None
    conditions: int  # as many as its diagnosis lists: its own, and those of its hosts
    own_conditions: int  # of the run and its ranks
    severity: str | None  # the highest of these conditions


def run_summary(
    run: str,
    ranks: Sequence[Mapping[str, float | str]],
    seen: FleetRun | None,
    figure: RunFigure | None,
    active: RunConditions,
    reporting_since: float = 0.0,
    last_step: int | None = None,
    *,
    is_paused: bool = False,
    is_gone: bool = False,
) -> RunSummary:
    """Return a summary from the ranks' newest values, the run's processes, its figures and its active conditions.

    `reporting_since`: a run without known processes is running if it has reported since then, in Unix time.
    `last_step`: the step to show if no rank is known anymore. `is_gone`: a run without known processes that does not
    report has ended. While an adjustment pauses the run, the time left is unknown.
    """
    worst = max(active.all, key=lambda entry: entry.severity_level, default=None)
    figure = figure or RunFigure(run)
    received = _largest(rank["received"] for rank in ranks)
    size = _whole(_largest(rank["world_size"] for rank in ranks))
    step = _whole(_largest(rank["step"] for rank in ranks))
    hosts = {str(rank["host"]) for rank in ranks}
    figure = figure._replace(left=None, left_low=None, left_high=None) if is_paused else figure
    unknown = RunPhase.ENDED if is_gone else RunPhase.NOT_REPORTING
    unseen = RunPhase.RUNNING if received and received >= reporting_since else unknown
    phase = seen.phase if seen else unseen
    last_seen_ns = max(seen.last_seen_ns if seen else 0, round((received or 0) * 1e9))
    return RunSummary(
        run=run,
        state=PAUSED if is_paused and phase is RunPhase.RUNNING else phase,
        source=(seen.source if seen else None) or None,
        users=list(seen.users) if seen else [],
        ranks=max(len(ranks), (seen.ranks or 0) if seen else 0) or None,
        world_size=size or (seen.world_size if seen else None),
        hosts=sorted(hosts | set(seen.hosts if seen else ())),
        gpus=seen.gpus if seen else None,
        processes=seen.processes if seen else None,
        labels=dict(seen.labels) if seen else {},
        started=moment(seen.started_ns) if seen else None,
        last_seen=moment(last_seen_ns) if last_seen_ns else None,
        step=last_step if step is None else step,
        step_median_seconds=figure.median_seconds,
        step_slowest_seconds=figure.slowest_seconds,
        remaining_seconds=figure.left,
        remaining_low_seconds=figure.left_low,
        remaining_high_seconds=figure.left_high,
        last_report=moment(round(received * 1e9)) if received else None,
        conditions=len(active.all),
        own_conditions=len(active.own),
        severity=worst.severity if worst else None,
    )


def _largest(values: Iterable[float | str]) -> float | None:
    return max((float(value) for value in values if math.isfinite(float(value))), default=None)


def _whole(value: float | None) -> int | None:
    return None if value is None else int(value)
