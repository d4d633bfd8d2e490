"""Reads rows from CSV files with named columns: the valid cells of each column, and errors with file and line."""

import csv
import gzip
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from difflib import get_close_matches
from io import TextIOWrapper
from pathlib import Path
from types import MappingProxyType
from typing import TextIO

import msgspec

from flyball_collector.replay.csv_times import seconds_of
from flyball_collector.replay.errors import ReplayError
from flyball_collector.replay.input_options import SourceColumn
from flyball_daemon.file_faults import read_fault

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
"""The columns of numbers. Bit n of `CsvRow.present` is the n-th."""

NONE_RENAMED: Mapping[str, SourceColumn] = MappingProxyType({})

_KNOWN = f"known columns are {', '.join(COLUMNS)}"
_GZIP = b"\x1f\x8b"  # the beginning of gzip files (RFC 1952)
_UNKNOWN = frozenset({"", "nan", "null", "none", "n/a", "na"})
_SHOWN = 40  # columns in a message
_MAX_NUMBER = 1e15
_MAX_RATIO = 1.5
"""A ratio may exceed 1 a little by rounding or at an exceeded limit. Larger values are percent."""


class CsvRow(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """One line of a file."""

    seconds: float
    text: str  # the timestamp as written
    host: str
    gpu: str
    worker: str
    present: int  # which of `NUMBERS` are present
    numbers: tuple[float, ...]  # their values, in order


@contextmanager
def opened(path: Path | str) -> Iterator[TextIO]:
    """Open a text file, compressed or not. What is wrong with it while it is read becomes a `ReplayError`."""
    try:
        with _open(Path(path)) as file:
            yield file
    except UnicodeDecodeError as error:
        byte = error.object[error.start]
        raise ReplayError(f"{path} is not valid UTF-8 (byte 0x{byte:02x}); save it as UTF-8") from None
    except OSError as error:
        raise ReplayError(read_fault(path, error)) from None
    except (EOFError, csv.Error) as error:
        raise ReplayError(f"cannot read {path}: {error}") from None


class _BadCell(Exception):
    """A cell is invalid. The message lacks the line."""


class _Header:
    """The position of each column in a file."""

    def __init__(self, columns: Sequence[str], factors: Mapping[str, float]) -> None:
        place_of = {name: place for place, name in enumerate(columns)}
        self._factors = {name: factor for name, factor in factors.items() if factor != 1.0}
        self._width = len(columns)
        self._time = place_of["timestamp"]
        none = self._width  # the position of an empty cell in a padded line
        self._host, self._gpu, self._worker = (place_of.get(name, none) for name in ("host", "gpu", "worker"))
        self._numbers = [(1 << n, place_of[name], name) for n, name in enumerate(NUMBERS) if name in place_of]
        self._steps = 1 << NUMBERS.index("step_seconds")

    def row(self, line: list[str]) -> CsvRow:
        """Parse one line. Missing cells are empty."""
        line += [""] * (self._width + 1 - len(line))
        present, numbers = 0, []
        for bit, place, name in self._numbers:
            number = _number(line[place], name, self._factors.get(name, 1.0))
            if number is not None:
                present |= bit
                numbers.append(number)
        text, worker = line[self._time].strip(), line[self._worker].strip()
        host, gpu = line[self._host].strip() or worker or "host", line[self._gpu].strip()
        if present & self._steps and not worker:
            worker = f"{host}/{gpu}" if gpu else host
        return CsvRow(_seconds(text), text, host, gpu, worker, present, tuple(numbers))


@contextmanager
def _open(path: Path) -> Iterator[TextIO]:
    """Open a text file; decompress it if it begins like gzip, whatever its name."""
    with path.open("rb") as file:
        packed = file.peek(len(_GZIP))[: len(_GZIP)] == _GZIP
        with (
            gzip.open(file) if packed else nullcontext(file) as plain,
            TextIOWrapper(plain, "utf-8-sig", newline="") as text,
        ):
            yield text


def rows(
    file: Iterable[str], name: str, ignored: dict[str, None], renamed: Mapping[str, SourceColumn] = NONE_RENAMED
) -> Iterator[CsvRow]:
    """Yield the rows of a file in order. `renamed` names columns that are called differently there."""
    reader = csv.reader(file, skipinitialspace=True)
    columns = [column.strip() for column in next(reader, [])]
    if renamed:
        columns = _our_names(columns, renamed, name)
    if (fault := _fault(columns)) is not None:
        raise ReplayError(f"{name}:1: {fault}")
    ignored.update(dict.fromkeys(column for column in columns if column not in COLUMNS))
    header = _Header(columns, {ours: source.factor for ours, source in renamed.items()})
    for line in filter(None, reader):
        try:
            yield header.row(line)
        except _BadCell as bad:
            raise ReplayError(f"{name}:{reader.line_num}: {bad}") from None


def _our_names(columns: Sequence[str], renamed: Mapping[str, SourceColumn], name: str) -> list[str]:
    """Return the header with our names; a column that has our name but was not meant becomes an unknown one."""
    absent = next((source.name for source in renamed.values() if source.name not in columns), None)
    if absent is not None:
        present = ", ".join(map(repr, columns[:_SHOWN]))
        raise ReplayError(f"{name}:1: no column {absent!r}; the file has {present}")
    ours = {source.name: our for our, source in renamed.items()}
    return [ours.get(column, f"{column} (theirs)" if column in renamed else column) for column in columns]


def _fault(columns: Sequence[str]) -> str | None:
    """Return the fault of a header line, or `None`."""
    duplicates = [column for column in COLUMNS if columns.count(column) > 1]
    if duplicates:
        return f"duplicate column {duplicates[0]!r}; name each column once"
    if not any(columns):
        return f"the file is empty; {_KNOWN}"
    if "timestamp" not in columns:
        other = next((mark for mark in (";", "\t", "|") if len(columns) == 1 and mark in columns[0]), None)
        separator = f"columns are separated by {other!r}; expected commas" if other else ""
        return f"no column 'timestamp'; {separator or suggestions(columns) or _KNOWN}"
    if not set(columns) & {*GPU_COLUMNS, *HOST_COLUMNS, "step_seconds"}:
        return f"no column with readings; {suggestions(columns) or _KNOWN}"
    return None


def suggestions(columns: Iterable[str]) -> str:
    """Return a question for each unknown column that is similar to a known one."""
    near = {name: get_close_matches(name, COLUMNS, n=1, cutoff=0.7) for name in columns if name not in COLUMNS}
    return "; ".join(f"{name!r}: did you mean {found[0]!r}?" for name, found in near.items() if found)


def _number(cell: str, column: str, factor: float) -> float | None:
    if not cell:
        return None
    try:
        number = float(cell) * factor
    except ValueError:
        if cell.strip().lower() in _UNKNOWN:
            return None
        raise _BadCell(f"{column}: {cell.strip()!r} is not a number; leave the cell empty if unknown") from None
    if 0 <= number <= (_MAX_RATIO if column.endswith("_ratio") else _MAX_NUMBER):
        return number
    if math.isnan(number):
        return None
    hint = "; expected a ratio from 0 to 1" if column.endswith("_ratio") else ""
    raise _BadCell(f"{column}: {cell.strip()} is out of range{hint}")


def _seconds(text: str) -> float:
    try:
        return seconds_of(text)
    except ValueError as error:
        raise _BadCell(str(error)) from None
