"""Lines of CSV files with named columns as rows: what each cell may hold, and what is said of one that may not."""

import csv
import gzip
import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from io import TextIOWrapper
from pathlib import Path
from typing import TextIO

import msgspec

from flyball_collector.replay.csv_times import seconds_of
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

_GZIP = b"\x1f\x8b"  # how a packed file begins (RFC 1952)
_UNKNOWN = frozenset({"", "nan", "null", "none", "n/a", "na"})
_LARGEST = 1e15
_LARGEST_RATIO = 1.5
"""A share may be a little more than all, by rounding or where a limit is exceeded; what is larger is percent."""


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
    except UnicodeDecodeError as error:
        byte = error.object[error.start]
        raise ReplayError(f"{path}: cannot be read: byte 0x{byte:02x} is no UTF-8; save the file as UTF-8") from None
    except (OSError, EOFError, csv.Error) as error:
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
        host, gpu = line[self._host].strip() or worker or "host", line[self._gpu].strip()
        if present & self._steps and not worker:
            worker = f"{host}/{gpu}" if gpu else host
        return Row(_seconds(text), text, host, gpu, worker, present, tuple(numbers))


@contextmanager
def _open(path: Path) -> Iterator[TextIO]:
    """The text of a file, unpacked where it begins as gzip does, whatever its name."""
    with path.open("rb") as file:
        packed = file.peek(len(_GZIP))[: len(_GZIP)] == _GZIP
        with (
            gzip.open(file) if packed else nullcontext(file) as plain,
            TextIOWrapper(plain, "utf-8-sig", newline="") as text,
        ):
            yield text


def _rows(file: Iterable[str], name: str, ignored: dict[str, None]) -> Iterator[Row]:
    reader = csv.reader(file, skipinitialspace=True)
    columns = [column.strip() for column in next(reader, [])]
    if (fault := _fault(columns)) is not None:
        raise ReplayError(f"{name}:1: {fault}")
    ignored.update(dict.fromkeys(column for column in columns if column not in COLUMNS))
    header = _Header(columns)
    for line in filter(None, reader):
        try:
            yield header.row(line)
        except _BadCell as bad:
            raise ReplayError(f"{name}:{reader.line_num}: {bad}") from None


def _fault(columns: Sequence[str]) -> str | None:
    """What is wrong with a header line."""
    twice = [column for column in COLUMNS if columns.count(column) > 1]
    if twice:
        return f"column {twice[0]!r} stands there twice; name each once"
    if "timestamp" not in columns:
        other = next((mark for mark in (";", "\t", "|") if len(columns) == 1 and mark in columns[0]), None)
        hint = (
            f"columns are parted by {other!r}; expected commas" if other else f"known columns are {', '.join(COLUMNS)}"
        )
        return f"no column 'timestamp'; {hint}"
    if not set(columns) & {*GPU_COLUMNS, *HOST_COLUMNS, "step_seconds"}:
        return f"no column with readings; known columns are {', '.join(COLUMNS)}"
    return None


def _number(cell: str, column: str) -> float | None:
    if not cell:
        return None
    try:
        number = float(cell)
    except ValueError:
        if cell.strip().lower() in _UNKNOWN:
            return None
        raise _BadCell(f"{column}: {cell.strip()!r} is no number; leave the cell empty where unknown") from None
    if 0 <= number <= (_LARGEST_RATIO if column.endswith("_ratio") else _LARGEST):
        return number
    if math.isnan(number):
        return None
    share = "; expected a share from 0 to 1" if column.endswith("_ratio") else ""
    raise _BadCell(f"{column}: {cell.strip()} is out of range{share}")


def _seconds(text: str) -> float:
    try:
        return seconds_of(text)
    except ValueError as error:
        raise _BadCell(str(error)) from None
