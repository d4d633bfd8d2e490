"""Reads the rows of a file in any format, recognised by its first lines."""

from collections.abc import Iterable, Iterator
from itertools import chain, islice
from pathlib import Path

from flyball_collector.replay import csv_rows
from flyball_collector.replay.csv_rows import CsvRow
from flyball_collector.replay.formats import dcgmi, nvidia_smi, prometheus_text
from flyball_collector.replay.formats.reading_rows import NumberedLines
from flyball_collector.replay.input_options import InputFormat, InputOptions

_LOOKED_AT = 20
"""Lines at the beginning of a file among which the first that is not blank decides."""


def read_rows(path: Path | str, ignored: dict[str, None], options: InputOptions) -> Iterator[CsvRow]:
    """Yield the rows of a file in order, and add unknown columns to `ignored`. Raises `ReplayError` with the line."""
    with csv_rows.opened(path) as file:
        first = list(islice(file, _LOOKED_AT))
        lines, host = chain(first, file), host_of(path)
        match _format(first) if options.format is InputFormat.AUTO else options.format:
            case InputFormat.NVIDIA_SMI:
                yield from nvidia_smi.read(NumberedLines(str(path), lines), host, ignored)
            case InputFormat.DCGMI:
                yield from dcgmi.read(NumberedLines(str(path), lines), host, options.every_seconds, ignored)
            case InputFormat.PROMETHEUS:
                yield from prometheus_text.read(NumberedLines(str(path), lines), host, options.every_seconds)
            case _:
                yield from csv_rows.rows(lines, str(path), ignored, options.columns)


def host_of(path: Path | str) -> str:
    """Return the host of a file whose lines name none: the file's name without its endings."""
    return Path(path).name.split(".")[0] or "host"


def _format(first: Iterable[str]) -> InputFormat:
    line = next((line for line in first if line.strip()), "")
    if dcgmi.is_head(line):
        return InputFormat.DCGMI
    if prometheus_text.is_head(line):
        return InputFormat.PROMETHEUS
    if nvidia_smi.is_head(line):
        return InputFormat.NVIDIA_SMI
    return InputFormat.CSV
