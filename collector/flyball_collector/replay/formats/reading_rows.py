"""Rows of readings with values under our names and in our units, and the lines that they come from."""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from flyball_collector.replay.csv_rows import NUMBERS, CsvRow
from flyball_collector.replay.errors import ReplayError

MIB = 2.0**20
MEGAHERTZ = 1e6
PERCENT = 0.01

NO_VALUE = frozenset({
    "", "-", "n/a", "na", "nan", "no data", "not active", "not found", "not supported", "unknown error",
    "insufficient permissions", "gpu is lost", "gpu requires reset",
})  # fmt: skip
"""Words instead of a number, in lower case and without brackets. They mean *unknown*."""

_PLACES = {name: place for place, name in enumerate(NUMBERS)}
_MAX_RATIO = 1.5
_MAX_NUMBER = 1e15


@dataclass(frozen=True, slots=True)
class NumberedLines:
    """Numbered lines of a file."""

    name: str
    lines: Iterable[str]

    def numbered(self) -> Iterator[tuple[int, str]]:
        """Yield each line that is not blank, with its number."""
        for number, line in enumerate(self.lines, start=1):
            if line.strip():
                yield number, line

    def fault(self, number: int, text: str) -> ReplayError:
        """Return the error for a line."""
        return ReplayError(f"{self.name}:{number}: {text}")


def number_of(cell: str, units: Iterable[str] = ()) -> float | None:
    """Return the number of a cell, without its unit; None if the tool had no value. Raises `ValueError`."""
    text = cell.strip()
    for unit in units:
        text = text.removesuffix(unit)
    text = text.strip()
    if text.strip("[]").strip().lower() in NO_VALUE:
        return None
    number = float(text)
    return None if math.isnan(number) else number


def row_of(seconds: float, text: str, host: str, gpu: str, values: Mapping[str, float]) -> CsvRow:
    """Return a row of readings; values out of range raise `ValueError`."""
    present, numbers = 0, []
    for name in sorted(values, key=_PLACES.__getitem__):
        value = values[name]
        if not 0 <= value <= (_MAX_RATIO if name.endswith("_ratio") else _MAX_NUMBER):
            raise ValueError(f"{name} {value:g} is out of range")
        present |= 1 << _PLACES[name]
        numbers.append(value)
    return CsvRow(seconds, text, host, gpu, "", present, tuple(numbers))
