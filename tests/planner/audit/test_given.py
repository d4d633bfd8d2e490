"""Arguments of calls: by keyword, by position, hidden by unpacking."""

import ast

import pytest

from flyball_planner.audit.given import argument, handed_over, hides_arguments, is_constant


def _call(code: str) -> ast.Call:
    node = ast.parse(code, mode="eval").body
    assert isinstance(node, ast.Call)
    return node


@pytest.mark.parametrize("code", ["f(1, 2, workers=0)", "f(1, 0)", "f(workers=0, **rest)"])
def test_an_argument_is_found_by_keyword_and_by_position(code: str) -> None:
    """A keyword counts first, then the place among the positional arguments."""
    assert is_constant(argument(_call(code), "workers", 1), 0)


@pytest.mark.parametrize("code", ["f()", "f(1)", "f(*given)", "f(*given, 0)", "f(**rest)"])
def test_what_is_hidden_or_absent_is_not_given(code: str) -> None:
    """Behind a `*` nobody knows which place an argument has."""
    assert argument(_call(code), "workers", 1) is None


@pytest.mark.parametrize(("code", "hidden"), [("f(1, a=2)", False), ("f(*a)", True), ("f(a=1, **b)", True)])
def test_unpacking_hides_arguments(code: str, hidden: bool) -> None:
    """Stars may hand over anything."""
    assert hides_arguments(_call(code)) is hidden


@pytest.mark.parametrize(("name", "given"), [("self", None), ("rows", "r"), ("width", "8")])
def test_a_method_is_handed_what_stands_in_brackets(name: str, given: str | None) -> None:
    """The instance stands before the dot, also where nothing else is handed over."""
    method = ast.parse("def scale(self, rows, width=8): ...").body[0]
    assert isinstance(method, ast.FunctionDef)
    found = handed_over(method, _call("layer.scale(r)"), name, bound=True)
    assert (found and ast.unparse(found)) == given
    assert handed_over(method, _call("layer.scale()"), "self", bound=True) is None


def test_zero_is_not_false() -> None:
    """Constants are told apart by what they are, not by what they equal."""
    assert not is_constant(ast.Constant(0), value=False)
    assert not is_constant(None, value=None)
