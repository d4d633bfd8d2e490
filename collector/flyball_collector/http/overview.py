"""The fleet in one small columnar answer, made at most once a second for all callers."""

import asyncio
import gzip
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial

import msgspec
import numpy as np
from numpy.typing import NDArray

from flyball_collector.diagnosis.kinds import Severity
from flyball_collector.exporter.renderings import FindingSource
from flyball_collector.fleet.fleet import Fleet
from flyball_collector.fleet.host import HostState
from flyball_collector.fleet.snapshot import HostView, Snapshot
from flyball_collector.http.refused_agent_routes import RefusedAgentAnswer, recently_refused
from flyball_collector.http.status import Status, status_of
from flyball_collector.refused_agents import RefusedAgent
from flyball_collector.settings import CollectorSettings
from flyball_collector.tick import KnownLayout
from flyball_collector.timeline.entry import Entry
from flyball_collector.timeline.entry_answer import EntryAnswer, entry_answer
from flyball_collector.timeline.live_entries import LiveConditions, live_entries
from flyball_collector.timeline.timeline import Timeline

HOST_VALUES = {"cpu_ratio": "cpu_busy_ratio", "memory_ratio": "memory_used_ratio"}
GPU_VALUES = {
    "gpu_utilization_ratio": "gpu_utilization_ratio",
    "gpu_temperature_celsius": "gpu_temperature_celsius",
    "gpu_power_watts": "gpu_power_watts",
    "gpu_memory_used_bytes": "gpu_memory_used_bytes",
    "gpu_memory_total_bytes": "gpu_memory_total_bytes",
}
MAX_GPUS = 64
MAX_WORST = 50
_FRESH_NS = 900_000_000
_MISSING = -1


class ActiveCounts(msgspec.Struct, frozen=True):
    """Number of active conditions by severity."""

    critical: int = 0
    warning: int = 0
    info: int = 0


class FleetNames(msgspec.Struct, frozen=True):
    """Names that change only with the generation."""

    names: list[str]
    gpus: list[int]


