"""Code of small expressions, against Python's own writer."""

import ast
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flyball_audit.written import written

FILES = sorted((Path(__file__).parent / "corpus").glob("scripts/*/*.py"))


@given(st.sampled_from(FILES))
def test_what_is_written_is_what_python_writes(path: Path) -> None:
    """Of every expression of a trainer, the same text as `ast.unparse`, or none; most have one."""
    expressions = [each for each in ast.walk(ast.parse(path.read_text())) if isinstance(each, ast.expr)]
    texts = {each: text for each in expressions if (text := written(each)) is not None}
    assert {each: ast.unparse(each) for each in texts} == texts
    assert len(texts) > len(expressions) / 2


@pytest.mark.parametrize(
    "code",
    ["(a + b).c", "(a + b)[0]", "1.0", "u'a'", "(lambda: a)(b)", "f(*a)", "f(**a)", "a < b < c", "(1).real", "a[b:c]"],
)
def test_what_may_need_parentheses_is_left_to_python(code: str) -> None:
    """An expression of which a part is neither name, call, entry nor constant has no text here."""
    assert written(ast.parse(code, mode="eval").body) is None
