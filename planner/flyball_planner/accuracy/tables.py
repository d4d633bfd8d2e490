"""Reads tables of measured runs, and parts what a run was told from what it showed.

Predictions are made from a `Configuration`, which never holds a measured column; only the scoring sees those.
"""

import csv
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

from msgspec import Struct

from flyball_reports.errors import InputError

RATES = frozenset({
    "step_time_s", "samples_per_s", "tokens_per_s", "tokens_per_s_per_gpu", "tflops_per_gpu", "mfu_pct", "hfu_pct",
    "gpu_mem_reported", "mem_value", "time_or_throughput", "max_gpu_mem_MiB", "avg_gpu_util", "time_s", "memory_gb",
    "gpu_hours", "wall_days", "train_flops", "energy_mwh", "co2_t", "cost_usd",
})  # fmt: skip
"""What a run shows, whichever table it stands in."""

COUNTS = frozenset({"params", "fwd_gmacs_per_sample", "activations_M_per_sample"})
"""What is asked for in the table of parameters, and given in the others."""

PARAMETERS_FILE = "params.csv"
DEFAULT_SUITE = "all"


class Configuration(Mapping[str, str]):
    """The columns a prediction may use; an empty or missing one is an empty text."""

    def __init__(self, columns: Mapping[str, str]) -> None:
        self._columns = MappingProxyType({name: text for name, text in columns.items() if text})

    def __getitem__(self, name: str) -> str:
        if name in RATES:
            raise InputError(f"{name} is measured: a prediction must not ask for it")
        return self._columns.get(name, "")

    def __contains__(self, name: object) -> bool:
        return name in self._columns

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def __hash__(self) -> int:
        return hash(tuple(self._columns.items()))

    def number(self, name: str) -> float | None:
        """A column as a number; nothing where it holds none."""
        return number(self[name])

    def count(self, name: str, otherwise: int) -> int:
        """A column as a whole number, at least 1; `otherwise` where it holds none."""
        found = self.number(name)
        return otherwise if found is None else max(1, round(found))


class Row(Struct, frozen=True):
    """One run of a table."""

    file: str
    id: str
    suite: str
    configuration: Configuration
    measured: Mapping[str, str]

    def shown(self, name: str) -> float | None:
        """A measured column as a number; nothing where it holds none."""
        return number(self.measured.get(name, ""))


class Tables(Struct, frozen=True):
    """The tables of a folder, by the name of their file."""

    rows: Mapping[str, tuple[Row, ...]]

    def of(self, file: str) -> tuple[Row, ...]:
        """The rows of one table; none where the folder lacks it."""
        return self.rows.get(file, ())

    def suites(self, file: str) -> dict[str, list[Row]]:
        """The rows of one table by the suite they were measured in."""
        found: dict[str, list[Row]] = {}
        for row in self.of(file):
            found.setdefault(row.suite, []).append(row)
        return found


def read_tables(folder: Path) -> Tables:
    """All tables of a folder."""
    if not folder.is_dir():
        raise InputError(f"{folder} is no folder; name one that holds tables of measured runs (*.csv)")
    tables = {path.name: tuple(_rows(path)) for path in sorted(folder.glob("*.csv"))}
    if not tables:
        raise InputError(f"{folder} holds no table; put *.csv files of measured runs there")
    return Tables(tables)


def number(text: str) -> float | None:
    """The number that a text starts with, as in "82.4 GiB"; nothing where it starts with none."""
    words = text.split()
    try:
        return float(words[0]) if words else None
    except ValueError:
        return None


def _rows(path: Path) -> Iterator[Row]:
    hidden = RATES | COUNTS if path.name == PARAMETERS_FILE else RATES
    with path.open(newline="", encoding="utf-8") as lines:
        for position, columns in enumerate(csv.DictReader(lines), start=2):
            known = {name: (text or "").strip() for name, text in columns.items() if name}
            told = {name: text for name, text in known.items() if name not in hidden and name != "id"}
            yield Row(
                file=path.name,
                id=known.get("id") or f"line {position}",
                suite=known.get("suite") or DEFAULT_SUITE,
                configuration=Configuration(told),
                measured={name: text for name, text in known.items() if name in hidden},
            )
