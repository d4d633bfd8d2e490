"""Tests of reading tables of measured runs and of hiding measured columns from predictions."""

from pathlib import Path

import pytest

from flyball_planner.accuracy.tables import RATES, read_tables
from flyball_reports.errors import InputError

TABLE = """id,suite,model,params,gpu,mem_value,tokens_per_s
a,ladder,tiny,100,A100,25.5 GB,7
b,ladder,tiny,,A100,OOM,
"""


def folder_with(folder: Path, name: str = "memory_measured.csv", text: str = TABLE) -> Path:
    """Write one table to the folder and return the folder."""
    (folder / name).write_text(text)
    return folder


def test_measured_columns_are_dropped(tmp_path: Path) -> None:
    """Reading a measured column from a configuration is an error and does not give an empty text."""
    first, _ = read_tables(folder_with(tmp_path)).of("memory_measured.csv")
    assert set(first.configuration) == {"suite", "model", "params", "gpu"}
    assert first.shown("mem_value") == 25.5
    for name in RATES:
        with pytest.raises(InputError, match="measured"):
            first.configuration[name]


def test_the_parameters_table_hides_counts(tmp_path: Path) -> None:
    """The table of parameters hides the count, which other tables may give to a prediction."""
    (row,) = read_tables(folder_with(tmp_path, "params.csv", "model,params\ntiny,100\n")).of("params.csv")
    assert row.configuration["params"] == ""
    assert row.shown("params") == 100


def test_missing_numbers_are_none(tmp_path: Path) -> None:
    """An empty cell and a word give no number, and never zero."""
    _, second = read_tables(folder_with(tmp_path)).of("memory_measured.csv")
    assert second.configuration.number("params") is None
    assert second.shown("mem_value") is None
    assert second.configuration.count("params", otherwise=3) == 3


def test_rows_are_identified_by_suite_and_line(tmp_path: Path) -> None:
    """Rows are grouped by suite; a row without an id gets its line number."""
    tables = read_tables(folder_with(tmp_path, "runs.csv", "model\nx\n"))
    (row,) = tables.suites("runs.csv")["all"]
    assert row.id == "line 2"
    assert tables.of("no such.csv") == ()


def test_a_folder_without_tables_is_an_error(tmp_path: Path) -> None:
    """A folder without tables and a missing folder each give their own message."""
    with pytest.raises(InputError, match="contains no"):
        read_tables(tmp_path)
    with pytest.raises(InputError, match="is not a folder"):
        read_tables(tmp_path / "missing")
