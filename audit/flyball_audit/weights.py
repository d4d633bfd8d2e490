"""What becomes of an attention's weights: whether they multiply values, and what else is done with them."""

import ast
import re
from collections.abc import Iterator
from enum import Enum, auto
from typing import NamedTuple

from flyball_audit.branches import blocks, is_exclusive
from flyball_audit.given import is_constant
from flyball_audit.guards import guards
from flyball_audit.module import Function, Module, last_name
from flyball_audit.products import PRODUCTS, SHAPES, TRANSPOSED, TRANSPOSING, letters, multiplied, sides

_PASSING = frozenset(
    {"to", "float", "type", "type_as", "half", "bfloat16", "contiguous", "nan_to_num", "clone", "masked_fill"}
)
"""Methods that leave weights what they are, but for those that are masked again."""

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


def attends(module: Module, function: Function, weights: ast.expr, *, turned: bool = False) -> bool:
    """Whether weights multiply something, and nothing else is done with them; turned: something times their mirror."""
    uses = [*_uses(module, function, weights, set(), Place.MIRRORED if turned else Place.FIRST)]
    return bool(uses) and all(each.weighs for each in uses)


def attends_unless_asked(module: Module, function: Function, weights: ast.expr) -> bool:
    """Whether the rest of what is done with weights stands behind a condition: they are handed out if asked for."""
    others = _others(module, function, weights)
    return others is not None and all(_is_asked_for(module, function, weights, each) for each in others)


def attends_and_returns(module: Module, function: Function, weights: ast.expr) -> bool:
    """The same where they are given back, too, beside what comes of them: `return y, weights`."""
    others = _others(module, function, weights)
    return others is not None and all(
        _is_beside(module, function, each) or _is_asked_for(module, function, weights, each) for each in others
    )


def _others(module: Module, function: Function, weights: ast.expr) -> list[ast.AST] | None:
    """What else is done with weights; None if they multiply no values."""
    uses = [*_uses(module, function, weights, set(), Place.FIRST)]
    return [each.node for each in uses if not each.weighs] if any(each.weighs for each in uses) else None


def _is_asked_for(module: Module, function: Function, weights: ast.expr, use: ast.AST) -> bool:
    """Whether a condition that does not stand around the weights leads to a use, or it only keeps them for a look."""
    above = {each.test for each in guards(module, weights, function)}
    asked = {each.test for each in guards(module, use, function)} - above
    return bool(asked) or _is_kept(module, function, use)


def _is_beside(module: Module, function: Function, node: ast.AST) -> bool:
    """Whether a function gives a value back behind another one: as it is, detached or in another shape."""
    above = module.parent(node)
    if isinstance(above, ast.Attribute) or (isinstance(above, ast.Call) and node is above.func):
        return _is_beside(module, function, above)
    if isinstance(above, ast.Assign) and isinstance(above.targets[0], ast.Name):
        reads = [*_later(module, function, above, above.targets[0].id)]
        return bool(reads) and all(_is_beside(module, function, each) for each in reads)
    return (
        isinstance(above, ast.Tuple)
        and above.elts[0] is not node
        and isinstance(module.parent(above), ast.Return)
    )  # fmt: skip


def _is_kept(module: Module, function: Function, node: ast.AST) -> bool:
    """Whether a value is kept as an attribute that nothing else in its file reads: `self.weights = …`, for a look."""
    target = _attribute_given(module.parent(node))
    reads = (each for each in module.all(ast.Attribute) if isinstance(each.ctx, ast.Load))
    return target is not None and all(
        each.attr != target.attr or module.function_of(each) is function for each in reads
    )


def _attribute_given(above: ast.AST | None) -> ast.Attribute | None:
    """The one attribute that an assignment gives a value."""
    target = above.targets[0] if isinstance(above, ast.Assign) and len(above.targets) == 1 else None
    return target if isinstance(target, ast.Attribute) else None


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
    elif isinstance(above, ast.Attribute) and above.attr in SHAPES:
        return
    elif isinstance(above, ast.Assign) and (target := _attribute_given(above)) is not None:
        yield Use(node, weighs=False)
        for read in _later_reads(module, function, above, ast.unparse(target)):
            yield from _uses(module, function, read, seen, place)
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
    return name in TRANSPOSING | TRANSPOSED


def _keeps(above: ast.AST | None) -> bool:
    """Whether a value only changes its type, or a part of it is dropped."""
    if isinstance(above, ast.Attribute):
        return above.attr in _PASSING
    return isinstance(above, ast.Call) and _DROPOUT.search(last_name(above)) is not None


def _weighs_values(module: Module, node: ast.AST, above: ast.AST | None, place: Place) -> bool:
    """Whether weights stand in their place of a product."""
    found = sides(above) if above is not None else None
    if place is Place.SECOND:
        return found is not None and found[1] is node
    if place is Place.MIRRORED:
        return False
    if isinstance(above, ast.Attribute):
        return isinstance(module.parent(above), ast.Call) and above.attr in PRODUCTS
    if isinstance(above, ast.Call) and last_name(above) == "einsum":
        return len(above.args) == 3 and above.args[1] is node and _takes_last(above)
    listed = module.parent(above) if isinstance(above, ast.List | ast.Tuple) else None
    if isinstance(listed, ast.Call) and last_name(listed) == "einsum":
        return len(multiplied(listed)) == 2 and multiplied(listed)[0] is node and _takes_last(listed)
    return found is not None and found[0] is node


def _later(module: Module, function: Function, assigned: ast.Assign, name: str) -> Iterator[ast.Name]:
    """The reads of a variable behind an assignment, up to where it is let go, or given another value in any case."""
    end = assigned.end_lineno or assigned.lineno
    around = [*blocks(module, assigned)]
    again = [
        each.lineno
        for each in module.all(ast.Assign)
        if each.lineno > end and module.function_of(each) is function
        and any(isinstance(target, ast.Name) and target.id == name for target in each.targets)
        and (is_constant(each.value, None) or any(each in block for block in around))
    ]  # fmt: skip
    last = min(again, default=None)
    for each in module.all(ast.Name):
        if (
            each.id == name
            and isinstance(each.ctx, ast.Load)
            and each.lineno > end
            and module.function_of(each) is function
            and (last is None or each.lineno <= last)
            and not is_exclusive(module, assigned, each)
        ):
            yield each


def _later_reads(module: Module, function: Function, assigned: ast.Assign, text: str) -> Iterator[ast.Attribute]:
    """The reads of an attribute behind an assignment, in its function."""
    for each in module.within(function, ast.Attribute):
        below = isinstance(each.ctx, ast.Load) and each.lineno > assigned.lineno
        if below and ast.unparse(each) == text and not is_exclusive(module, assigned, each):
            yield each


def _takes_last(call: ast.Call) -> bool:
    """`einsum("b h i j, b h j d -> b h i d", …)`: the weights' last letter goes; heads that are mixed keep it."""
    operands, output = letters(call)
    return len(operands) == 2 and operands[0][-1:] in operands[1] and operands[0][-1:] not in output
