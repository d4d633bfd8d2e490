"""Arguments of calls: by keyword, by position, hidden by unpacking."""

import ast

import pytest

from flyball_audit.given import (
    argument,
    constant_defaults,
    default_of,
    handed_over,
    hides_arguments,
    is_constant,
    is_off,
    named_arguments,
)


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


SIGNATURE = "def load(path, /, size=8, *rest, shuffle=False, seed=seed_of(0), depth, **more): ..."


@pytest.mark.parametrize(
    ("name", "default"),
    [("path", None), ("size", "8"), ("shuffle", "False"), ("seed", "seed_of(0)"), ("depth", None), ("rest", None)],
)
def test_a_signature_tells_what_an_argument_is_by_default(name: str, default: str | None) -> None:
    """By place or by keyword alone; stars have none, nor has what each call must hand over."""
    found = default_of(_function(SIGNATURE), name)
    assert (found and ast.unparse(found)) == default


def test_only_constants_are_constant_defaults() -> None:
    """What a call computes may be anything."""
    found = constant_defaults(_function(SIGNATURE))
    assert {name: each.value for name, each in found.items()} == {"size": 8, "shuffle": False}


def test_stars_have_no_name_of_their_own() -> None:
    """The others are told in their order."""
    assert [each.arg for each in named_arguments(_function(SIGNATURE))] == ["path", "size", "shuffle", "seed", "depth"]


@pytest.mark.parametrize(("code", "off"), [("False", True), ("None", True), ("0", True), ("1", False), ("flag", False)])
def test_only_constants_are_known_to_be_off(code: str, off: bool) -> None:
    """Of a variable nobody knows."""
    assert is_off(ast.parse(code, mode="eval").body) is off


def _function(code: str) -> ast.FunctionDef:
    node = ast.parse(code).body[0]
    assert isinstance(node, ast.FunctionDef)
    return node