class Overview(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One value for each host, in the order of the names; `gpu_*`: one for each GPU, host by host. Null is unknown."""

    generation: int
    time_unix: float
    warming: bool = False
    hosts: FleetNames | None = None
    status: list[int]  # 0 up, 1 not reporting, 2 ended, 3 waiting
    age_seconds: list[float]
    clock_skew_seconds: list[float | None]
    unavailable: list[int]
    cpu_ratio: list[float]
    memory_ratio: list[float]
    gpu_utilization_ratio: list[float]
    gpu_memory_ratio: list[float]
    gpu_temperature_celsius: list[float]
    gpu_power_watts: list[float]
    attention: list[int]  # highest severity of active conditions: 0 none, 1 info, 2 warning, 3 critical
    primary: list[str | None]  # the primary bottleneck
    active: ActiveCounts
    worst: list[EntryAnswer]  # some of the warnings and critical ones, the most severe first
    refused_agents: list[RefusedAgentAnswer] = []  # some of those of the last hour, the newest first


@dataclass(frozen=True, slots=True)
class FleetFindings:
    """The results of the diagnosis that the overview shows."""

    attention: Mapping[str, int]
    primary: Mapping[str, str]
    counts: ActiveCounts
    worst: Sequence[Entry]


NOTHING = FleetFindings({}, {}, ActiveCounts(), ())


@dataclass(frozen=True, slots=True)
class _Positions:
    """Positions of a layout's columns that the overview shows, relative to the host's start."""

    host: NDArray[np.int64]  # one for each of HOST_VALUES
    gpus: NDArray[np.int64]  # GPU_VALUES × GPU

    @property
    def gpu_count(self) -> int:
        return int(self.gpus.shape[1])


_NONE = _Positions(np.full(len(HOST_VALUES), _MISSING), np.full((len(GPU_VALUES), 0), _MISSING))


@lru_cache(maxsize=8192)
def _positions(layout: KnownLayout) -> _Positions:
    """Find the positions, once for each layout."""
    columns = layout.layout.columns
    unlabelled = {c.metric.name: i for i, c in enumerate(columns) if not c.labels}
    by_gpu = {
        (c.metric.name, c.labels[c.metric.labels.index("gpu")]): i
        for i, c in enumerate(columns)
        if c.metric.name in GPU_VALUES and "gpu" in c.metric.labels
    }
    gpus = list(dict.fromkeys(gpu for _, gpu in by_gpu))[:MAX_GPUS]
    host = [unlabelled.get(name, _MISSING) for name in HOST_VALUES.values()]
    each = [[by_gpu.get((name, gpu), _MISSING) for gpu in gpus] for name in GPU_VALUES.values()]
    return _Positions(np.array(host, np.int64), np.array(each, np.int64).reshape(len(GPU_VALUES), len(gpus)))


def _read(
    arena: NDArray[np.float64], positions: Sequence[NDArray[np.int64]], starts: Sequence[int]
) -> NDArray[np.float64]:
    """Return values at positions relative to starts; NaN for missing columns."""
    relative = np.concatenate(positions, axis=-1)
    lengths = [each.shape[-1] for each in positions]
    absolute = relative + np.repeat(np.array(starts, np.int64), lengths)
    return np.where(
        relative == _MISSING, np.nan, np.append(arena, np.nan)[np.where(relative == _MISSING, -1, absolute)]
    )


def findings_of(active: Sequence[Entry], primary: Iterable[tuple[str, str]]) -> FleetFindings:
    """Return the findings from active conditions, which are sorted by severity."""
    attention: dict[str, int] = {}
    for entry in active:
        if entry.host:
            attention[entry.host] = max(attention.get(entry.host, 0), entry.severity_level + 1)
    counts = Counter(entry.severity for entry in active)
    worst = [entry for entry in active[:MAX_WORST] if entry.severity_level >= Severity.WARNING]
    totals = ActiveCounts(counts["critical"], counts["warning"], counts["info"])
    return FleetFindings(attention, dict(primary), totals, worst)


def make_overview(
    snapshot: Snapshot,
    statuses: Sequence[Status],
    now_ns: int,
    *,
    warming: bool,
    found: FleetFindings = NOTHING,
    refused: Sequence[RefusedAgent] = (),
) -> Overview:
    """Return the answer with names."""
    hosts = snapshot.hosts
    positions = [_positions(host.layout) if host.layout else _NONE for host in hosts]
    starts = [host.start for host in hosts]
    cpu, memory = _read(snapshot.arena, [p.host[:, None] for p in positions] or [_NONE.host[:, None]], starts or [0])
    busy, temperature, power, used, total = _read(
        snapshot.arena, [p.gpus for p in positions] or [_NONE.gpus], starts or [0]
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(total > 0, used / total, np.nan)
    return Overview(
        generation=snapshot.generation,
        time_unix=round(now_ns / 1e9, 3),
        warming=warming,
        hosts=FleetNames([host.name for host in hosts], [place.gpu_count for place in positions]),
        status=[int(status) for status in statuses],
        age_seconds=_ages(hosts, now_ns),
        clock_skew_seconds=[None if (s := host.clock_skew_seconds) is None else round(s, 4) for host in hosts],
        unavailable=[len(host.unavailable) for host in hosts],
        cpu_ratio=_rounded(cpu[: len(hosts)], 4),
        memory_ratio=_rounded(memory[: len(hosts)], 4),
        gpu_utilization_ratio=_rounded(busy, 3),
        gpu_memory_ratio=_rounded(share, 4),
        gpu_temperature_celsius=_rounded(temperature, 1),
        gpu_power_watts=_rounded(power, 1),
        attention=[found.attention.get(host.name, 0) for host in hosts],
        primary=[found.primary.get(host.name) for host in hosts],
        active=found.counts,
        worst=[entry_answer(entry) for entry in found.worst],
        refused_agents=recently_refused(refused, now_ns),
    )


def _ages(hosts: Sequence[HostView], now_ns: int) -> list[float]:
    received = np.array([host.received_ns for host in hosts], np.float64)
    return _rounded(np.where(received > 0, np.maximum(0, now_ns - received) / 1e9, np.nan), 1)


def _rounded(values: NDArray[np.float64], digits: int) -> list[float]:
    rounded: list[float] = np.round(values, digits).tolist()  # msgspec writes NaN as null
    return rounded


class Overviews:
    """Shares answers while they are recent. They are made off the event loop, from a copy."""

    def __init__(
        self,
        fleet: Fleet,
        settings: CollectorSettings,
        timeline: Timeline,
        conditions: LiveConditions,
        findings: FindingSource,
        refused_agents: Callable[[], Sequence[RefusedAgent]],
    ) -> None:
        self._fleet = fleet
        self._refused_agents = refused_agents
        self._timeline = timeline
        self._conditions = conditions
        self._findings = findings
        self._not_reporting_after_ns = int(settings.not_reporting_after_seconds * 1e9)
        self._task: asyncio.Task[None] | None = None
        self._rendered_ns = 0
        self._generation = -1
        self._full = b""
        self._brief = b""

    async def answer(self, generation: int | None, now_ns: int, *, warming: bool) -> bytes:
        """Return gzipped JSON, without names if the caller has those of this generation."""
        while not 0 <= now_ns - self._rendered_ns < _FRESH_NS:
            if self._task is None:
                self._task = asyncio.create_task(self._make(now_ns, warming=warming), name="overview")
            await asyncio.shield(self._task)
        return self._brief if generation == self._generation else self._full

    async def _make(self, now_ns: int, *, warming: bool) -> None:
        try:
            snapshot = self._fleet.snapshot(now_ns)
            statuses = [self._status(host, now_ns) for host in self._fleet.hosts()]
            found = findings_of(self._timeline.active(), self._findings.of_fleet().primary)
            found = replace(found, worst=live_entries(self._conditions, found.worst))
            make = partial(
                make_overview, snapshot, statuses, now_ns, warming=warming, found=found, refused=self._refused_agents()
            )
            self._full, self._brief = await asyncio.to_thread(_encode, make)
            self._generation, self._rendered_ns = snapshot.generation, now_ns
        finally:
            self._task = None

    def _status(self, host: HostState, now_ns: int) -> Status:
        return status_of(host, now_ns, self._not_reporting_after_ns)


def _encode(make: Callable[[], Overview]) -> tuple[bytes, bytes]:
    overview = make()
    brief = msgspec.structs.replace(overview, hosts=None)
    return tuple(gzip.compress(msgspec.json.encode(each), 1, mtime=0) for each in (overview, brief))  # type: ignore[return-value]  # there are two
