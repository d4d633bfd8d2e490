"""Which code of a function runs together."""

import ast

import pytest

from flyball_audit.branches import before, blocks, is_exclusive
from tests.audit.projects import module_of


def _exclusive(code: str) -> bool:
    """Whether the calls of `first` and `second` exclude each other."""
    _, module = module_of(code)
    (first,), (second,) = (list(module.calls_named(name)) for name in ("first", "second"))
    there, back = is_exclusive(module, first, second), is_exclusive(module, second, first)
    assert there is back
    return there


@pytest.mark.parametrize(
    "code",
    [
        "if flag:\n    first()\nelse:\n    second()\n",
        "if flag:\n    first()\nelif other:\n    second()\n",
        "if flag:\n    for x in y:\n        first()\nelse:\n    with z:\n        second()\n",
    ],
)
def test_both_arms_of_a_condition_exclude_each_other(code: str) -> None:
    """However deep in them, and whichever is asked first."""
    assert _exclusive(code)


@pytest.mark.parametrize(
    "code",
    [
        "if flag:\n    first()\nsecond()\n",
        "if flag:\n    first()\n    second()\n",
        "if first():\n    second()\n",
        "if flag:\n    first()\nif not flag:\n    second()\n",
        "if flag:\n    def f():\n        first()\nelse:\n    second()\n",
    ],
)
def test_what_may_run_together_does_not(code: str) -> None:
    """One arm alone, the same arm, the question itself, two conditions, a function that is called elsewhere."""
    assert not _exclusive(code)


def test_blocks_lead_from_a_statement_to_its_function() -> None:
    """The list that holds it comes first, the function's own last; what is around the function is left out."""
    _, module = module_of("def f(x):\n    a = 1\n    if x:\n        b = 2\n")
    inner = next(each for each in module.all(ast.Assign) if ast.unparse(each) == "b = 2")
    assert [[type(part).__name__ for part in block] for block in blocks(module, inner)] == [
        ["Assign"],
        ["Assign", "If"],
    ]


def test_before_a_statement_stand_those_of_its_own_block() -> None:
    """Not those of the other arm, and none of what asks."""
    node = ast.parse("if flag:\n    a()\n    b()\n    c()\nelse:\n    d()\n").body[0]
    assert isinstance(node, ast.If)
    assert [ast.unparse(each) for each in before(node, node.body[2])] == ["a()", "b()"]
    assert before(node, node.orelse[0]) == []
    assert before(node, node.test) == []
