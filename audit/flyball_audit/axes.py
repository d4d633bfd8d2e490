"""What the last axis of queries is, as far as the code that shaped them tells: features, places, or nothing."""

import ast
import re

from flyball_audit.given import argument, is_constant
from flyball_audit.module import Function, Module, last_name

DEEPEST = 6
"""Assignments and calls that are followed back."""

_PLACES_LAST = re.compile(r"\([^()]+ [^()]+\)$")
"""In what einops makes of a picture: `b h c (x y)`, its rows and columns as one axis, behind the channels."""

_FEWEST = 4
"""Axes of what has heads: of fewer, a permutation says nothing of them."""


def has_features_last(module: Module, function: Function, queries: ast.expr, depth: int = 0) -> bool:
    """Whether queries may end in their features, as fused kernels want them; not where each is a number, or a channel.

    A channel's query is as long as there are places: the weights are between channels, of which there are few.
    """
    if depth > DEEPEST:
        return True
    if isinstance(queries, ast.Name):
        given = _given(module, function, queries)
        return given is None or has_features_last(module, function, given, depth + 1)
    if isinstance(queries, ast.BinOp):
        return all(has_features_last(module, function, each, depth + 1) for each in (queries.left, queries.right))
    if not isinstance(queries, ast.Call):
        return True
    if _ends_otherwise(module, function, queries):
        return False
    if last_name(queries) in _MIXING:
        return True
    held = [queries.func.value] if isinstance(queries.func, ast.Attribute) else []
    return all(has_features_last(module, function, each, depth + 1) for each in (*held, *queries.args[:1]))


def has_places_last(module: Module, function: Function, node: ast.expr, depth: int = 0) -> bool:
    """Whether what is transposed was a picture whose rows and columns had been made one axis, the last."""
    if isinstance(node, ast.Name) and depth <= DEEPEST:
        given = _given(module, function, node)
        return given is not None and has_places_last(module, function, given, depth + 1)
    if not isinstance(node, ast.Call) or depth > DEEPEST:
        return False
    last = ast.unparse(node.args[-1]) if node.args else ""
    if last_name(node) in {"view", "reshape"}:
        return len(node.args) > 2 and (last == "-1" or "*" in last)  # batches, channels, places
    if last_name(node) == "flatten":
        return last in {"2", "-2"}
    held = node.func.value if isinstance(node.func, ast.Attribute) else None
    swaps = last_name(node) in {"transpose", "permute", "contiguous", "mT"}
    return swaps and held is not None and has_places_last(module, function, held, depth + 1)


_MIXING = frozenset({"transpose", "permute", "rearrange", "einsum", "reshape", "view", "flatten", "Linear", "matmul"})
"""Give the axes a new order: what they were before says nothing."""


def _ends_otherwise(module: Module, function: Function, call: ast.Call) -> bool:
    """`.unbind(-1)`, `.permute(2, 0, 3, 4, 1)` of batches of places, `rearrange(x, "b (h c) x y -> b h c (x y)")`."""
    if last_name(call) == "unbind":
        return _is_minus_one(argument(call, "dim", 0)) and not _is_shaped(module, function, call)
    if last_name(call) == "permute":
        return len(call.args) >= _FEWEST and is_constant(call.args[-1], 1)
    if last_name(call) == "rearrange" and len(call.args) > 1 and isinstance(call.args[1], ast.Constant):
        return bool(_PLACES_LAST.search(str(call.args[1].value).strip()))
    return False


def _is_minus_one(node: ast.expr | None) -> bool:
    """Whether an argument is -1, which Python's grammar takes for an operation."""
    return node is not None and ast.unparse(node) == "-1"


def _is_shaped(module: Module, function: Function, call: ast.Call) -> bool:
    """Whether what a method is called on was given axes before: its last one may be the three parts of `qkv`."""
    held = call.func.value if isinstance(call.func, ast.Attribute) else None
    given = _given(module, function, held) if isinstance(held, ast.Name) else held
    return isinstance(given, ast.Call) and last_name(given) in _MIXING


def _given(module: Module, function: Function, name: ast.Name) -> ast.expr | None:
    """What a variable was given last above its use, alone or as one of several."""
    found = [
        each
        for each in module.all(ast.Assign)
        if each.lineno < name.lineno and module.function_of(each) is function
        and any(part.id == name.id for target in each.targets for part in ast.walk(target)
                if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store))
    ]  # fmt: skip
    return max(found, key=lambda each: each.lineno).value if found else None
