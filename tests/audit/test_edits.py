"""Edits change what they name and nothing else."""

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flyball_audit.edits import apply, split_lines
from flyball_audit.finding import Action, Change, Edit, Span


def _span(text: str, part: str, nth: int = 0) -> Span:
    """Where a part of a text stands."""
    at = -1
    for _ in range(nth + 1):
        at = text.index(part, at + 1)
    before, until = split_lines(text[:at] or "\n"), split_lines(text[: at + len(part)])
    line = text[:at].count("\n") + 1
    column = len(before[-1]) + 1 if before and not before[-1].endswith("\n") else 1
    return Span(line, column, line + part.count("\n"), len(until[-1]) + 1)


def _edit(text: str, action: Action, part: str, new: str = "", name: str = "", nth: int = 0) -> Edit:
    return Edit((Change(action, _span(text, part, nth), new, name),))


CASES = [
    ("drop the only argument", Action.DROP_ARGUMENT, "f(a=1)", "", "a", "x = f(a=1)  # c\n", "x = f()  # c\n"),
    ("drop the last one", Action.DROP_ARGUMENT, "f(b, a = 1)", "", "a", "f(b, a = 1)\n", "f(b)\n"),
    ("drop the first one", Action.DROP_ARGUMENT, "f(a=1, b=2)", "", "a", "f(a=1, b=2)\n", "f(b=2)\n"),
    (
        "drop from lines of their own",
        Action.DROP_ARGUMENT,
        "f(\n    b,\n    a=1,\n)",
        "",
        "a",
        "f(\n    b,\n    a=1,\n)\n",
        "f(\n    b,\n)\n",
    ),
    ("set one that is there", Action.SET_ARGUMENT, "f(a = 1, b=2)", "3", "a", "f(a = 1, b=2)\n", "f(a = 3, b=2)\n"),
    ("set a new one", Action.SET_ARGUMENT, "f(b)", "True", "a", "f(b)\n", "f(b, a=True)\n"),
    ("set the first one", Action.SET_ARGUMENT, "f()", "True", "a", "f()\n", "f(a=True)\n"),
    ("keep a trailing comma", Action.SET_ARGUMENT, "f(b,)", "1", "a", "f(b,)\n", "f(b, a=1,)\n"),
    (
        "set one on a line of its own",
        Action.SET_ARGUMENT,
        "f(\n    b,  # c\n)",
        "1",
        "a",
        "f(\n    b,  # c\n)\n",
        "f(\n    b,\n    a=1,  # c\n)\n",
    ),
    ("set behind unpacked ones", Action.SET_ARGUMENT, "f(*b, **c)", "1", "a", "f(*b, **c)\n", "f(*b, **c, a=1)\n"),
    ("remove", Action.REMOVE, "g()", "", "", "def f():\n    a()\n    g()  # gone\n\n", "def f():\n    a()\n\n"),
    ("remove the only one", Action.REMOVE, "g()", "", "", "if a:\n    g()\nb\n", "if a:\n    pass\nb\n"),
    ("remove behind a colon", Action.REMOVE, "g()", "", "", "if a: g()\n", "if a: pass\n"),
    ("remove from a line", Action.REMOVE, "g()", "", "", "a(); g()\n", "a()\n"),
    ("remove from a line's middle", Action.REMOVE, "g()", "", "", "a(); g(); b()\n", "a(); b()\n"),
    ("comments stay", Action.REMOVE, "g()", "", "", "if a:\n    # why\n    g()\n    b\n", "if a:\n    # why\n    b\n"),
    (
        "comments stay last",
        Action.REMOVE,
        "g()",
        "",
        "",
        "if a:\n    b\n    # why\n    g()\n",
        "if a:\n    b\n    # why\n",
    ),
    ("replace a name", Action.REPLACE, "loss", "loss.detach()", "", "t += loss # c\n", "t += loss.detach() # c\n"),
    ("replace in parentheses", Action.REPLACE, "(\n a)", "b", "", "t = c*(\n a)\n", "t = c*(\n b)\n"),
    ("guard what binds less", Action.REPLACE, "a", "b + c", "", "t = d*a\n", "t = d*(b + c)\n"),
    ("replace a statement", Action.REPLACE, "x = 1", "x = 2", "", "if a: x = 1; y\n", "if a: x = 2; y\n"),
    (
        "before",
        Action.BEFORE,
        "g()",
        "h()",
        "",
        "if a:\n\n    # of g\n    g()\n",
        "if a:\n\n    h()\n    # of g\n    g()\n",
    ),
    ("after", Action.AFTER, "g()", "h()", "", "if a:\n\tg() # c\nb\n", "if a:\n\tg() # c\n\th()\nb\n"),
    (
        "after a block",
        Action.AFTER,
        "for a in b:\n    c",
        "d()",
        "",
        "for a in b:\n    c\ne\n",
        "for a in b:\n    c\nd()\ne\n",
    ),
    ("beyond ASCII", Action.DROP_ARGUMENT, "f(a=1)", "", "a", 's = "é𝛼"; f(a=1)\n', 's = "é𝛼"; f()\n'),
    (
        "other line ends",
        Action.DROP_ARGUMENT,
        "f(a=1)",
        "",
        "a",
        "b\r\nif c:\r\n  f(a=1)\r\n",
        "b\r\nif c:\r\n  f()\r\n",
    ),
    ("no last line end", Action.DROP_ARGUMENT, "f(a=1)", "", "a", "b\nf(a=1)", "b\nf()"),
]


