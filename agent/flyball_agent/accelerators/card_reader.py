"""Readers of a DRM card in sysfs: each opens some files of one card and returns the values of its columns."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from flyball_agent.accelerators import metrics as m
from flyball_agent.accelerators.metrics import DeviceColumn
from flyball_agent.probes.files import KernelFile, number
from flyball_agent.probes.probe import Unavailable, Unsupported, Value

Parse = Callable[[bytes], Value]
Result = Value | Unavailable
"""A value, or the reason why there is none."""

_LINK_GENERATION = {"2.5": 1, "5.0": 2, "8.0": 3, "16.0": 4, "32.0": 5, "64.0": 6}  # GT/s; PCI Express base spec
_NUMBERS = re.compile(r"\d+")


class CardReader(Protocol):
    """Reads a group of columns of one card."""

    @property
    def columns(self) -> Sequence[DeviceColumn]:
        """The columns, always the same ones."""
        ...

    def read(self, now: float, /) -> Sequence[Result]:
        """Return one result for each column; `now` is monotonic time in seconds."""
        ...


OpenReader = Callable[[Path, str], CardReader]
"""Opens a reader of a card, given its folder and its driver."""


def scaled(factor: float) -> Parse:
    """Return a parser of a file with one number, which is multiplied by `factor`."""

    def parse(data: bytes) -> Value:
        found = number(data)
        return None if found is None else found * factor

    return parse


def link_generation(data: bytes) -> Value:
    """Return the PCIe generation of a speed, such as 4 for `16.0 GT/s PCIe`."""
    return _LINK_GENERATION.get(data.split(b" ")[0].decode("ascii", "replace"))


def active_clock(data: bytes) -> Value:
    """Return the active clock from amdgpu's table of clocks, which marks it with a star: `1: 1700Mhz *`."""
    for line in data.splitlines():
        if line.endswith(b"*"):
            megahertz = _megahertz(line)
            return None if megahertz is None else megahertz * 1_000_000
    return None


def highest_clock(data: bytes) -> Value:
    """Return the highest clock of amdgpu's table of clocks."""
    clocks = [_megahertz(line) for line in data.splitlines()]
    known = [clock for clock in clocks if clock is not None]
    return max(known) * 1_000_000 if known else None


def _megahertz(line: bytes) -> int | None:
    """Parse a line of the table, such as `1: 1700Mhz *`."""
    return number(line.partition(b":")[2].strip(b" *").lower().removesuffix(b"mhz"))


@dataclass(frozen=True, slots=True)
class SysfsReading:
    """A column and the file with its value: the first of `paths` that exists. `*` matches a part with a number."""

    column: DeviceColumn
    paths: tuple[str, ...]
    parse: Parse
    fixed: bool = False


PCIE_READINGS = (
    SysfsReading(DeviceColumn(m.PCIE_GENERATION), ("device/current_link_speed",), link_generation),
    SysfsReading(DeviceColumn(m.PCIE_WIDTH), ("device/current_link_width",), scaled(1)),
    SysfsReading(DeviceColumn(m.PCIE_GENERATION_MAX), ("device/max_link_speed",), link_generation, fixed=True),
    SysfsReading(DeviceColumn(m.PCIE_WIDTH_MAX), ("device/max_link_width",), scaled(1), fixed=True),
)


class FileReader:
    """Reads columns that have a file each. Fixed ones are read once."""

    def __init__(self, readings: Sequence[SysfsReading], card: Path, driver: str) -> None:
        self.columns = tuple(reading.column for reading in readings)
        self._readings = readings
        self._files = [find_file(card, reading.paths) for reading in readings]
        self._results: list[Result] = [
            Unsupported(f"{driver} has no {reading.paths[0].rpartition('/')[2]}") for reading in readings
        ]
        for position, reading in enumerate(readings):
            if reading.fixed:
                self._read_position(position)

    def read(self, _now: float, /) -> Sequence[Result]:
        """Read the files."""
        for position, reading in enumerate(self._readings):
            if not reading.fixed:
                self._read_position(position)
        return self._results

    def _read_position(self, position: int) -> None:
        file = self._files[position]
        if file is not None:
            self._results[position] = read_value(file, self._readings[position].parse)


def read_value(file: KernelFile, parse: Parse) -> Result:
    """Return the value of a file, or the reason why there is none."""
    try:
        value = parse(file.read())
    except Unavailable as error:
        return error
    return Unavailable(f"{file.path.name} has unexpected content") if value is None else value


def find_files(card: Path, pattern: str) -> list[Path]:
    """Return the files that match, in natural order."""
    found = card.glob(pattern) if "*" in pattern else [card / pattern]
    return sorted((path for path in found if path.exists()), key=_natural)


def find_file(card: Path, patterns: Sequence[str]) -> KernelFile | None:
    """Return the first file that exists."""
    for pattern in patterns:
        if found := find_files(card, pattern):
            return KernelFile(found[0])
    return None


def _natural(path: Path) -> tuple[str, list[int]]:
    """Return a sort key that places tile2 before tile10."""
    text = str(path)
    return _NUMBERS.sub("#", text), [int(digits) for digits in _NUMBERS.findall(text)]
