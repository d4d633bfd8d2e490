"""Notebooks are read as the text of their code cells; findings stand in cells."""

import json

from hypothesis import given
from hypothesis import strategies as st

from flyball_audit.notebook import plain_python, read_notebook
from flyball_audit.source import Source, Unreadable


def _notebook(*cells: str) -> bytes:
    return json.dumps(
        {"cells": [{"cell_type": "code", "source": each.splitlines(keepends=True)} for each in cells]}
    ).encode()


def test_lines_are_mapped_back_to_their_cells() -> None:
    """The third line of the second cell is cell 2, line 3."""
    source = read_notebook("a.ipynb", _notebook("x = 1\ny = 2", "a = 1\nb = 2\nc = 3"))
    assert isinstance(source, Source)
    line = source.text.split("\n").index("c = 3") + 1
    assert source.place(line) == (2, 3)


def test_magics_are_blanked_and_lines_kept() -> None:
    """Shell lines, line magics, questions and whole cells of another language become nothing."""
    plain, fault = plain_python("%matplotlib inline\n!pip install x\nfiles = !ls\nprint?\nx = 1")
    assert fault is None
    assert plain.split("\n") == ["pass", "pass", "files = None", "pass", "x = 1"]
    assert plain_python("%%bash\nls -l | wc") == ("\n", None)
    assert plain_python("%%time\nx = 1") == ("\nx = 1", None)


def test_a_broken_cell_is_left_out_and_the_others_are_read() -> None:
    """A cell that does not parse is named by its number; what stands beside it is audited."""
    source = read_notebook("a.ipynb", _notebook("x = 1", "def f(:", "y = 2"))
    assert isinstance(source, Source)
    assert [(each.cell, each.line) for each in source.left_out] == [(2, 1)]
    assert "y = 2" in source.text


def test_old_notebooks_have_worksheets() -> None:
    """Format 3 kept cells in a worksheet, under another name."""
    data = json.dumps({"worksheets": [{"cells": [{"cell_type": "code", "input": "x = 1"}]}]}).encode()
    source = read_notebook("a.ipynb", data)
    assert isinstance(source, Source)
    assert "x = 1" in source.text


@given(
    st.recursive(
        st.none() | st.text() | st.integers(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
    )
)
def test_any_json_is_read_or_refused(document: object) -> None:
    """Nothing that JSON can say raises."""
    for shaped in (
        document,
        {"cells": document},
        {"cells": [document]},
        {"cells": [{"cell_type": "code", "source": document}]},
    ):
        assert isinstance(read_notebook("a.ipynb", json.dumps(shaped).encode()), Source | Unreadable)
