"""Series from CSV files as samples: one a host and instant, played without holding all of them."""

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

from flyball_collector.engine.player import About, Key, Outline, Sample, usual_intervals
from flyball_collector.replay.csv_rows import GPU_COLUMNS, HOST_COLUMNS, NUMBERS, Row, read_rows
from flyball_collector.replay.errors import ReplayError
from flyball_collector.replay.holdings import Holdings, Noted
from flyball_collector.replay.sorted_rows import SortedRows
from flyball_proto.v1 import telemetry_pb2 as pb

RUN = "replay"
"""The run that steps of a CSV file belong to."""

MAX_GAPS = 10_000
"""The usual time between two samples of a host is that of the first so many."""


@dataclass(slots=True)
class _Survey:
    """What is noted of all rows, one after the other."""

    samples: int = 0
    first_seconds: float = 0.0
    newest: dict[str, float] = field(default_factory=dict)  # of each host: the seconds of its last sample
    shapes: dict[str, dict["_Shape", None]] = field(default_factory=dict)  # of each host: which numbers rows have
    workers: dict[str, None] = field(default_factory=dict)
    gaps: dict[str, "array[float]"] = field(default_factory=dict)  # of each host: from one sample to the next
    held: Noted = field(default_factory=Noted)

    def note(self, row: Row) -> None:
        """In rising time."""
        last = self.newest.get(row.host)
        if last != row.seconds:
            self._note_sample(row, last)
        self.shapes.setdefault(row.host, {})[_Shape(row.present, row.gpu)] = None
        if row.worker:
            self.workers[row.worker] = None
        self._note_held(row)

    def _note_held(self, row: Row) -> None:
        columns = _columns(_Shape(row.present, row.gpu))
        busy = row.numbers[columns.busy] if columns.busy is not None else None
        step = columns.step_seconds is not None
        self.held.note(row.host, row.seconds, row.worker, columns.gpu, busy, step=step)

    def _note_sample(self, row: Row, last: float | None) -> None:
        if not self.samples:
            self.first_seconds = row.seconds
        self.samples += 1
        self.newest[row.host] = row.seconds
        gaps = self.gaps.setdefault(row.host, array("d"))
        if last is not None and len(gaps) < MAX_GAPS:
            gaps.append(row.seconds - last)

    def outline(self, holdings: Holdings) -> Outline:
        """For playing them."""
        keys = {
            host: {key for shape in shapes for key in _columns(shape).every} for host, shapes in self.shapes.items()
        }
        about = About(tenancies=holdings.tenancies)
        return Outline(self.first_seconds, usual_intervals(self.gaps), keys, self.newest, about)


@dataclass(frozen=True)
class CsvSeries:
    """Rows of one or more files in rising time."""

    rows: SortedRows
    ignored: tuple[str, ...]  # columns that are none of ours

    @cached_property
    def _survey(self) -> _Survey:
        survey = _Survey()
        for row in self.rows:
            survey.note(row)
        return survey

    @property
    def count(self) -> int:
        """Of samples."""
        return self._survey.samples

    @property
    def outline(self) -> Outline:
        """What must be known before the first sample is played."""
        return self._survey.outline(self.holdings)

    @cached_property
    def workers(self) -> tuple[str, ...]:
        """By rank."""
        return tuple(sorted(self._survey.workers, key=_natural))

    @cached_property
    def _ranks(self) -> dict[str, int]:
        return {worker: rank for rank, worker in enumerate(self.workers)}

    @cached_property
    def holdings(self) -> Holdings:
        """Which ranks hold which GPUs."""
        return self._survey.held.holdings(RUN, self._ranks)

    def samples(self) -> Iterator[Sample]:
        """One sample a host and instant."""
        for _, together in groupby(self.rows, key=attrgetter("seconds")):
            yield from _samples(together, self._ranks, self.holdings)


