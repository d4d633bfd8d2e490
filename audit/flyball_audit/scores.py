"""How an attention's scores came about: followed back from the softmax, through scaling, masks and own functions."""

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from flyball_audit.assigned import given_above
from flyball_audit.branches import is_exclusive
from flyball_audit.given import handed_over, hides_arguments
from flyball_audit.module import Function, Module, last_name
from flyball_audit.products import SHAPES

MOST = 60
"""Expressions that are looked at on the way back: more are no attention."""

BIAS = re.compile(r"bias|pos_|position|rel_|relative|alibi")

_SCALING = frozenset({
    "masked_fill", "masked_fill_", "float", "to", "type", "half", "contiguous", "where", "clamp", "type_as", "add",
    "add_", "mul", "mul_", "div", "div_", "bfloat16", "clone", "view", "reshape", "nan_to_num",
})  # fmt: skip
"""What is done to scores between the product and the softmax: the fused kernel does it too, or takes it as its mask."""


class Source(NamedTuple):
    """An expression that scores were made of, and the function where it stands."""

    function: Function
    node: ast.expr


def sources(module: Module, function: Function, scores: ast.expr) -> Iterator[Source]:
    """Scores, and what they were made of, nearest first."""
    waiting, seen = [Source(function, scores)], set[ast.AST]()
    while waiting and len(seen) < MOST:
        here = waiting.pop(0)
        if here.node not in seen:
            seen.add(here.node)
            yield here
            waiting += made_of(module, here)


def is_biased(module: Module, function: Function, scores: ast.expr) -> bool:
    """Whether something that is called a bias or a position is added to the scores on their way."""
    found = [*sources(module, function, scores)]
    sums = [each.node for each in found if isinstance(each.node, ast.BinOp) and isinstance(each.node.op, ast.Add)]
    changed = (sum_ for each in found if isinstance(each.node, ast.Name) for sum_ in _added(module, each))
    by_call = (each.node for each in found if isinstance(each.node, ast.Call) and BIAS.search(last_name(each.node)))
    return any(BIAS.search(ast.unparse(each)) for each in (*sums, *changed)) or any(by_call)


def serves_else(module: Module, function: Function, scores: ast.expr) -> bool:
    """Whether the scores are read again behind the softmax: a fused kernel gives none."""
    if not isinstance(scores, ast.Name):
        return False
    end = module.statement(scores).end_lineno or scores.lineno
    given = [each.lineno for each in module.all(ast.Assign) if each.lineno > scores.lineno - 1
             and module.function_of(each) is function and scores.id in _stored(each)]  # fmt: skip
    last = min(given, default=None)
    return any(
        each.id == scores.id and type(each.ctx) is ast.Load and module.function_of(each) is function
        and each.lineno > end and (last is None or each.lineno <= last) and not _is_asked_its_shape(module, each)
        and not is_exclusive(module, scores, each)
        for each in module.all(ast.Name)
    )  # fmt: skip


def picks_some(module: Module, function: Function, scores: ast.expr) -> bool:
    """Whether the greatest scores are picked on the way, which a fused kernel cannot: `torch.topk(scores, k)`."""
    on_the_way = {each.node.id for each in sources(module, function, scores) if isinstance(each.node, ast.Name)}
    for call in module.calls_of(function):
        held = [call.func.value] if isinstance(call.func, ast.Attribute) else []
        read = {each.id for each in (*held, *call.args) if isinstance(each, ast.Name)}
        if last_name(call) in _PICKING and not read.isdisjoint(on_the_way):
            return True
    return False


_PICKING = frozenset({"topk", "kthvalue"})


def _is_asked_its_shape(module: Module, name: ast.Name) -> bool:
    """Whether a name is read for its shape or type, not its numbers: `x.shape`, `y.type_as(x)`."""
    above = module.parent(name)
    if isinstance(above, ast.Call):
        return last_name(above) == "type_as" and name in above.args
    return isinstance(above, ast.Attribute) and above.attr in SHAPES


def made_of(module: Module, here: Source) -> Iterator[Source]:
    function, node = here
    if isinstance(node, ast.Name):
        given = given_above(module, function, node)
        yield from [Source(function, given)] if given is not None else _handed(module, here)
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult | ast.Div | ast.Add | ast.Sub):
        yield from (Source(function, each) for each in (node.left, node.right))
    elif isinstance(node, ast.Call) and last_name(node) in _SCALING:
        held = [node.func.value] if isinstance(node.func, ast.Attribute) else []
        yield from (Source(function, each) for each in (*held, *node.args))
    elif isinstance(node, ast.Call) and BIAS.search(last_name(node)):  # `scores = add_relative_positions(scores, …)`
        yield from (Source(function, each) for each in node.args[:1])


def _handed(module: Module, here: Source) -> Iterator[Source]:
    """What the file's calls of a function hand it over under an argument's name."""
    function, name = here.function, getattr(here.node, "id", "")
    if name not in {each.arg for each in (*function.args.args, *function.args.kwonlyargs)}:
        return
    bound = module.class_of(function) is not None
    for call in module.calls_named(function.name):
        caller = module.function_of(call)
        given = None if hides_arguments(call) else handed_over(function, call, name, bound=bound)
        if caller is not None and caller is not function and given is not None:
            yield Source(caller, given)


def _added(module: Module, here: Source) -> Iterator[ast.expr]:
    """What is added to a variable in place above its use, as a sum."""
    name = here.node
    for each in module.all(ast.AugAssign):
        inside = each.lineno < name.lineno and module.function_of(each) is here.function
        if inside and isinstance(each.target, ast.Name) and each.target.id == getattr(name, "id", ""):
            yield ast.BinOp(each.target, each.op, each.value)


def _stored(assigned: ast.Assign) -> set[str]:
    return {each.id for target in assigned.targets for each in ast.walk(target) if isinstance(each, ast.Name)}
