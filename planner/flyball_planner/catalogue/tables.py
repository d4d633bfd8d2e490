"""The catalogue's data files: rows of text that name their sources."""

import csv
from collections.abc import Mapping
from functools import cache
from pathlib import Path

Row = Mapping[str, str]

FOLDER = Path(__file__).with_name("data")


@cache
def table(name: str) -> tuple[Row, ...]:
    """Return the rows of a file."""
    with (FOLDER / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        columns, *rows = csv.reader(file)
    return tuple(dict(zip(columns, row, strict=True)) for row in rows)


def listed(row: Row, column: str) -> tuple[str, ...]:
    """Return the values of a cell that are separated by semicolons."""
    return tuple(each.strip() for each in row[column].split(";") if each.strip())