def read(paths: Sequence[Path | str]) -> CsvSeries:
    """Read files, packed by gzip or not; raises `ReplayError` that names the line."""
    ignored: dict[str, None] = {}
    rows = SortedRows(row for path in paths for row in read_rows(path, ignored))
    if not rows:
        raise ReplayError(f"{', '.join(map(str, paths))}: no rows; expected a header line and one line a sample")
    return CsvSeries(rows, tuple(ignored))


def _samples(rows: Iterable[Row], ranks: Mapping[str, int], holdings: Holdings) -> Iterator[Sample]:
    """The rows of one instant, host by host."""
    hosts: dict[str, list[Row]] = {}
    for row in rows:
        hosts.setdefault(row.host, []).append(row)
    for host, own in hosts.items():
        readings: dict[Key, float] = {}
        steps = []
        for row in own:
            columns = _columns(_Shape(row.present, row.gpu))
            told = dict(zip(columns.told, row.numbers, strict=False))
            readings |= told | _memory(told) if columns.of_memory else told
            if columns.step_seconds is not None:
                steps.append(_step(row, columns.step_seconds, columns.step, ranks))
        seconds = own[0].seconds
        yield Sample(seconds, host, readings, steps, own[-1].text, holdings.digest(host, seconds))


class _Shape(NamedTuple):
    """Which numbers a row has, of which GPU."""

    present: int
    gpu: str


class _Columns(NamedTuple):
    """What the numbers of rows of one shape are."""

    told: tuple[Key, ...]  # the first of the numbers
    every: tuple[Key, ...]  # and what follows from them
    of_memory: bool  # something may follow
    step_seconds: int | None  # places among the numbers
    step: int | None
    busy: int | None
    gpu: str  # whose readings they are; empty: of none


_USED, _TOTAL, _RATIO, _AVAILABLE = (
    (f"memory_{name}", ()) for name in ("used_bytes", "total_bytes", "used_ratio", "available_bytes")
)


@lru_cache(maxsize=4096)
def _columns(shape: _Shape) -> _Columns:
    gpu = shape.gpu or "0"
    labels = (("gpu", gpu), ("index", gpu if gpu.isdecimal() else ""))
    names = [name for bit, name in enumerate(NUMBERS) if shape.present >> bit & 1]
    places = {name: place for place, name in enumerate(names)}
    told = tuple((name, labels if name in GPU_COLUMNS else ()) for name in names if name in _READINGS)
    follows = _memory(dict.fromkeys(told, 1.0))
    of_gpu = gpu if not places.keys().isdisjoint(GPU_COLUMNS) else ""
    steps = places.get("step_seconds"), places.get("step")
    return _Columns(told, (*told, *follows), bool(follows), *steps, places.get("gpu_utilization_ratio"), of_gpu)


_READINGS = frozenset({*GPU_COLUMNS, *HOST_COLUMNS})


def _memory(told: Mapping[Key, float]) -> dict[Key, float]:
    """What follows from the other figures of the host's memory."""
    used, total, ratio = told.get(_USED), told.get(_TOTAL), told.get(_RATIO)
    derived: dict[Key, float] = {}
    if used is None and ratio is not None and total is not None:
        used = derived[_USED] = ratio * total
    if used is not None and total:
        derived[_AVAILABLE] = max(0.0, total - used)
        if ratio is None:
            derived[_RATIO] = used / total
    return derived


def _step(row: Row, step_seconds: int, step: int | None, ranks: Mapping[str, int]) -> pb.StepReport:
    return pb.StepReport(
        run=RUN,
        rank=ranks[row.worker],
        world_size=len(ranks),
        step=0 if step is None else int(row.numbers[step]),
        steps=1,
        step_seconds=row.numbers[step_seconds],
    )


def _natural(name: str) -> tuple[int, int, str]:
    """Numbers by value, before other names."""
    return (0, int(name), name) if name.isdecimal() else (1, 0, name)
