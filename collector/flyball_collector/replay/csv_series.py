"""Reads series from CSV files, and from files of other tools."""

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

from flyball_collector.engine.player import Key, Outline, RecordedSample, RecordingContext, usual_intervals
from flyball_collector.replay.csv_rows import GPU_COLUMNS, HOST_COLUMNS, NUMBERS, CsvRow
from flyball_collector.replay.errors import ReplayError
from flyball_collector.replay.holdings import Holdings, HoldingsObserver
from flyball_collector.replay.input_options import InputOptions
from flyball_collector.replay.input_rows import read_rows
from flyball_collector.replay.sorted_rows import SortedRows
from flyball_proto.v1 import telemetry_pb2 as pb

RUN = "replay"
"""The run of a CSV file's steps."""

MAX_GAPS = 10_000
"""Number of gaps from which the usual time between two samples of a host is computed."""


@dataclass(slots=True)
class _Survey:
    """Facts about all rows, collected in one pass."""

    samples: int = 0
    first_seconds: float = 0.0
    newest: dict[str, float] = field(default_factory=dict)  # by host: the time of its last sample
    shapes: dict[str, dict["_Shape", None]] = field(default_factory=dict)  # by host: the shapes of its rows
    workers: dict[str, None] = field(default_factory=dict)
    gaps: dict[str, "array[float]"] = field(default_factory=dict)  # by host: times between samples
    observer: HoldingsObserver = field(default_factory=HoldingsObserver)

    def add(self, row: CsvRow) -> None:
        """Add a row. Rows must be in rising time."""
        last = self.newest.get(row.host)
        if last != row.seconds:
            self._add_sample(row, last)
        self.shapes.setdefault(row.host, {})[_Shape(row.present, row.gpu)] = None
        if row.worker:
            self.workers[row.worker] = None
        self._observe(row)

    def _observe(self, row: CsvRow) -> None:
        columns = _columns(_Shape(row.present, row.gpu))
        busy = row.numbers[columns.busy] if columns.busy is not None else None
        step = columns.step_seconds is not None
        self.observer.observe(row.host, row.seconds, row.worker, columns.gpu, busy, step=step)

    def _add_sample(self, row: CsvRow, last: float | None) -> None:
        if not self.samples:
            self.first_seconds = row.seconds
        self.samples += 1
        self.newest[row.host] = row.seconds
        gaps = self.gaps.setdefault(row.host, array("d"))
        if last is not None and len(gaps) < MAX_GAPS:
            gaps.append(row.seconds - last)

    def outline(self, holdings: Holdings) -> Outline:
        """Return the outline for the replay."""
        keys = {
            host: {key for shape in shapes for key in _columns(shape).every} for host, shapes in self.shapes.items()
        }
        about = RecordingContext(tenancies=holdings.tenancies)
        return Outline(self.first_seconds, usual_intervals(self.gaps), keys, self.newest, about)


@dataclass(frozen=True)
class CsvSeries:
    """Rows of one or more files in rising time."""

    rows: SortedRows
    ignored: tuple[str, ...]  # unknown columns

    @cached_property
    def _survey(self) -> _Survey:
        survey = _Survey()
        for row in self.rows:
            survey.add(row)
        return survey

    @property
    def count(self) -> int:
        """Return the number of samples."""
        return self._survey.samples

    @property
    def outline(self) -> Outline:
        """Return the facts that are needed before the first sample is replayed."""
        return self._survey.outline(self.holdings)

    @cached_property
    def workers(self) -> tuple[str, ...]:
        """Return the workers by rank."""
        return tuple(sorted(self._survey.workers, key=_natural))

    @cached_property
    def _ranks(self) -> dict[str, int]:
        return {worker: rank for rank, worker in enumerate(self.workers)}

    @cached_property
    def holdings(self) -> Holdings:
        """Return the ranks that hold each GPU."""
        return self._survey.observer.holdings(RUN, self._ranks)

    def samples(self) -> Iterator[RecordedSample]:
        """Yield one sample for each host and instant."""
        for _, together in groupby(self.rows, key=attrgetter("seconds")):
            yield from _samples(together, self._ranks, self.holdings)


