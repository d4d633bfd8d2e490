"""Matrix products as attention writes them: of queries with transposed keys, and of weights with values."""

import ast
import re

from flyball_audit.axes import has_features_last, has_places_last
from flyball_audit.module import Function, Module, last_name

PRODUCTS = frozenset({"matmul", "bmm"})
TRANSPOSING = frozenset({"transpose", "permute", "swapaxes", "swapdims", "t", "adjoint", "rearrange"})
TRANSPOSED = frozenset({"T", "mT", "H", "mH"})

SHAPES = frozenset({"shape", "size", "dtype", "device", "dim", "ndim"})
"""What is asked of a tensor without its numbers."""


def multiplies(module: Module, function: Function, node: ast.expr, *, turned: bool = False) -> bool:
    """Whether an expression is the product of one thing with another, transposed; turned: of one transposed."""
    if isinstance(node, ast.Call) and last_name(node) == "einsum" and not _is_plain_product(node):
        return not turned and _contracts(node)
    found = sides(node)
    if found is None:
        return False
    first, second = found
    if turned:
        return _is_transposed(module, function, first) and not _is_transposed(module, function, second)
    return _is_transposed(module, function, second) and has_features_last(module, function, first)


def multiplies_places(module: Module, function: Function, node: ast.expr) -> bool:
    """Whether it is the product of one thing, transposed, with another, of pictures whose places are one last axis."""
    if not multiplies(module, function, node, turned=True):
        return False
    first, _ = sides(node) or (node, node)
    return has_places_last(module, function, first)


def multiplies_named(function: Function, node: ast.expr) -> bool:
    """Whether it is the plain product of two arguments that are called queries and keys."""
    names = [each.id for each in sides(node) or () if isinstance(each, ast.Name)]
    arguments = {each.arg for each in function.args.args}
    return len(names) == 2 and {*names} <= arguments and all(map(re.match, _NAMES, names))


_NAMES = (re.compile(r"q(uer(y|ies))?(_|$)"), re.compile(r"k(eys?)?(_|$)"))
"""Queries, keys."""


def sides(node: ast.AST) -> tuple[ast.expr, ast.expr] | None:
    """The two operands of a matrix product."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
        return node.left, node.right
    if isinstance(node, ast.Call) and last_name(node) == "baddbmm" and len(node.args) > 1:
        return node.args[-2], node.args[-1]
    if isinstance(node, ast.Call) and last_name(node) == "einsum" and _is_plain_product(node):
        first, second = multiplied(node)
        return first, second
    if not isinstance(node, ast.Call) or last_name(node) not in PRODUCTS:
        return None
    if len(node.args) == 2:
        return node.args[0], node.args[1]
    if len(node.args) == 1 and isinstance(node.func, ast.Attribute):
        return node.func.value, node.args[0]
    return None


def _contracts(call: ast.Call) -> bool:
    """`einsum("b h i d, b h j d -> b h i j", …)`: one letter goes, each has one of its own, and those come last.

    Several heads of queries may share keys: `einsum("b h i d, b j d -> b h i j", …)`.
    """
    operands, output = letters(call)
    if len(operands) != 2:
        return False
    ours, theirs = map(set, operands)
    gone, ends = (ours & theirs) - set(output), set(output[-2:])
    if len(gone) != 1 or len(theirs - ours) != 1 or not ends & theirs - ours or not ends & ours - theirs:
        return False
    if len(ours - theirs) > 1:
        return all(each[-1] in gone for each in operands)
    return len({each.index("".join(gone)) for each in operands}) == 1


def _is_plain_product(call: ast.Call) -> bool:
    """`einsum("bij,bjk->bik", …)`: what `bmm` does."""
    operands, output = letters(call)
    if len(operands) != 2 or len(multiplied(call)) != 2 or {len(each) for each in operands} != {len(output)}:
        return False
    first, second = operands
    return (
        len(output) > 1 and first[-1] == second[-2] and output == first[:-1] + second[-1] and first[:-2] == second[:-2]
    )


def multiplied(call: ast.Call) -> list[ast.expr]:
    """What an einsum takes, one by one or as a list: `einsum("…", q, k)`, `einsum("…", [q, k])`."""
    given = call.args[1:]
    return given[0].elts if len(given) == 1 and isinstance(given[0], ast.List | ast.Tuple) else given


def letters(call: ast.Call) -> tuple[list[str], str]:
    """What an einsum takes and gives, one letter a dimension."""
    first = call.args[0] if call.args else None
    text = first.value if isinstance(first, ast.Constant) and isinstance(first.value, str) else ""
    inputs, _, output = text.replace(" ", "").partition("->")
    return inputs.split(","), output


def _is_transposed(module: Module, function: Function, node: ast.expr) -> bool:
    if isinstance(node, ast.Attribute):
        return node.attr in TRANSPOSED
    if isinstance(node, ast.Call):
        return last_name(node) in TRANSPOSING
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult | ast.Div):  # `k.transpose(-1, -2) / scale`
        return any(_is_transposed(module, function, each) for each in (node.left, node.right))
    if not isinstance(node, ast.Name):
        return False
    given = [
        each.value
        for each in module.all(ast.Assign)
        if module.function_of(each) is function and each.lineno < node.lineno
        and any(isinstance(target, ast.Name) and target.id == node.id for target in each.targets)
    ]  # fmt: skip
    return bool(given) and _swaps_last(given[-1])


def _swaps_last(node: ast.expr) -> bool:
    """`k.transpose(-2, -1)`, as against `k.transpose(1, 2)`, which brings heads to the front; scaled or not."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult | ast.Div):
        return _swaps_last(node.left) or _swaps_last(node.right)
    name = last_name(node) if isinstance(node, ast.Call) else ""
    if isinstance(node, ast.Call) and name == "rearrange":
        return _moves_last(node)
    if not isinstance(node, ast.Call) or name not in {"transpose", "swapaxes", "swapdims", "permute"}:
        return isinstance(node, ast.Attribute) and node.attr in TRANSPOSED
    texts = [ast.unparse(each) for each in node.args]
    if name == "permute":
        return bool(texts) and texts[-1] not in {"-1", str(len(texts) - 1)}
    return {*texts} in ({"-2", "-1"}, {"2", "3"}, {"-1", "-2"})


def _moves_last(call: ast.Call) -> bool:
    """`rearrange(k, "b n (h d) -> b h d n")`: what was innermost is so no more."""
    pattern = call.args[1] if len(call.args) > 1 else None
    text = pattern.value if isinstance(pattern, ast.Constant) and isinstance(pattern.value, str) else ""
    before, _, after = text.partition("->")
    ends = [each.replace(")", " ").split()[-1:] for each in (before, after)]
    return all(ends) and ends[0] != ends[1]
