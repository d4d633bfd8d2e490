"""The rows of a run's ranks: those that report steps, and processes that only hold GPUs."""

from collections.abc import Iterable, Sequence
from heapq import nsmallest
from typing import NamedTuple

from flyball_collector.diagnosis.kinds import Severity
from flyball_collector.fleet.run_steps import RankSteps, StepFigures
from flyball_collector.http.collector_parts import CollectorParts
from flyball_collector.http.run_answers import GpuOfRank, RunRankAnswer
from flyball_collector.http.run_lookup import FoundRun
from flyball_collector.times import moment

_NO_STEPS = StepFigures()
_NONE = -1  # no condition


class _Row(NamedTuple):
    rank: int | None
    host: str
    pid: int | None
    gpus: tuple[str, ...]
    steps: RankSteps | None


def rank_answers(
    parts: CollectorParts, found: FoundRun, steps: Sequence[RankSteps], most: int
) -> tuple[list[RunRankAnswer], int]:
    """Return at most so many ranks in order, and the number of all. Slow ones and those with problems come first."""
    rows = _rows(parts, found, steps)
    severities = _Severities(parts, found)

    def urgency(row: _Row) -> tuple[float, ...]:
        seconds = row.steps.recent.step_seconds if row.steps else None
        return -severities.of(row), -(seconds or 0.0), _number(row)

    kept = rows if len(rows) <= most else nsmallest(most, rows, key=urgency)
    kept.sort(key=lambda row: (_number(row), row.host, row.pid or 0))
    return [_answer(parts, row, severities.of(row)) for row in kept], len(rows)


def _number(row: _Row) -> float:
    return float("inf") if row.rank is None else row.rank


def _rows(parts: CollectorParts, found: FoundRun, steps: Sequence[RankSteps]) -> list[_Row]:
    """Join reported ranks with processes of the same host and rank."""
    holders: dict[tuple[str, int], tuple[int, tuple[str, ...]]] = {}
    unnumbered: list[_Row] = []
    for host in found.seen.hosts if found.seen else ():
        state = parts.fleet.get(host)
        for member in state.tenancy.members if state is not None and state.tenancy is not None else ():
            if not member.run or parts.fleet.runs.name_of(member.run) != found.name:
                continue
            if member.world_size:
                pid, gpus = holders.get((host, member.rank), (member.pid, ()))
                holders[host, member.rank] = pid, tuple(dict.fromkeys((*gpus, *member.gpus)))
            else:
                unnumbered.append(_Row(None, host, member.pid or None, tuple(member.gpus), None))
    rows = []
    for each in steps:
        pid, gpus = holders.pop((each.host, each.rank), (0, ()))
        rows.append(_Row(each.rank, each.host, each.pid or pid or None, gpus, each))
    reported = {each.pid for each in steps if each.pid}
    rows += [_Row(rank, host, pid or None, gpus, None) for (host, rank), (pid, gpus) in holders.items()]
    return rows + [row for row in unnumbered if row.pid not in reported]


class _Severities:
    """The highest severity of the active conditions of each rank and each GPU."""

    def __init__(self, parts: CollectorParts, found: FoundRun) -> None:
        self._ranks: dict[int, Severity] = {}
        self._gpus: dict[tuple[str, str], Severity] = {}
        for entry in found.active.own:
            if entry.rank is not None:
                self._ranks[entry.rank] = max(entry.severity_level, self._ranks.get(entry.rank, Severity.INFO))
        hosts = frozenset(found.hosts)
        for entry in parts.timeline.active():
            if entry.gpu and entry.host in hosts:
                gpu = entry.host, entry.gpu
                self._gpus[gpu] = max(entry.severity_level, self._gpus.get(gpu, Severity.INFO))

    def of(self, row: _Row) -> int:
        """Return the severity of a rank as a number; smaller than all of them without a condition."""
        found: Iterable[int] = (self._gpus.get((row.host, gpu), _NONE) for gpu in row.gpus)
        own = _NONE if row.rank is None else self._ranks.get(row.rank, _NONE)
        return max((own, *found))


def _answer(parts: CollectorParts, row: _Row, severity: int) -> RunRankAnswer:
    steps = row.steps
    recent = steps.recent if steps else _NO_STEPS
    return RunRankAnswer(
        rank=row.rank,
        host=row.host,
        pid=row.pid,
        gpus=[GpuOfRank(gpu, parts.fleet.gpu_index_of(row.host, gpu)) for gpu in row.gpus],
        attempt=steps.attempt if steps else None,
        step=steps.step if steps else None,
        step_seconds=_rounded(recent.step_seconds, 6),
        data_wait_ratio=_rounded(recent.data_wait_share, 4),
        tokens_per_second=_rounded(recent.tokens_per_second, 3),
        samples_per_second=_rounded(recent.samples_per_second, 3),
        loss=steps.loss if steps else None,
        bad_losses=steps.bad_losses if steps else 0,
        allocated_peak_bytes=steps.allocated_peak_bytes if steps else None,
        reserved_peak_bytes=steps.reserved_peak_bytes if steps else None,
        last_report=moment(steps.received_ns) if steps else None,
        severity=Severity(severity).word if severity != _NONE else None,
    )


def _rounded(value: float | None, digits: int) -> float | None:
    return None if value is None else round(value, digits)
