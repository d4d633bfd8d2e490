"""The lines around a finding, and the mark below it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flyball_audit.finding import Finding, Severity
from flyball_audit.report.frame import frame
from flyball_audit.report.testing import CODE, sample_finding
from flyball_audit.source import Source


def _finding(line: int, columns: tuple[int, int], end_line: int = 0, cell: int | None = None) -> Finding:
    start, end = columns
    return Finding("r", "a.py", line, start, Severity.NOTE, 1.0, "", "", "", "", end_line or line, end, cell=cell)


def test_two_lines_before_and_one_behind() -> None:
    """With their numbers, and carets below what is meant."""
    found = frame(sample_finding(), Source("train.py", CODE))
    assert found is not None
    assert found.text() == (
        "6 |     loss.backward()\n7 |     optimizer.step()\n8 |     total += loss.item()\n  |              ^^^^^^^^^^^"
    )


def test_the_ends_of_a_file_are_no_harm() -> None:
    """And a line that is not there has no frame."""
    source = Source("a.py", "f(x)\n")
    found = frame(_finding(1, (1, 5)), source)
    assert found is not None
    assert found.text() == "1 | f(x)\n  | ^^^^"
    assert frame(_finding(9, (1, 2)), source) is None
    assert frame(_finding(1, (1, 2)), None) is None


def test_a_finding_of_several_lines_is_marked_to_the_end_of_its_first() -> None:
    """The rest can be seen."""
    found = frame(_finding(1, (5, 2), end_line=3), Source("a.py", "x = f(  # c\n  1\n)\n"))
    assert found is not None
    assert found.rows()[1] == (" ", "    ^^")


def test_lines_of_a_notebook_count_within_their_cell() -> None:
    """As the notebook shows them."""
    source = Source("a.ipynb", "import torch\n\nx = 1\ny = f(x)\nz\n", cells=(1, 3, 5))
    found = frame(_finding(2, (5, 9), cell=2), source)
    assert found is not None
    assert found.text() == "1 | x = 1\n2 | y = f(x)\n  |     ^^^^"


@pytest.mark.parametrize(
    ("line", "mark"),
    [("\tf(x)", "     ^^^"), ("é = f(x)", " ^^^^^^^"), ("漢 = f(x)", "  ^^^^^^^"), ("e\u0301 = f", " ^^^^")],
)
def test_the_mark_stands_below_what_it_means(line: str, mark: str) -> None:
    """Tabs, accents, wide and combining characters: as many columns as a terminal gives them."""
    found = frame(_finding(1, (2 if line[0] != "\t" else 3, len(line) + 1)), Source("a.py", line))
    assert found is not None
    assert found.rows()[1][1] == mark


def test_a_long_line_is_cut_around_what_is_meant() -> None:
    """Generated code may have lines of a megabyte."""
    line = "x = [" + "1, " * 50_000 + "loss.item()" + ", 2" * 50_000 + "]"
    start = line.index("loss") + 1
    found = frame(_finding(1, (start, start + 11)), Source("a.py", line), longest=60)
    assert found is not None
    (_, shown), (_, mark) = found.rows()
    assert len(shown) == 60
    assert shown[mark.index("^") : mark.rindex("^")] == "loss.item("


@given(st.text(max_size=200), st.integers(1, 12), st.integers(1, 80), st.integers(1, 80), st.integers(1, 70))
def test_no_text_steers_the_terminal_or_breaks_the_frame(text: str, line: int, a: int, b: int, longest: int) -> None:
    """Whatever stands in a file, a frame is printable lines of bounded length."""
    found = frame(_finding(line, (min(a, b), max(a, b))), Source("a.py", text), longest)
    for _, right in found.rows() if found else ():
        assert right.isprintable()
        assert len(right.lstrip(" ")) <= longest
