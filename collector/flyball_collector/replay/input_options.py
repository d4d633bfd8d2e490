"""The options for reading files: format, interval, names of columns."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from flyball_collector.replay.errors import ReplayError


class InputFormat(StrEnum):
    """The formats of files."""

    AUTO = "auto"
    CSV = "csv"
    NVIDIA_SMI = "nvidia-smi"
    DCGMI = "dcgmi"
    PROMETHEUS = "prometheus"


@dataclass(frozen=True, slots=True)
class SourceColumn:
    """A column of a file that has another name or unit than ours."""

    name: str
    factor: float = 1.0


@dataclass(frozen=True, slots=True)
class InputOptions:
    """Hold the options for reading files."""

    format: InputFormat = InputFormat.AUTO
    every_seconds: float | None = None  # between samples, for files without times
    columns: Mapping[str, SourceColumn] = field(default_factory=dict)  # of CSV files: by our name


def columns_of(texts: Iterable[str], known: Iterable[str]) -> dict[str, SourceColumn]:
    """Parse `OURS=THEIRS` or `OURS=THEIRS*FACTOR`. Raises `ReplayError` with what is wrong."""
    names, found = tuple(known), dict[str, SourceColumn]()
    for text in texts:
        ours, equals, theirs = text.partition("=")
        name, star, factor = theirs.rpartition("*")
        if not star:
            name, factor = theirs, "1"
        if not (equals and name.strip()):
            raise ReplayError(f"{text!r} is not of the form OURS=THEIRS or OURS=THEIRS*FACTOR")
        if ours.strip() not in names:
            raise ReplayError(f"{ours.strip()!r} is not a column; known columns are {', '.join(names)}")
        found[ours.strip()] = SourceColumn(name.strip(), _factor(text, factor))
    return found


def _factor(text: str, factor: str) -> float:
    try:
        number = float(factor)
    except ValueError:
        number = 0.0
    if not 0 < number < float("inf"):
        raise ReplayError(f"{text!r}: {factor.strip()!r} is not a positive number")
    return number
