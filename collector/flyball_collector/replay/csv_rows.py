"""Lines of CSV files with named columns as rows: what each cell may hold, and what is said of one that may not."""

import csv
import gzip
import math
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TextIO

import msgspec

from flyball_collector.replay.errors import ReplayError

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

NUMBERS = (*GPU_COLUMNS, *HOST_COLUMNS, "step_seconds", "step")
"""The columns of numbers; bit n of `Row.present` stands for the n-th."""

_UNKNOWN = frozenset({"", "nan", "null", "none", "n/a", "na"})
_LARGEST = 1e15
_LATEST = 1e11
"""Beyond the year 5000: milliseconds, most likely."""


class Row(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """One line of a file."""

    seconds: float
    text: str  # the timestamp as it stands there
    host: str
    gpu: str
    worker: str
    present: int  # which of `NUMBERS` it has
    numbers: tuple[float, ...]  # those, in order


def read_rows(path: Path | str, ignored: dict[str, None]) -> Iterator[Row]:
    """The rows of a file as they stand there; raises `ReplayError` that names the line. Adds columns that are none of
    ours to `ignored`."""
    try:
        with _open(Path(path)) as file:
            yield from _rows(file, str(path), ignored)
    except (OSError, EOFError, UnicodeDecodeError, csv.Error) as error:
        raise ReplayError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from None


class _BadCell(Exception):
    """The message lacks only the line."""


class _Header:
    """Where each column of a file stands."""

    def __init__(self, columns: Sequence[str]) -> None:
        place_of = {name: place for place, name in enumerate(columns)}
        self._width = len(columns)
        self._time = place_of["timestamp"]
        none = self._width  # where a line that was filled up has an empty cell
        self._host, self._gpu, self._worker = (place_of.get(name, none) for name in ("host", "gpu", "worker"))
        self._numbers = [(1 << n, place_of[name], name) for n, name in enumerate(NUMBERS) if name in place_of]
        self._steps = 1 << NUMBERS.index("step_seconds")

    def row(self, line: list[str]) -> Row:
        """One line; missing cells are empty."""
        line += [""] * (self._width + 1 - len(line))
        present, numbers = 0, []
        for bit, place, name in self._numbers:
            number = _number(line[place], name)
            if number is not None:
                present |= bit
                numbers.append(number)
        text, worker = line[self._time].strip(), line[self._worker].strip()
        host = line[self._host].strip() or worker or "host"
        if present & self._steps:
            worker = worker or host
        return Row(_time(text), text, host, line[self._gpu].strip(), worker, present, tuple(numbers))


def _open(path: Path) -> TextIO:
    if path.suffix == ".gz":
        return gzip.open(path, "rt", encoding="utf-8-sig", newline="")
    return path.open(encoding="utf-8-sig", newline="")


def _rows(file: Iterable[str], name: str, ignored: dict[str, None]) -> Iterator[Row]:
    reader = csv.reader(file, skipinitialspace=True)
    columns = [column.strip() for column in next(reader, [])]
    if "timestamp" not in columns:
        raise ReplayError(f"{name}:1: no column 'timestamp'; known columns are {', '.join(COLUMNS)}")
    if not set(columns) & {*GPU_COLUMNS, *HOST_COLUMNS, "step_seconds"}:
        raise ReplayError(f"{name}:1: no column with readings; known columns are {', '.join(COLUMNS)}")
    ignored.update(dict.fromkeys(column for column in columns if column not in COLUMNS))
    header = _Header(columns)
    for line in filter(None, reader):
        try:
            yield header.row(line)
        except _BadCell as bad:
            raise ReplayError(f"{name}:{reader.line_num}: {bad}") from None


def _number(cell: str, column: str) -> float | None:
    if not cell:
        return None
    try:
        number = float(cell)
    except ValueError:
        if cell.strip().lower() in _UNKNOWN:
            return None
        raise _BadCell(f"{column}: {cell.strip()!r} is no number; leave the cell empty where unknown") from None
    if 0 <= number <= _LARGEST:
        return number
    if math.isnan(number):
        return None
    raise _BadCell(f"{column}: {cell.strip()} is out of range")


def _time(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        return _instant(text)
    if not 0 <= seconds < _LATEST:
        raise _BadCell(f"timestamp {text} is out of range; expected seconds, or a date and time by ISO 8601")
    return seconds


def _instant(text: str) -> float:
    try:
        instant = datetime.fromisoformat(text)
    except ValueError:
        hint = "expected seconds, or a date and time by ISO 8601 such as 2026-01-31T12:00:00Z"
        raise _BadCell(f"timestamp {text!r}: {hint}") from None
    return (instant if instant.tzinfo else instant.replace(tzinfo=UTC)).timestamp()