@pytest.mark.parametrize(
    ("action", "part", "new", "name", "text", "expected"), [c[1:] for c in CASES], ids=[c[0] for c in CASES]
)
def test_each_action_changes_what_it_names(
    action: Action, part: str, new: str, name: str, text: str, expected: str
) -> None:
    """And keeps comments, spaces, line ends and everything around."""
    part = part.strip("()\n ") if part.startswith("(") else part
    made = apply(text, [_edit(text, action, part, new, name)])
    assert made.left == ()
    assert made.text == expected


@pytest.mark.parametrize(
    ("text", "part", "action", "new", "words"),
    [
        ("f(b)\n", "f(b)", Action.DROP_ARGUMENT, "", "no argument"),
        ("f(x for x in y)\n", "f(x for x in y)", Action.SET_ARGUMENT, "1", "generator"),
        ("if a: g()\n", "g()", Action.BEFORE, "h()", "line of its condition"),
        ("a; g()\n", "g()", Action.AFTER, "h()", "shares its line"),
        ("x = 1\n", "x = 1", Action.REPLACE, "y = 1\nz = 2", "more than one"),
        ("x = 1\n", "1", Action.REMOVE, "", "no code to remove"),
        ("x = 1\n", "x = 1\n", Action.REPLACE, "2", "no code to replace"),
    ],
)
def test_what_cannot_be_made_is_left_and_says_why(text: str, part: str, action: Action, new: str, words: str) -> None:
    """The text stays as it was."""
    made = apply(text, [_edit(text, action, part, new, "a")])
    assert made.text == text
    ((_, reason),) = made.left
    assert words in reason


def test_several_edits_are_made_together() -> None:
    """In one statement and in several, also one inside of what another one stands behind."""
    text = "for x in y:\n    f(a=1); g(b=2)\n    h()\nf(a=1)\n"
    edits = [
        _edit(text, Action.DROP_ARGUMENT, "f(a=1)", name="a"),
        _edit(text, Action.DROP_ARGUMENT, "g(b=2)", name="b"),
        _edit(text, Action.REMOVE, "h()"),
        _edit(text, Action.DROP_ARGUMENT, "f(a=1)", name="a", nth=1),
        _edit(text, Action.AFTER, "for x in y:\n    f(a=1); g(b=2)\n    h()", "z()"),
    ]
    made = apply(text, edits)
    assert made.left == ()
    assert made.text == "for x in y:\n    f(); g()\nz()\nf()\n"


def test_of_edits_in_each_others_way_the_first_is_made() -> None:
    """The other is left for the next time."""
    text = "f(a=1)\n"
    first, second = _edit(text, Action.REMOVE, "f(a=1)"), _edit(text, Action.DROP_ARGUMENT, "f(a=1)", name="a")
    made = apply(text, [first, second])
    assert (made.text, made.made) == ("", (first,))
    assert made.left[0][0] is second


def test_equal_edits_are_made_once() -> None:
    """Two findings may ask for the same."""
    text = "f(a=1)\n"
    edit = _edit(text, Action.DROP_ARGUMENT, "f(a=1)", name="a")
    assert apply(text, [edit, edit]).text == "f()\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('"""Doc."""\nimport os\n\nx = a\n', '"""Doc."""\nimport os\nimport heapq\n\nx = b\n'),
        ('"""Doc."""\nx = a\n', '"""Doc."""\nimport heapq\nx = b\n'),
        ("x = a\n", "import heapq\nx = b\n"),
        ("import heapq\nx = a\n", "import heapq\nx = b\n"),
        (
            "from __future__ import annotations\r\nx = a\r\n",
            "from __future__ import annotations\r\nimport heapq\r\nx = b\r\n",
        ),
    ],
)
def test_an_import_is_added_where_imports_stand(text: str, expected: str) -> None:
    """Once, and only if it is missing."""
    span = _span(text, "= a")
    place = Span(span.line, span.column + 2, span.end_line, span.end_column)
    edit = Edit((Change(Action.REPLACE, place, "b"), Change(Action.IMPORT, place, "import heapq")))
    assert apply(text, [edit]).text == expected


names = st.sampled_from(["a", "b", "loss", "opt"])
calls = st.builds("{}({}, c=1)".format, names, names)
statements = st.one_of(
    st.builds("{} = {}".format, names, calls),
    st.builds("if {}: {}".format, names, calls),
    st.builds("for {} in {}:\n    {}  # c\n    {}".format, names, names, calls, calls),
    st.builds("def f():\n    # {}\n\n    {};  {}".format, names, calls, calls),
)


@given(st.lists(statements, min_size=1, max_size=6), st.data())
def test_dropping_an_argument_changes_that_argument_alone(parts: list[str], data: st.DataObject) -> None:
    """The syntax tree differs by the argument, and the text by its characters."""
    text = "\n\n".join(parts) + "\n"
    found = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
    node = data.draw(st.sampled_from(found))
    span = Span(node.lineno, node.col_offset + 1, node.end_lineno or 0, (node.end_col_offset or 0) + 1)
    made = apply(text, [Edit((Change(Action.DROP_ARGUMENT, span, "", "c"),))])
    tree = ast.parse(text)
    for each in ast.walk(tree):
        if isinstance(each, ast.Call) and (each.lineno, each.col_offset) == (node.lineno, node.col_offset):
            each.keywords = []
    assert ast.dump(ast.parse(made.text)) == ast.dump(tree)
    assert len(made.text) == len(text) - len(", c=1")