def read(paths: Sequence[Path | str], options: InputOptions | None = None) -> CsvSeries:
    """Read files, compressed by gzip or not. Raises `ReplayError` with the line."""
    options = options or InputOptions()
    ignored: dict[str, None] = {}
    rows = SortedRows(row for path in paths for row in read_rows(path, ignored, options))
    if not rows:
        raise ReplayError(f"{', '.join(map(str, paths))}: no rows; expected a header line and one line for each sample")
    return CsvSeries(rows, tuple(ignored))


def _samples(rows: Iterable[CsvRow], ranks: Mapping[str, int], holdings: Holdings) -> Iterator[RecordedSample]:
    """Yield the samples of one instant, host by host."""
    hosts: dict[str, list[CsvRow]] = {}
    for row in rows:
        hosts.setdefault(row.host, []).append(row)
    for host, own in hosts.items():
        readings: dict[Key, float] = {}
        steps = []
        for row in own:
            columns = _columns(_Shape(row.present, row.gpu))
            given = dict(zip(columns.given, row.numbers, strict=False))
            readings |= given | _memory(given) if columns.of_memory else given
            if columns.step_seconds is not None:
                steps.append(_step(row, columns.step_seconds, columns.step, ranks))
        seconds = own[0].seconds
        yield RecordedSample(seconds, host, readings, steps, own[-1].text, holdings.digest(host, seconds))


class _Shape(NamedTuple):
    """The numbers that a row has, and their GPU."""

    present: int
    gpu: str


class _Columns(NamedTuple):
    """The meaning of the numbers in rows of one shape."""

    given: tuple[Key, ...]  # the first of the numbers
    every: tuple[Key, ...]  # with derived ones
    of_memory: bool  # some can be derived
    step_seconds: int | None  # positions among the numbers
    step: int | None
    busy: int | None
    gpu: str  # the GPU of the readings, or empty


_USED, _TOTAL, _RATIO, _AVAILABLE = (
    (f"memory_{name}", ()) for name in ("used_bytes", "total_bytes", "used_ratio", "available_bytes")
)


@lru_cache(maxsize=4096)
def _columns(shape: _Shape) -> _Columns:
    gpu = shape.gpu or "0"
    labels = (("gpu", gpu), ("index", gpu if gpu.isdecimal() else ""))
    names = [name for bit, name in enumerate(NUMBERS) if shape.present >> bit & 1]
    places = {name: place for place, name in enumerate(names)}
    given = tuple((name, labels if name in GPU_COLUMNS else ()) for name in names if name in _READINGS)
    derived = _memory(dict.fromkeys(given, 1.0))
    of_gpu = gpu if not places.keys().isdisjoint(GPU_COLUMNS) else ""
    steps = places.get("step_seconds"), places.get("step")
    return _Columns(given, (*given, *derived), bool(derived), *steps, places.get("gpu_utilization_ratio"), of_gpu)


_READINGS = frozenset({*GPU_COLUMNS, *HOST_COLUMNS})


def _memory(given: Mapping[Key, float]) -> dict[Key, float]:
    """Return the figures of the host's memory that follow from the given ones."""
    used, total, ratio = given.get(_USED), given.get(_TOTAL), given.get(_RATIO)
    derived: dict[Key, float] = {}
    if used is None and ratio is not None and total is not None:
        used = derived[_USED] = ratio * total
    if used is not None and total:
        derived[_AVAILABLE] = max(0.0, total - used)
        if ratio is None:
            derived[_RATIO] = used / total
    return derived


def _step(row: CsvRow, step_seconds: int, step: int | None, ranks: Mapping[str, int]) -> pb.StepReport:
    return pb.StepReport(
        run=RUN,
        rank=ranks[row.worker],
        world_size=len(ranks),
        step=0 if step is None else int(row.numbers[step]),
        steps=1,
        step_seconds=row.numbers[step_seconds],
    )


def _natural(name: str) -> tuple[int, int, str]:
    """Return a key that sorts numbers by value, before other names."""
    return (0, int(name), name) if name.isdecimal() else (1, 0, name)
