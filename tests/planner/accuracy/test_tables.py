"""What a prediction may see of a table of measured runs."""

from pathlib import Path

import pytest

from flyball_planner.accuracy.tables import RATES, read_tables
from flyball_reports.errors import InputError

TABLE = """id,suite,model,params,gpu,mem_value,tokens_per_s
a,ladder,tiny,100,A100,25.5 GB,7
b,ladder,tiny,,A100,OOM,
"""


def written(folder: Path, name: str = "memory_measured.csv", text: str = TABLE) -> Path:
    """A folder with one table."""
    (folder / name).write_text(text)
    return folder


def test_measured_columns_are_dropped(tmp_path: Path) -> None:
    """No measured column can be read from a configuration: asking for one is an error, not an empty text."""
    first, _ = read_tables(written(tmp_path)).of("memory_measured.csv")
    assert set(first.configuration) == {"suite", "model", "params", "gpu"}
    assert first.shown("mem_value") == 25.5
    for name in RATES:
        with pytest.raises(InputError, match="measured"):
            first.configuration[name]


def test_counts_are_hidden_where_they_are_asked_for(tmp_path: Path) -> None:
    """The table of parameters hides what the other tables may give."""
    (row,) = read_tables(written(tmp_path, "params.csv", "model,params\ntiny,100\n")).of("params.csv")
    assert row.configuration["params"] == ""
    assert row.shown("params") == 100


def test_missing_numbers_are_missing(tmp_path: Path) -> None:
    """An empty cell is no zero, and a word is no number."""
    _, second = read_tables(written(tmp_path)).of("memory_measured.csv")
    assert second.configuration.number("params") is None
    assert second.shown("mem_value") is None
    assert second.configuration.count("params", otherwise=3) == 3


def test_rows_are_known_by_suite_and_line(tmp_path: Path) -> None:
    """Rows are grouped by suite; one without an id is named by its line."""
    tables = read_tables(written(tmp_path, "runs.csv", "model\nx\n"))
    (row,) = tables.suites("runs.csv")["all"]
    assert row.id == "line 2"
    assert tables.of("no such.csv") == ()


def test_a_folder_without_tables_is_an_error(tmp_path: Path) -> None:
    """The message says what to put there."""
    with pytest.raises(InputError, match="holds no table"):
        read_tables(tmp_path)
    with pytest.raises(InputError, match="no folder"):
        read_tables(tmp_path / "missing")
