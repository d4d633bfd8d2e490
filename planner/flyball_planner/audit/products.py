"""Matrix products as attention writes them: of queries with transposed keys, and of weights with values."""

import ast
import re
from collections.abc import Iterator
from enum import Enum, auto
from typing import NamedTuple

from flyball_planner.audit.axes import has_features_last
from flyball_planner.audit.guards import guards
from flyball_planner.audit.module import Function, Module, last_name

_PRODUCTS = frozenset({"matmul", "bmm"})
_TRANSPOSING = frozenset({"transpose", "permute", "swapaxes", "swapdims", "t", "adjoint", "rearrange"})
_TRANSPOSED = frozenset({"T", "mT", "H", "mH"})

_PASSING = frozenset({"to", "float", "type", "type_as", "half", "bfloat16", "contiguous", "nan_to_num", "clone"})
"""Methods that leave weights what they are."""

_SHAPES = frozenset({"shape", "size", "dtype", "device", "dim", "ndim"})
_DROPOUT = re.compile(r"drop", re.IGNORECASE)


class Place(Enum):
    """Where weights have to stand in a product with values."""

    FIRST = auto()
    SECOND = auto()
    MIRRORED = auto()  # second, once they are transposed


class Use(NamedTuple):
    """A place where weights are used."""

    node: ast.AST
    weighs: bool
    """Whether they multiply values there."""


def multiplies(module: Module, function: Function, node: ast.expr, *, turned: bool = False) -> bool:
    """Whether an expression is the product of one thing with another, transposed; turned: of one transposed."""
    if isinstance(node, ast.Call) and last_name(node) == "einsum" and not _is_plain_product(node):
        return not turned and _contracts(node)
    sides = _sides(node)
    if sides is None:
        return False
    if turned:
        return _is_transposed(module, function, sides[0]) and not _is_transposed(module, function, sides[1])
    return _is_transposed(module, function, sides[1]) and has_features_last(module, function, sides[0])


def attends(module: Module, function: Function, weights: ast.expr, *, turned: bool = False) -> bool:
    """Whether weights multiply something, and nothing else is done with them; turned: something times their mirror."""
    uses = [*_uses(module, function, weights, set(), Place.MIRRORED if turned else Place.FIRST)]
    return bool(uses) and all(each.weighs for each in uses)


def attends_unless_asked(module: Module, function: Function, weights: ast.expr) -> bool:
    """Whether the rest of what is done with weights stands behind a condition: they are handed out if asked for."""
    uses = [*_uses(module, function, weights, set(), Place.FIRST)]
    above = {each.test for each in guards(module, weights, function)}
    others = [each.node for each in uses if not each.weighs]
    asked = all({guard.test for guard in guards(module, each, function)} - above for each in others)
    return any(each.weighs for each in uses) and asked


def _sides(node: ast.AST) -> tuple[ast.expr, ast.expr] | None:
    """The two operands of a matrix product."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
        return node.left, node.right
    if isinstance(node, ast.Call) and last_name(node) == "baddbmm" and len(node.args) > 1:
        return node.args[-2], node.args[-1]
    if isinstance(node, ast.Call) and last_name(node) == "einsum" and _is_plain_product(node):
        return node.args[1], node.args[2]
    if not isinstance(node, ast.Call) or last_name(node) not in _PRODUCTS:
        return None
    if len(node.args) == 2:
        return node.args[0], node.args[1]
    if len(node.args) == 1 and isinstance(node.func, ast.Attribute):
        return node.func.value, node.args[0]
    return None


def _contracts(call: ast.Call) -> bool:
    """`einsum("b h i d, b h j d -> b h i j", …)`: one letter goes, each has one of its own, and those come last."""
    operands, output = _letters(call)
    if len(operands) != 2:
        return False
    ours, theirs = map(set, operands)
    gone, own = (ours & theirs) - set(output), ours ^ theirs
    if len(gone) != 1 or len(ours - theirs) != 1 or len(theirs - ours) != 1:
        return False
    places = {each.index("".join(gone)) for each in operands}
    return len(places) == 1 and set(output[-2:]) == own


def _is_plain_product(call: ast.Call) -> bool:
    """`einsum("bij,bjk->bik", …)`: what `bmm` does."""
    operands, output = _letters(call)
    if len(operands) != 2 or len(call.args) != 3 or {len(each) for each in operands} != {len(output)}:
        return False
    first, second = operands
    return (
        len(output) > 1 and first[-1] == second[-2] and output == first[:-1] + second[-1] and first[:-2] == second[:-2]
    )


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
    name = last_name(node) if isinstance(node, ast.Call) else ""
    if isinstance(node, ast.Call) and name == "rearrange":
        return _moves_last(node)
    if not isinstance(node, ast.Call) or name not in {"transpose", "swapaxes", "swapdims", "permute"}:
        return isinstance(node, ast.Attribute) and node.attr in _TRANSPOSED
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


def _uses(module: Module, function: Function, node: ast.AST, seen: set[ast.AST], place: Place) -> Iterator[Use]:
    """Each use of a value; dropout and changes of type are looked through."""
    if node in seen:
        return
    seen.add(node)
    above = module.parent(node)
    changed = _changed(module, node, above)
    if isinstance(above, ast.Assign) and len(above.targets) == 1 and isinstance(above.targets[0], ast.Name):
        for name in _later(module, function, above, above.targets[0].id):
            yield from _uses(module, function, name, seen, place)
    elif isinstance(above, ast.Attribute) and above.attr in _SHAPES:
        return
    elif changed is not None and place is Place.MIRRORED and _mirrors(above):
        yield from _uses(module, function, changed, seen, Place.SECOND)
    elif changed is not None and _keeps(above):
        yield from _uses(module, function, changed, seen, place)
    else:
        yield Use(node, _weighs_values(module, node, above, place))


def _changed(module: Module, node: ast.AST, above: ast.AST | None) -> ast.expr | None:
    """What a method of a value, an attribute, or a function that it is handed to, gives."""
    if isinstance(above, ast.Call):
        return above if node in above.args else None
    method = module.parent(above) if isinstance(above, ast.Attribute) else None
    if isinstance(method, ast.Call) and method.func is above:
        return method
    return above if isinstance(above, ast.Attribute) else None


def _mirrors(above: ast.AST | None) -> bool:
    name = above.attr if isinstance(above, ast.Attribute) else last_name(above) if isinstance(above, ast.Call) else ""
    return name in _TRANSPOSING | _TRANSPOSED


def _keeps(above: ast.AST | None) -> bool:
    """Whether a value only changes its type, or a part of it is dropped."""
    if isinstance(above, ast.Attribute):
        return above.attr in _PASSING
    return isinstance(above, ast.Call) and _DROPOUT.search(last_name(above)) is not None


def _weighs_values(module: Module, node: ast.AST, above: ast.AST | None, place: Place) -> bool:
    """Whether weights stand in their place of a product."""
    sides = _sides(above) if above is not None else None
    if place is Place.SECOND:
        return sides is not None and sides[1] is node
    if place is Place.MIRRORED:
        return False
    if isinstance(above, ast.Attribute):
        return isinstance(module.parent(above), ast.Call) and above.attr in _PRODUCTS
    if isinstance(above, ast.Call) and last_name(above) == "einsum":
        return len(above.args) == 3 and above.args[1] is node and _weighs(above)
    return sides is not None and sides[0] is node


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
