"""Reads tables of measured runs, and separates configurations from measurements.

Predictions are made from a `RowConfiguration`, which never contains a measured column. Only the scoring sees those.
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
"""Measured columns of any table."""

COUNTS = frozenset({"params", "fwd_gmacs_per_sample", "activations_M_per_sample"})
"""Columns that are predicted in the table of parameters, and given in the others."""

PARAMETERS_FILE = "params.csv"
DEFAULT_SUITE = "all"


class RowConfiguration(Mapping[str, str]):
    """The columns that a prediction may use; an empty or missing one is an empty text."""

    def __init__(self, columns: Mapping[str, str]) -> None:
        self._columns = MappingProxyType({name: text for name, text in columns.items() if text})

    def __getitem__(self, name: str) -> str:
        if name in RATES:
            raise InputError(f"{name} is measured; a prediction must not use it")
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
        """Return a column as a number, if it contains one."""
        return number(self[name])

    def count(self, name: str, otherwise: int) -> int:
        """Return a column as an integer of at least 1; `otherwise` if it contains none."""
        found = self.number(name)
        return otherwise if found is None else max(1, round(found))


class TableRow(Struct, frozen=True):
    """One run of a table."""

    file: str
    id: str
    suite: str
    configuration: RowConfiguration
    measured: Mapping[str, str]

    def shown(self, name: str) -> float | None:
        """Return a measured column as a number, if it contains one."""
        return number(self.measured.get(name, ""))


class Tables(Struct, frozen=True):
    """The tables of a folder by file name."""

    rows: Mapping[str, tuple[TableRow, ...]]

    def of(self, file: str) -> tuple[TableRow, ...]:
        """Return the rows of one table; none if the folder lacks it."""
        return self.rows.get(file, ())

    def suites(self, file: str) -> dict[str, list[TableRow]]:
        """Return the rows of one table by suite."""
        found: dict[str, list[TableRow]] = {}
        for row in self.of(file):
            found.setdefault(row.suite, []).append(row)
        return found


def read_tables(folder: Path) -> Tables:
    """Return all tables of a folder."""
    if not folder.is_dir():
        raise InputError(f"{folder} is not a folder; pass one with tables of measured runs (*.csv)")
    tables = {path.name: tuple(_rows(path)) for path in sorted(folder.glob("*.csv"))}
    if not tables:
        raise InputError(f"{folder} contains no *.csv files of measured runs")
    return Tables(tables)


def number(text: str) -> float | None:
    """Return the number at the beginning of a text such as "82.4 GiB", if there is one."""
    words = text.split()
    try:
        return float(words[0]) if words else None
    except ValueError:
        return None


def _rows(path: Path) -> Iterator[TableRow]:
    hidden = RATES | COUNTS if path.name == PARAMETERS_FILE else RATES
    with path.open(newline="", encoding="utf-8") as lines:
        for position, columns in enumerate(csv.DictReader(lines), start=2):
            known = {name: (text or "").strip() for name, text in columns.items() if name}
            given = {name: text for name, text in known.items() if name not in hidden and name != "id"}
            yield TableRow(
                file=path.name,
                id=known.get("id") or f"line {position}",
                suite=known.get("suite") or DEFAULT_SUITE,
                configuration=RowConfiguration(given),
                measured={name: text for name, text in known.items() if name in hidden},
            )
