"""Tests of reading CSV tables."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flyball_planner.specification.table import table_rows
from flyball_reports.specification.problems import SpecificationError


def test_cells_have_lines_and_types() -> None:
    """Comments and empty lines count as lines; empty cells are left out."""
    text = '\ufeff# measured\na,b,c,d\n\n1,2.5,yes,\nx,[512; 2],"p, q","[512, 256]"\n'
    rows = list(table_rows(text, "t.csv"))
    assert [line for line, _ in rows] == [4, 5]
    assert {name: entry.plain for name, entry in rows[0][1].items()} == {"a": 1, "b": 2.5, "c": True}
    assert {name: entry.plain for name, entry in rows[1][1].items()} == {
        "a": "x", "b": ["512; 2"], "c": "p, q", "d": [512, 256],
    }  # fmt: skip
    assert rows[1][1]["a"].line == 5


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "t.csv: is empty; the first line must name the columns"),
        ("a,b\n1,2,3\n", "t.csv:2: has 3 cells, but there are only 2 columns"),
        ("a,b,a\n", "t.csv:1: duplicate column 'a'"),
        ("a;b;c\n1;2;3\n", "t.csv:1: separates columns by semicolons; use commas"),
        ("a,,b\n", "t.csv:1: has a column without a name"),
        ('a\n"b\n', "t.csv:2: not valid CSV"),
        ("a\n" * 600_000, "t.csv: longer than"),
    ],
)
def test_faults_are_reported_with_their_lines(text: str, message: str) -> None:
    """The message starts with file and line, which editors recognise."""
    with pytest.raises(SpecificationError) as caught:
        list(table_rows(text, "t.csv"))
    assert message in str(caught.value)


@given(st.text(max_size=200))
def test_any_text_is_a_table_or_a_fault(text: str) -> None:
    """Any text gives rows or a SpecificationError."""
    lines = [0]
    with suppress(SpecificationError):
        lines += [line for line, _ in table_rows(text, "t.csv")]
    assert lines == sorted(set(lines))
