"""The whole fleet in one small columnar answer, made at most once a second, however many look."""

import asyncio
import gzip
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import msgspec
import numpy as np
from numpy.typing import NDArray

from flyball_collector.diagnosis.kinds import Severity
from flyball_collector.exporter.renderings import Findings
from flyball_collector.fleet.fleet import Fleet
from flyball_collector.fleet.host import HostState
from flyball_collector.fleet.snapshot import HostView, Snapshot
from flyball_collector.http.status import Status, status_of
from flyball_collector.settings import CollectorSettings
from flyball_collector.tick import KnownLayout
from flyball_collector.timeline.answer import EntryAnswer, entry_answer
from flyball_collector.timeline.entry import Entry
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
_NOWHERE = -1


class ActiveCounts(msgspec.Struct, frozen=True):
    """How many conditions stand."""

    critical: int = 0
    warning: int = 0
    info: int = 0


class FleetNames(msgspec.Struct, frozen=True):
    """What changes only with the generation."""

    names: list[str]
    gpus: list[int]


class Overview(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One value a host, in the order of the names; `gpu_*`: one value a GPU, host by host. null is unknown."""

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
    attention: list[int]  # the worst that stands: 0 nothing, 1 info, 2 warning, 3 critical
    primary: list[str | None]  # what bounds the host most
    active: ActiveCounts
    worst: list[EntryAnswer]  # warnings and worse, the worst first; not all


@dataclass(frozen=True, slots=True)
class Found:
    """What the diagnosis says, as far as the overview shows it."""

    attention: Mapping[str, int]
    primary: Mapping[str, str]
    counts: ActiveCounts
    worst: Sequence[Entry]


NOTHING = Found({}, {}, ActiveCounts(), ())


@dataclass(frozen=True, slots=True)
class _Places:
    """Where a layout keeps what the overview shows, relative to the host's start."""

    host: NDArray[np.int64]  # one a HOST_VALUES
    gpus: NDArray[np.int64]  # GPU_VALUES × GPU

    @property
    def gpu_count(self) -> int:
        return int(self.gpus.shape[1])


_NONE = _Places(np.full(len(HOST_VALUES), _NOWHERE), np.full((len(GPU_VALUES), 0), _NOWHERE))


@lru_cache(maxsize=8192)
def _places(layout: KnownLayout) -> _Places:
    """Found once a layout."""
    columns = layout.layout.columns
    unlabelled = {c.metric.name: i for i, c in enumerate(columns) if not c.labels}
    by_gpu = {
        (c.metric.name, c.labels[c.metric.labels.index("gpu")]): i
        for i, c in enumerate(columns)
        if c.metric.name in GPU_VALUES and "gpu" in c.metric.labels
    }
    gpus = list(dict.fromkeys(gpu for _, gpu in by_gpu))[:MAX_GPUS]
    host = [unlabelled.get(name, _NOWHERE) for name in HOST_VALUES.values()]
    each = [[by_gpu.get((name, gpu), _NOWHERE) for gpu in gpus] for name in GPU_VALUES.values()]
    return _Places(np.array(host, np.int64), np.array(each, np.int64).reshape(len(GPU_VALUES), len(gpus)))


def _read(
    arena: NDArray[np.float64], places: Sequence[NDArray[np.int64]], starts: Sequence[int]
) -> NDArray[np.float64]:
    """Values at places that are relative to starts; NaN where there is none."""
    relative = np.concatenate(places, axis=-1)
    lengths = [each.shape[-1] for each in places]
    absolute = relative + np.repeat(np.array(starts, np.int64), lengths)
    return np.where(
        relative == _NOWHERE, np.nan, np.append(arena, np.nan)[np.where(relative == _NOWHERE, -1, absolute)]
    )


def found_now(active: Sequence[Entry], primary: Iterable[tuple[str, str]]) -> Found:
    """From what stands, the worst first."""
    attention: dict[str, int] = {}
    for entry in active:
        if entry.host:
            attention[entry.host] = max(attention.get(entry.host, 0), entry.badness + 1)
    counts = Counter(entry.severity for entry in active)
    worst = [entry for entry in active[:MAX_WORST] if entry.badness >= Severity.WARNING]
    told = ActiveCounts(counts["critical"], counts["warning"], counts["info"])
    return Found(attention, dict(primary), told, worst)


def make_overview(
    snapshot: Snapshot, statuses: Sequence[Status], now_ns: int, *, warming: bool, found: Found = NOTHING
) -> Overview:
    """The answer, names included."""
    hosts = snapshot.hosts
    places = [_places(host.layout) if host.layout else _NONE for host in hosts]
    starts = [host.start for host in hosts]
    cpu, memory = _read(snapshot.arena, [p.host[:, None] for p in places] or [_NONE.host[:, None]], starts or [0])
    busy, heat, power, used, total = _read(snapshot.arena, [p.gpus for p in places] or [_NONE.gpus], starts or [0])
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(total > 0, used / total, np.nan)
    return Overview(
        generation=snapshot.generation,
        time_unix=round(now_ns / 1e9, 3),
        warming=warming,
        hosts=FleetNames([host.name for host in hosts], [place.gpu_count for place in places]),
        status=[int(status) for status in statuses],
        age_seconds=_ages(hosts, now_ns),
        clock_skew_seconds=[None if (s := host.clock_skew_seconds) is None else round(s, 4) for host in hosts],
        unavailable=[len(host.unavailable) for host in hosts],
        cpu_ratio=_rounded(cpu[: len(hosts)], 4),
        memory_ratio=_rounded(memory[: len(hosts)], 4),
        gpu_utilization_ratio=_rounded(busy, 3),
        gpu_memory_ratio=_rounded(share, 4),
        gpu_temperature_celsius=_rounded(heat, 1),
        gpu_power_watts=_rounded(power, 1),
        attention=[found.attention.get(host.name, 0) for host in hosts],
        primary=[found.primary.get(host.name) for host in hosts],
        active=found.counts,
        worst=[entry_answer(entry) for entry in found.worst],
    )


def _ages(hosts: Sequence[HostView], now_ns: int) -> list[float]:
    received = np.array([host.received_ns for host in hosts], np.float64)
    return _rounded(np.where(received > 0, np.maximum(0, now_ns - received) / 1e9, np.nan), 1)


def _rounded(values: NDArray[np.float64], digits: int) -> list[float]:
    rounded: list[float] = np.round(values, digits).tolist()  # msgspec writes NaN as null
    return rounded


class Overviews:
    """Answers that are shared while fresh; made off the event loop from a copy taken on it."""

    def __init__(self, fleet: Fleet, settings: CollectorSettings, timeline: Timeline, findings: Findings) -> None:
        self._fleet = fleet
        self._timeline = timeline
        self._findings = findings
        self._not_reporting_after_ns = int(settings.not_reporting_after_seconds * 1e9)
        self._making: asyncio.Task[None] | None = None
        self._made_ns = 0
        self._generation = -1
        self._whole = b""
        self._brief = b""

    async def answer(self, generation: int | None, now_ns: int, *, warming: bool) -> bytes:
        """gzipped JSON; without names for a caller that has those of this generation."""
        while not 0 <= now_ns - self._made_ns < _FRESH_NS:
            if self._making is None:
                self._making = asyncio.create_task(self._make(now_ns, warming=warming), name="overview")
            await asyncio.shield(self._making)
        return self._brief if generation == self._generation else self._whole

    async def _make(self, now_ns: int, *, warming: bool) -> None:
        try:
            snapshot = self._fleet.snapshot(now_ns)
            statuses = [self._status(host, now_ns) for host in self._fleet.hosts()]
            found = found_now(self._timeline.active(), self._findings.of_fleet().primary)
            made = await asyncio.to_thread(_encode, snapshot, statuses, now_ns, found, warming=warming)
            self._whole, self._brief = made
            self._generation, self._made_ns = snapshot.generation, now_ns
        finally:
            self._making = None

    def _status(self, host: HostState, now_ns: int) -> Status:
        return status_of(host, now_ns, self._not_reporting_after_ns)


def _encode(
    snapshot: Snapshot, statuses: Sequence[Status], now_ns: int, found: Found, *, warming: bool
) -> tuple[bytes, bytes]:
    overview = make_overview(snapshot, statuses, now_ns, warming=warming, found=found)
    brief = msgspec.structs.replace(overview, hosts=None)
    return tuple(gzip.compress(msgspec.json.encode(each), 1, mtime=0) for each in (overview, brief))  # type: ignore[return-value]  # two of them
