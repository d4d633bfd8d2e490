"""Finds runs by name: among ranks that report, processes that agents have seen, and active conditions."""

from bisect import bisect_left
from collections.abc import Collection, Iterable, Mapping, Sequence
from heapq import nlargest
from typing import NamedTuple
from urllib.parse import unquote

from flyball_collector.fleet.runs import FleetRun
from flyball_collector.http.collector_parts import CollectorParts
from flyball_collector.http.errors import ApiError, near
from flyball_collector.http.run_conditions import ActiveIndex, RunConditions

DIAGNOSIS, VALUES, POLICY = "diagnosis", "values", "policy"
_PARTS = frozenset({DIAGNOSIS, VALUES, POLICY})
RANK_COLUMNS = ("received", "world_size", "step")
Rank = Mapping[str, float | str]

_LONGEST_SHOWN = 100
_COMPARED = 200


class FoundRun(NamedTuple):
    """A run, with its ranks, its active conditions and its processes."""

    name: str
    ranks: Sequence[Rank]
    active: RunConditions
    seen: FleetRun | None

    @property
    def hosts(self) -> list[str]:
        """Return the hosts of its ranks, processes and conditions."""
        return sorted(hosts_of(self.ranks) | self.active.hosts() | set(self.seen.hosts if self.seen else ()))


def find_run(parts: CollectorParts, name: str) -> FoundRun:
    """Return the run of this name. Raises an error with similar names."""
    ranks, seen, index = _ranks_of(parts, name), seen_runs(parts), ActiveIndex(parts)
    active = conditions_of(parts, index, name, ranks, seen.get(name)) if name else RunConditions()
    if not (ranks or active.own or name in seen):
        known = {key.run for key in parts.fleet.ranks.keys} | set(index.runs) | seen.keys()
        what = f"no run named {name[:_LONGEST_SHOWN]!r}"
        raise ApiError(404, "unknown_run", what, near(name, _alike(name, known), "GET /api/v1/runs"))
    return FoundRun(name, ranks, active, seen.get(name))


def conditions_of(
    parts: CollectorParts, index: ActiveIndex, name: str, ranks: Sequence[Rank], seen: FleetRun | None
) -> RunConditions:
    """Return the conditions of a run. What happens on the hosts of an ended one is no longer its own."""
    active = index.of_run(name, hosts_of(ranks), seen)
    since = reporting_since(parts)
    reports = seen is not None or any(float(rank["received"]) >= since for rank in ranks)
    return active if reports or not is_gone(parts, ranks, active) else RunConditions(active.own)


def seen_runs(parts: CollectorParts) -> dict[str, FleetRun]:
    """Return the runs whose processes agents have seen."""
    return parts.fleet.seen_runs(parts.clock(), parts.settings.not_reporting_after_seconds)


def ranks_by_run(parts: CollectorParts) -> dict[str, list[Rank]]:
    """Return the ranks of each run."""
    ranks = parts.fleet.ranks
    columns = {name: ranks.column(name).tolist() for name in RANK_COLUMNS}
    runs: dict[str, list[Rank]] = {}
    for row, key in enumerate(ranks.keys):
        rank: dict[str, float | str] = {name: values[row] for name, values in columns.items()}
        runs.setdefault(key.run, []).append({"host": key.host, **rank})
    return runs


def hosts_of(ranks: Iterable[Rank]) -> set[str]:
    """Return the hosts of ranks."""
    return {str(rank["host"]) for rank in ranks}


def reporting_since(parts: CollectorParts) -> float:
    """Return the Unix time since which a run without known processes must have reported to count as running."""
    return parts.clock() / 1e9 - parts.settings.diagnosis.runs.end_after_seconds


def is_gone(parts: CollectorParts, ranks: Sequence[Rank], active: RunConditions) -> bool:
    """Return True if a run without known processes has ended, because its hosts report.

    After a restart of the collector, only the run's active conditions may be known. Without hosts in them, it may have
    been anywhere: then all hosts must report.
    """
    names = hosts_of(ranks) | active.hosts()
    hosts = [parts.fleet.get(name) for name in names] if names else parts.fleet.hosts()
    since_ns = parts.clock() - int(parts.settings.not_reporting_after_seconds * 1e9)
    reports = [host is not None and host.received_ns >= since_ns for host in hosts]
    return bool(reports) and all(reports) and not parts.warming()


def is_paused(parts: CollectorParts, name: str) -> bool:
    """Return True if an adjustment pauses the run now."""
    values = parts.adjustments.values(name) if parts.adjustments is not None else None
    return values is not None and any(each.value is True for each in values.of("pause").values())


def name_in_path(raw_path: str, decoded: str) -> tuple[str, str]:
    """Return the name of a run and what follows it, from the path after `/runs/`.

    Only the raw path shows which slashes are part of the name: those that are quoted. A proxy may have decoded them.
    """
    raw = raw_path.partition("?")[0].partition("/runs/")[2] or decoded.removeprefix("/")
    name, slash, last = raw.rpartition("/")
    return (unquote(name), last) if slash and last in _PARTS else (unquote(raw), "")


def _alike(name: str, known: Collection[str]) -> list[str]:
    """Return the names with the longest beginnings and endings in common, because a full comparison of all is slow."""
    return nlargest(
        _COMPARED, sorted(known), key=lambda other: _equal_start(name, other) + _equal_start(name[::-1], other[::-1])
    )


def _equal_start(one: str, other: str) -> int:
    """Return the number of equal characters at the beginning of two texts."""
    return next(
        (place for place, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )


def _ranks_of(parts: CollectorParts, name: str) -> list[Rank]:
    """Return the ranks of one run. Keys are sorted by run, so that other runs cost nothing."""
    ranks = parts.fleet.ranks
    rows = slice(bisect_left(ranks.keys, (name,)), bisect_left(ranks.keys, (name + "\0",)))
    columns = {column: ranks.column(column)[rows].tolist() for column in RANK_COLUMNS}
    return [
        {"host": key.host, **{column: values[row] for column, values in columns.items()}}
        for row, key in enumerate(ranks.keys[rows])
    ]
