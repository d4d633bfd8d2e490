"""Reads `nvidia-smi --query-gpu=timestamp,index,… --format=csv`, with units or without."""

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from flyball_collector.replay.csv_rows import CsvRow
from flyball_collector.replay.csv_times import seconds_of
from flyball_collector.replay.formats.reading_rows import MEGAHERTZ, MIB, PERCENT, NumberedLines, number_of, row_of

_COLUMNS = {
    "utilization.gpu": ("gpu_utilization_ratio", PERCENT),
    "memory.used": ("gpu_memory_used_bytes", MIB),
    "memory.total": ("gpu_memory_total_bytes", MIB),
    "power.draw": ("gpu_power_watts", 1.0),
    "power.draw.average": ("gpu_power_watts", 1.0),
    "power.draw.instant": ("gpu_power_watts", 1.0),
    "power.limit": ("gpu_power_limit_watts", 1.0),
    "enforced.power.limit": ("gpu_power_limit_watts", 1.0),
    "temperature.gpu": ("gpu_temperature_celsius", 1.0),
    "clocks.current.sm": ("gpu_sm_clock_hertz", MEGAHERTZ),
    "clocks.sm": ("gpu_sm_clock_hertz", MEGAHERTZ),
}
"""Name without its unit → our column and the factor. Of two names for one column, the later in the file counts."""

_GPU = ("index", "uuid", "gpu_uuid", "pci.bus_id", "gpu_bus_id", "serial")
"""Columns that identify the GPU; the first that is there is used."""

_UNITS = ("MiB", "MHz", "%", "W", "C")
_MARKS = (*_COLUMNS, "utilization.memory", "memory.free", "temperature.memory")
_TIME = "%Y/%m/%d %H:%M:%S.%f"


def is_head(line: str) -> bool:
    """Return True for a header line of nvidia-smi."""
    names = {_plain(cell) for cell in line.split(",")}
    return not names.isdisjoint(_MARKS)


def _plain(column: str) -> str:
    """Return a column's name without its unit."""
    return column.split("[", maxsplit=1)[0].strip()


@dataclass(frozen=True, slots=True)
class _Head:
    """The positions of columns."""

    time: int
    gpu: int | None
    readings: tuple[tuple[int, str, float, str], ...]  # place, our name, factor, their name
    width: int


def read(lines: NumberedLines, host: str, ignored: dict[str, None]) -> Iterator[CsvRow]:
    """Yield the rows; a header that is repeated, as in files that were joined, is skipped."""
    reader = csv.reader(lines.lines, skipinitialspace=True)
    head: _Head | None = None
    for cells in reader:
        number = reader.line_num
        if is_head(",".join(cells)):
            head = _head(lines, number, cells, ignored)
        elif not any(cells):
            continue
        elif head is None:
            raise lines.fault(number, "no header line; leave `noheader` out of --format")
        else:
            yield _row(lines, number, cells, head, host)


def _head(lines: NumberedLines, number: int, cells: Sequence[str], ignored: dict[str, None]) -> _Head:
    names = [_plain(cell) for cell in cells]
    if "timestamp" not in names:
        raise lines.fault(number, "no column 'timestamp'; add timestamp to --query-gpu")
    readings = tuple((place, *_COLUMNS[name], name) for place, name in enumerate(names) if name in _COLUMNS)
    if not readings:
        known = ", ".join(_COLUMNS)
        raise lines.fault(number, f"no column with readings; add some of {known} to --query-gpu")
    gpu = next((names.index(name) for name in _GPU if name in names), None)
    ignored.update(dict.fromkeys(n for n in names if n not in _COLUMNS and n not in _GPU and n != "timestamp"))
    return _Head(names.index("timestamp"), gpu, readings, len(names))


def _row(lines: NumberedLines, number: int, cells: Sequence[str], head: _Head, host: str) -> CsvRow:
    if len(cells) < head.width:
        raise lines.fault(number, f"{len(cells)} cells instead of {head.width}; is the end of the file missing?")
    text, values = cells[head.time].strip(), dict[str, float]()
    name = "timestamp"
    try:
        seconds = _seconds(text)
        for place, ours, factor, name in head.readings:  # noqa: B007  the name of the cell that fails
            value = number_of(cells[place], _UNITS)
            if value is not None:
                values[ours] = value * factor
        name = "timestamp"
        return row_of(seconds, text, host, cells[head.gpu].strip() if head.gpu is not None else "", values)
    except ValueError as error:
        bad = str(error) if "out of range" in str(error) or name == "timestamp" else f"{name} is not a number"
        raise lines.fault(number, bad) from None


def _seconds(text: str) -> float:
    """Return the time that nvidia-smi writes, in the machine's zone, as if it were UTC."""
    try:
        return (
            datetime.strptime(text, _TIME if "." in text else _TIME.removesuffix(".%f")).replace(tzinfo=UTC).timestamp()
        )
    except ValueError:
        return seconds_of(text)
