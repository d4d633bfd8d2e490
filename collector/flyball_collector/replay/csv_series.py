"""Series from CSV files with named columns."""

import csv
import gzip
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TextIO

from flyball_collector.diagnosis.player import Key, Sample
from flyball_collector.replay.errors import ReplayError
from flyball_proto.v1 import telemetry_pb2 as pb

RUN = "replay"
"""The run that steps of a CSV file belong to."""

GPU_COLUMNS = (
    "gpu_utilization_ratio",
    "gpu_memory_used_bytes",
    "gpu_memory_total_bytes",
    "gpu_power_watts",
    "gpu_power_limit_watts",
    "gpu_temperature_celsius",
    "gpu_slowdown_temperature_celsius",
    "gpu_sm_clock_hertz",
)
HOST_COLUMNS = ("memory_used_ratio", "memory_used_bytes", "memory_total_bytes", "cpu_busy_ratio")
STEP_COLUMNS = ("step_seconds", "step", "worker")
COLUMNS = ("timestamp", "host", "gpu", *GPU_COLUMNS, *HOST_COLUMNS, *STEP_COLUMNS)

_NUMBERS = (*GPU_COLUMNS, *HOST_COLUMNS, "step_seconds", "step")
_UNKNOWN = frozenset({"", "nan", "null", "none", "n/a", "na"})
_LATEST = 1e11
"""Beyond the year 5000: milliseconds, most likely."""


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a file."""

    text: str  # the timestamp as it stands there
    seconds: float
    host: str
    gpu: str
    worker: str
    numbers: dict[str, float]


@dataclass(frozen=True, slots=True)
class CsvSeries:
    """Rows of one or more files in rising time."""

    rows: tuple[Row, ...]
    workers: tuple[str, ...]  # by rank
    ignored: tuple[str, ...]  # columns that are none of ours

    def samples(self) -> Iterator[Sample]:
        """One sample a host and instant."""
        ranks = {worker: rank for rank, worker in enumerate(self.workers)}
        together: list[Row] = []
        for row in self.rows:
            if together and row.seconds != together[0].seconds:
                yield from _samples(together, ranks)
                together = []
            together.append(row)
        yield from _samples(together, ranks)


def read(paths: Sequence[Path | str]) -> CsvSeries:
    """Read files, packed by gzip or not; raises `ReplayError` that names the line."""
    rows: list[Row] = []
    ignored: dict[str, None] = {}
    for path in paths:
        try:
            with _open(Path(path)) as file:
                rows += _rows(file, str(path), ignored)
        except (OSError, EOFError, UnicodeDecodeError, csv.Error) as error:
            raise ReplayError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from None
    if not rows:
        raise ReplayError(f"{', '.join(map(str, paths))}: no rows; expected a header line and one line a sample")
    rows.sort(key=lambda row: row.seconds)
    workers = sorted({row.worker for row in rows if row.worker}, key=_natural)
    return CsvSeries(tuple(rows), tuple(workers), tuple(ignored))


def _open(path: Path) -> TextIO:
    if path.suffix == ".gz":
        return gzip.open(path, "rt", encoding="utf-8-sig", newline="")
    return path.open(encoding="utf-8-sig", newline="")


def _rows(file: Iterable[str], name: str, ignored: dict[str, None]) -> Iterator[Row]:
    reader = csv.DictReader(file, skipinitialspace=True)
    header = [column.strip() for column in reader.fieldnames or ()]
    reader.fieldnames = header
    if "timestamp" not in header:
        raise ReplayError(f"{name}:1: no column 'timestamp'; known columns are {', '.join(COLUMNS)}")
    if not set(header) & {*GPU_COLUMNS, *HOST_COLUMNS, "step_seconds"}:
        raise ReplayError(f"{name}:1: no column with readings; known columns are {', '.join(COLUMNS)}")
    ignored.update(dict.fromkeys(column for column in header if column not in COLUMNS))
    for line in reader:
        yield _row(line, f"{name}:{reader.line_num}")


def _row(line: dict[str, str | None], where: str) -> Row:
    cells = {name: (value or "").strip() for name, value in line.items() if isinstance(name, str)}
    text = cells["timestamp"]
    numbers = {name: number for name in _NUMBERS if (number := _number(cells.get(name, ""), name, where)) is not None}
    gpu, worker = cells.get("gpu", ""), cells.get("worker", "")
    host = cells.get("host", "") or worker or "host"
    if "step_seconds" in numbers:
        worker = worker or host
    return Row(text, _time(text, where), host, gpu, worker, numbers)


def _number(cell: str, column: str, where: str) -> float | None:
    if cell.lower() in _UNKNOWN:
        return None
    try:
        number = float(cell)
    except ValueError:
        raise ReplayError(f"{where}: {column}: {cell!r} is no number; leave the cell empty where unknown") from None
    if math.isnan(number):
        return None
    if math.isinf(number) or number < 0 or number > 1e15:
        raise ReplayError(f"{where}: {column}: {cell} is out of range")
    return number


def _time(text: str, where: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        return _instant(text, where)
    if not 0 <= seconds < _LATEST:
        raise ReplayError(
            f"{where}: timestamp {text} is out of range; expected seconds, or a date and time by ISO 8601"
        )
    return seconds


def _instant(text: str, where: str) -> float:
    try:
        instant = datetime.fromisoformat(text)
    except ValueError:
        hint = "expected seconds, or a date and time by ISO 8601 such as 2026-01-31T12:00:00Z"
        raise ReplayError(f"{where}: timestamp {text!r}: {hint}") from None
    return (instant if instant.tzinfo else instant.replace(tzinfo=UTC)).timestamp()


def _samples(rows: Sequence[Row], ranks: dict[str, int]) -> Iterator[Sample]:
    """The rows of one instant, host by host."""
    hosts: dict[str, list[Row]] = {}
    for row in rows:
        hosts.setdefault(row.host, []).append(row)
    for host, own in hosts.items():
        readings: dict[Key, float] = {}
        for row in own:
            readings.update(_readings(row))
        steps = [_step(row, ranks) for row in own if "step_seconds" in row.numbers]
        yield Sample(own[0].seconds, host, readings, steps, own[-1].text)


def _readings(row: Row) -> dict[Key, float]:
    gpu = row.gpu or "0"
    labels = (("gpu", gpu), ("index", gpu if gpu.isdecimal() else ""))
    found: dict[Key, float] = {(name, labels): row.numbers[name] for name in GPU_COLUMNS if name in row.numbers}
    found.update({(name, ()): row.numbers[name] for name in HOST_COLUMNS if name in row.numbers})
    found.update({(name, ()): value for name, value in _memory(row.numbers).items()})
    return found


def _memory(numbers: dict[str, float]) -> dict[str, float]:
    """What follows from the other figures of the host's memory."""
    used, total = numbers.get("memory_used_bytes"), numbers.get("memory_total_bytes")
    ratio = numbers.get("memory_used_ratio")
    derived: dict[str, float] = {}
    if used is None and ratio is not None and total is not None:
        used = derived["memory_used_bytes"] = ratio * total
    if used is not None and total:
        derived["memory_available_bytes"] = max(0.0, total - used)
        if ratio is None:
            derived["memory_used_ratio"] = used / total
    return derived


def _step(row: Row, ranks: dict[str, int]) -> pb.StepReport:
    return pb.StepReport(
        run=RUN,
        rank=ranks[row.worker],
        world_size=len(ranks),
        step=int(row.numbers.get("step", 0)),
        steps=1,
        step_seconds=row.numbers["step_seconds"],
    )


def _natural(name: str) -> tuple[int, int, str]:
    """Numbers by value, before other names."""
    return (0, int(name), name) if name.isdecimal() else (1, 0, name)
