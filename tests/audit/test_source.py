"""Files become text in any encoding; what cannot be read says why."""

import ast

from hypothesis import given
from hypothesis import strategies as st

from flyball_audit.source import LARGEST_BYTES, Source, Unreadable, decode, parse, read_python


def test_a_coding_line_and_a_mark_decide_how_bytes_are_read() -> None:
    """Text is decoded by its own declaration, and by Latin-1 where that fails."""
    assert decode("# -*- coding: latin-1 -*-\nname = 'é'\n".encode("latin-1")).endswith("'é'\n")
    assert decode(b"\xef\xbb\xbfx = 1\n") == "x = 1\n"
    assert decode(b"x = '\xff'\r\n") == "x = 'ÿ'\n"
    assert decode(b"# coding: no-such-code\nx = 1\n").endswith("x = 1\n")


def test_a_python_2_file_says_so() -> None:
    """A print statement is told as Python 2, with its line and what to do."""
    fault = parse(Source("old.py", "x = 1\nprint 'x'\n"))
    assert isinstance(fault, Unreadable)
    assert (fault.line, "Python 2" in fault.why, "convert" in fault.what_to_do) == (2, True, True)


def test_a_broken_file_names_its_line() -> None:
    """A syntax fault is told where the parser saw it."""
    fault = parse(Source("broken.py", "def f(:\n    pass\n"))
    assert isinstance(fault, Unreadable)
    assert str(fault).startswith("broken.py:1: syntax error")


def test_binary_and_enormous_files_are_refused() -> None:
    """Null bytes and generated tables are no code to read."""
    assert isinstance(read_python("a.py", b"\0\1"), Unreadable)
    assert isinstance(read_python("a.py", b"x" * (LARGEST_BYTES + 1)), Unreadable)


def test_deep_nesting_is_told_not_raised() -> None:
    """What the parser cannot nest is unreadable."""
    assert isinstance(parse(Source("deep.py", "x = " + "(" * 5000 + ")" * 5000)), Unreadable)


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    """No bytes raise: there is a text whose tree parses, or a reason."""
    source = read_python("any.py", data)
    if isinstance(source, Source):
        assert isinstance(parse(source), ast.Module | Unreadable)
