"""Syntax newer than the running Python is read all the same, and what is in it keeps its place."""

import ast
import contextlib

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from flyball_audit.newer import tree_of

NEWER = {
    'x = f"{row["loss"]}, {"\\n".join(names)}"; last(x)\n': "row names last x",
    "print(f'Epoch {\n    loss:.3f}%', last)\n": "print loss last",
    "é = f'é{\n a}{b}', f'{\nc}', d\n": "a b c d",
    'f"{f"{a}" + b}", c\n': "a b c",
    'f"""{a  # the first, {\n}{b:{width}}{"\\""}""", c\n': "a b width c",
    "f'{{{a['b']}}}', rf'\\{c['d']!r:>{n}}'\n": "a c n",
    "f'{{\\'{a['b'] if c != ']' else (d := {1: e})}'\n": "a c e",
    "# f'{\ndef first[T: (int, str)](rows: list[T]) -> T:\n    return rows[0], g('[')\n": "list T rows g",
    "class Batch[\n    T,\n](Base[T]):\n    pass\n": "Base T",
    "if a:\n    type Pair[T] = tuple[T, T]\n": "a tuple T",
    "type = 1\ntype  Loss = float\n": "float",
}


@pytest.mark.parametrize("text", NEWER)
def test_newer_syntax_is_read_and_all_in_it_keeps_its_place(text: str) -> None:
    """Quotes in quotes, lines in f-strings, type parameters and aliases parse under each Python."""
    read = [node for node in ast.walk(tree_of(text)) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)]
    assert {node.id for node in read} == set(NEWER[text].split())
    assert all(ast.get_source_segment(text, node) == node.id for node in read)


OLDER = {
    "é = f'{a}'; x = x.cuda(async=True); last(x)\n": "a x last",
    "move(batch,\n     async = blocking, to=device)\n": "move batch blocking device",
}


@pytest.mark.parametrize("text", OLDER)
def test_what_older_python_and_pytorch_called_async_asks_not_to_wait(text: str) -> None:
    """`async` was a name until Python 3.7, and meant `non_blocking` until PyTorch 0.4."""
    nodes = [*ast.walk(tree_of(text))]
    read = [node for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)]
    assert {node.id for node in read} == set(OLDER[text].split())
    assert all(ast.get_source_segment(text, node) == node.id for node in read)
    assert "non_blocking" in {node.arg for node in nodes if isinstance(node, ast.keyword)}


BROKEN = ("f'{a['b']'\n", "f'{a\n", "def f[T(x): pass\n", "type X[ = 1\n", "f'" + "{a:" * 99, "f'\\")


@pytest.mark.parametrize("text", BROKEN)
def test_what_no_python_reads_is_told_as_python_tells_it(text: str) -> None:
    """A fault of the text is the parser's to tell."""
    with pytest.raises(SyntaxError) as told:
        tree_of(text)
    with pytest.raises(SyntaxError) as known:
        ast.parse(text)
    assert told.value.msg == known.value.msg


@given(st.text(alphabet="f'\"{}[]()#\\:!\n atype=def", max_size=60))
@example("f" * 50 + "'{" * 50)
@example("f'{a['p']}', t\n")
def test_any_text_is_read_or_refused(text: str) -> None:
    """Nothing but a syntax fault comes of odd text, and names stand where the text has them."""
    with contextlib.suppress(SyntaxError):
        read = [node for node in ast.walk(tree_of(text)) if isinstance(node, ast.Name)]
        assert all(ast.get_source_segment(text, node) == node.id for node in read)
