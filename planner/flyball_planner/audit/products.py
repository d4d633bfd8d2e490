"""Matrix products as attention writes them: of queries with transposed keys, and of weights with values."""

import ast
import re
from collections.abc import Iterator

from flyball_planner.audit.axes import has_features_last
from flyball_planner.audit.module import Function, Module, last_name

_PRODUCTS = frozenset({"matmul", "bmm"})
_TRANSPOSING = frozenset({"transpose", "permute", "swapaxes", "swapdims", "t", "adjoint", "rearrange"})
_TRANSPOSED = frozenset({"T", "mT", "H", "mH"})

_PASSING = frozenset({"to", "float", "type", "type_as", "half", "bfloat16", "contiguous", "nan_to_num", "clone"})
"""Methods that leave weights what they are."""

_SHAPES = frozenset({"shape", "size", "dtype", "device", "dim", "ndim"})
_DROPOUT = re.compile(r"drop", re.IGNORECASE)


def multiplies(module: Module, function: Function, node: ast.expr) -> bool:
    """Whether an expression is the product of one thing with another, transposed."""
    if isinstance(node, ast.Call) and last_name(node) == "einsum":
        return _contracts_last(node)
    sides = _sides(node)
    if sides is None or not _is_transposed(module, function, sides[1]):
        return False
    return has_features_last(module, function, sides[0])


def attends(module: Module, function: Function, weights: ast.expr) -> bool:
    """Whether weights multiply something, and nothing else is done with them."""
    uses = list(_uses(module, function, weights, set()))
    return bool(uses) and all(uses)


def _sides(node: ast.AST) -> tuple[ast.expr, ast.expr] | None:
    """The two operands of a matrix product."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
        return node.left, node.right
    if not isinstance(node, ast.Call) or last_name(node) not in _PRODUCTS:
        return None
    if len(node.args) == 2:
        return node.args[0], node.args[1]
    if len(node.args) == 1 and isinstance(node.func, ast.Attribute):
        return node.func.value, node.args[0]
    return None


def _contracts_last(call: ast.Call) -> bool:
    """`einsum("b h i d, b h j d -> b h i j", …)`: both end in the one letter that goes, and each has one of its own."""
    operands, output = _letters(call)
    if len(operands) != 2 or operands[0][-1:] != operands[1][-1:]:
        return False
    ours, theirs = map(set, operands)
    gone = (ours & theirs) - set(output)
    return gone == {operands[0][-1:]} and bool(ours - theirs) and bool(theirs - ours)


def _weighs(call: ast.Call) -> bool:
    """`einsum("b h i j, b h j d -> b h i d", …)`: the weights' last letter goes; heads that are mixed keep it."""
    operands, output = _letters(call)
    return len(operands) == 2 and operands[0][-1:] in operands[1] and operands[0][-1:] not in output


def _letters(call: ast.Call) -> tuple[list[str], str]:
    """What an einsum takes and gives, one letter a dimension."""
    first = call.args[0] if call.args else None
    text = first.value if isinstance(first, ast.Constant) and isinstance(first.value, str) else ""
    inputs, _, output = text.replace(" ", "").partition("->")
    return inputs.split(","), output


def _is_transposed(module: Module, function: Function, node: ast.expr) -> bool:
    if isinstance(node, ast.Attribute):
        return node.attr in _TRANSPOSED
    if isinstance(node, ast.Call):
        return last_name(node) in _TRANSPOSING
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
    """`k.transpose(-2, -1)`, as against `k.transpose(1, 2)`, which brings heads to the front."""
    if not isinstance(node, ast.Call) or last_name(node) not in {"transpose", "swapaxes", "swapdims", "permute"}:
        return isinstance(node, ast.Attribute) and node.attr in _TRANSPOSED
    texts = [ast.unparse(each) for each in node.args]
    if last_name(node) == "permute":
        return bool(texts) and texts[-1] not in {"-1", str(len(texts) - 1)}
    return {*texts} in ({"-2", "-1"}, {"2", "3"}, {"-1", "-2"})


def _uses(module: Module, function: Function, node: ast.AST, seen: set[ast.AST]) -> Iterator[bool]:
    """For each use of a value: whether it is a product with values; dropout and changes of type are looked through."""
    if node in seen:
        return
    seen.add(node)
    above = module.parent(node)
    if isinstance(above, ast.Assign) and len(above.targets) == 1 and isinstance(above.targets[0], ast.Name):
        for name in _later(module, function, above, above.targets[0].id):
            yield from _uses(module, function, name, seen)
    elif isinstance(above, ast.Attribute) and above.attr in _SHAPES:
        return
    elif isinstance(above, ast.Attribute) and isinstance(module.parent(above), ast.Call):
        yield from _of_method(module, function, above, seen)
    elif isinstance(above, ast.Call) and node in above.args:
        yield from _of_argument(module, function, above, node, seen)
    else:
        sides = _sides(above) if above is not None else None
        yield sides is not None and sides[0] is node


def _of_method(module: Module, function: Function, attribute: ast.Attribute, seen: set[ast.AST]) -> Iterator[bool]:
    call = module.parent(attribute)
    if attribute.attr in _PASSING and call is not None:
        yield from _uses(module, function, call, seen)
    else:
        yield attribute.attr in _PRODUCTS


def _of_argument(
    module: Module, function: Function, call: ast.Call, node: ast.AST, seen: set[ast.AST]
) -> Iterator[bool]:
    if _DROPOUT.search(last_name(call)):
        yield from _uses(module, function, call, seen)
        return
    sides = _sides(call)
    is_einsum = last_name(call) == "einsum" and len(call.args) == 3 and call.args[1] is node and _weighs(call)
    yield is_einsum or (sides is not None and sides[0] is node)


def _later(module: Module, function: Function, assigned: ast.Assign, name: str) -> Iterator[ast.Name]:
    """The reads of a variable behind an assignment, up to the next one."""
    end = assigned.end_lineno or assigned.lineno
    again = [
        each.lineno
        for each in module.all(ast.Assign)
        if each.lineno > end and module.function_of(each) is function
        and any(isinstance(target, ast.Name) and target.id == name for target in each.targets)
    ]  # fmt: skip
    last = min(again, default=None)
    for each in module.all(ast.Name):
        if (
            each.id == name
            and isinstance(each.ctx, ast.Load)
            and each.lineno > end
            and module.function_of(each) is function
            and (last is None or each.lineno <= last)
        ):
            yield each
