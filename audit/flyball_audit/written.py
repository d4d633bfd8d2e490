"""Code of small expressions, written as Python writes it, in a tenth of the time; others are left to Python."""

import ast
from collections.abc import Callable
from typing import Any


def dotted_name(node: ast.AST) -> str | None:
    """`a.b.c` as text, or None for any other expression."""
    parts = []
    while type(node) is ast.Attribute:
        parts.append(node.attr)
        node = node.value
    if type(node) is not ast.Name:
        return None
    if not parts:
        return node.id
    parts.append(node.id)
    return ".".join(reversed(parts))


def written(node: ast.AST) -> str | None:
    """The code of an expression that needs no parentheses: names, calls, entries, comparisons; None for others."""
    writer = _WRITERS.get(type(node))
    return None if writer is None else writer(node)


def _constant(node: ast.Constant) -> str | None:
    """Of a number or text; Python writes fractions and unicode marks in a way of its own."""
    plain = type(node.value) in _PLAIN and node.kind is None
    return repr(node.value) if plain else None


_PLAIN = frozenset({int, str, bool, type(None)})


def _attribute(node: ast.Attribute) -> str | None:
    dotted = dotted_name(node)
    held = None if dotted is not None or isinstance(node.value, ast.Constant) else _atom(node.value)
    return dotted if held is None else f"{held}.{node.attr}"


def _subscript(node: ast.Subscript) -> str | None:
    held, index = _atom(node.value), _atom(node.slice)
    return None if held is None or index is None else f"{held}[{index}]"


def _call(node: ast.Call) -> str | None:
    called = _atom(node.func)
    handed = [*map(written, node.args), *map(_keyword, node.keywords)]
    return None if called is None or None in handed else f"{called}({', '.join(map(str, handed))})"


def _keyword(node: ast.keyword) -> str | None:
    value = written(node.value)
    return None if node.arg is None or value is None else f"{node.arg}={value}"


def _compare(node: ast.Compare) -> str | None:
    if len(node.ops) > 1:
        return None
    left, right = _atom(node.left), _atom(node.comparators[0])
    sign = _COMPARISONS.get(type(node.ops[0]))
    return None if left is None or right is None or sign is None else f"{left} {sign} {right}"


_COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Is: "is",
    ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in",
}  # fmt: skip


def _atom(node: ast.AST) -> str | None:
    """The code of what binds most tightly."""
    return written(node) if type(node) in _ATOMS else None


_ATOMS = frozenset({ast.Name, ast.Attribute, ast.Constant, ast.Subscript, ast.Call})

_WRITERS: dict[type[ast.AST], Callable[[Any], str | None]] = {
    ast.Name: dotted_name,
    ast.Attribute: _attribute,
    ast.Constant: _constant,
    ast.Subscript: _subscript,
    ast.Call: _call,
    ast.Compare: _compare,
}
"""Each takes a node of the type that it stands under."""
