"""One walk over a tree tells types, parents, and what each scope binds and stores."""

import ast
from collections.abc import Mapping
from pathlib import Path
from textwrap import dedent

from hypothesis import given
from hypothesis import strategies as st

from flyball_audit.index import SCOPES, Index, names_below, nodes_below
from tests.audit.expectations import CORPUS

CODE = dedent("""
    import os
    limit = 3
    def outer(first, *rest, key=None, **more):
        total = 0
        first.seen = total
        first.seen.deeper = 1
        with open(first) as file:
            for number in rest:
                total += number
        inner = lambda each: (named := each)
        class Holder:
            shared: int = 1
            def method(self):
                self.kept = limit
                del self.gone
        return [part for part in rest]
""")
FILES = sorted(CORPUS.glob("*/*.py"))


def _names(index: Index, kind: type[ast.AST]) -> dict[str, list[str]]:
    return {getattr(each, "name", "λ"): sorted(index.bound.get(each, ())) for each in index.by_type[kind]}


def test_scopes_bind_what_they_give_values() -> None:
    """Arguments, targets of assignments, loops and `with`; imports and definitions are others' matter."""
    tree = ast.parse(CODE)
    index = Index(tree)
    assert sorted(index.bound[tree]) == ["limit"]
    assert _names(index, ast.FunctionDef) == {
        "outer": ["file", "first", "inner", "key", "more", "number", "part", "rest", "total"],
        "method": ["self"],
    }
    assert _names(index, ast.Lambda) == {"λ": ["each", "named"]}
    assert _names(index, ast.ClassDef) == {"Holder": ["shared"]}
    assert index.local_names == {
        "each", "file", "first", "inner", "key", "more", "named", "number", "part", "rest", "self", "total",
    }  # fmt: skip


def test_functions_store_attributes_of_names_alone() -> None:
    """`self.kept = …` and `del self.gone` are of `self`; `first.seen.deeper` is of no name."""
    index = Index(ast.parse(CODE))
    assert {getattr(scope, "name", "λ"): pairs for scope, pairs in index.stored.items()} == {
        "outer": [("first", "seen")],
        "method": [("self", "kept"), ("self", "gone")],
    }


def test_a_scopes_own_body_ends_where_inner_scopes_begin() -> None:
    """What a class inside a function calls or assigns is not the function's."""
    index = Index(ast.parse(CODE))
    outer = next(each for each in index.by_type[ast.FunctionDef] if getattr(each, "name", "") == "outer")
    assert [ast.unparse(each) for each in index.of_scope(outer)[ast.Assign]] == [
        "total = 0",
        "first.seen = total",
        "first.seen.deeper = 1",
        "inner = lambda each: (named := each)",
    ]
    assert index.of_scope(outer) is index.of_scope(outer)


@given(st.sampled_from(FILES))
def test_every_node_is_found_in_the_order_of_the_text_below_its_parent(path: Path) -> None:
    """The index holds what a plain walk finds, contexts and operators aside; nodes of a type stand as in the text."""
    tree = ast.parse(path.read_text())
    index = Index(tree)
    plain = (ast.expr_context, ast.operator, ast.boolop, ast.unaryop, ast.cmpop, ast.alias)
    there = {each for each in ast.walk(tree) if not isinstance(each, plain)}
    assert {each for nodes in index.by_type.values() for each in nodes} == there
    for node in there - {tree}:
        assert node in set(ast.iter_child_nodes(index.parents[node]))
    for kind in (*SCOPES, ast.Call, ast.Assign):
        places = [(each.lineno, each.col_offset) for each in index.by_type.get(kind, ()) if isinstance(each, ast.stmt)]
        assert places == sorted(places)


@given(st.sampled_from(FILES))
def test_names_below_a_node_are_those_that_a_walk_finds(path: Path) -> None:
    """Variables and attributes of every statement, its own name included; no arguments, no keywords, no imports."""
    for statement in (each for each in ast.walk(ast.parse(path.read_text())) if isinstance(each, ast.stmt)):
        parts = [*ast.walk(statement)]
        names = {each.id for each in parts if isinstance(each, ast.Name)}
        assert names_below(statement) == names | {each.attr for each in parts if isinstance(each, ast.Attribute)}


def _below(root: ast.AST, node: ast.AST, parents: Mapping[ast.AST, ast.AST]) -> ast.AST | None:
    """The part of a loop or function that a node stands in; None outside, and in functions and classes inside it."""
    below = node
    while (above := parents.get(below)) is not None:
        if above is root:
            return below
        if isinstance(above, SCOPES):
            return None
        below = above
    return None


@given(st.sampled_from(FILES))
def test_a_body_holds_what_runs_in_each_turn_or_call(path: Path) -> None:
    """All nodes but names, in the order of the text; no iterable, `else`, decorator, default or inner function."""
    index = Index(ast.parse(path.read_text()))
    roots = [each for kind in (ast.For, ast.While, ast.FunctionDef, ast.Lambda) for each in index.by_type.get(kind, ())]
    for root in roots:
        body = getattr(root, "body", [])
        repeated = body if isinstance(body, list) else [body]
        repeated = [*repeated, root.test] if isinstance(root, ast.While) else repeated
        for kind, nodes in index.by_type.items():
            if kind is not ast.Name:
                expected = [each for each in nodes if _below(root, each, index.parents) in repeated]
                assert index.of_body(root).get(kind, []) == expected


@given(st.sampled_from(FILES))
def test_nodes_below_are_those_of_a_walk(path: Path) -> None:
    """In its order; contexts, operators and the names of imports are left out."""
    left_out = ast.expr_context | ast.operator | ast.unaryop | ast.boolop | ast.cmpop | ast.alias
    tree = ast.parse(path.read_text())
    assert nodes_below(tree) == [each for each in ast.walk(tree) if not isinstance(each, left_out)]
