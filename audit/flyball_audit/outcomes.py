"""What becomes of a pass of a model: what is made of it, where that leaves autograd, who differentiates it."""

import ast
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol, TypeVar

from flyball_audit.branches import blocks
from flyball_audit.index import nodes_below, parts_of
from flyball_audit.module import Module, last_name
from flyball_audit.names import code_of

Node = TypeVar("Node", bound=ast.AST)

Given = tuple[set[str], ast.expr, int]
"""The variables that are assigned to, what they are given, and on which line."""

DIFFERENTIATING = frozenset(
    {"backward", "grad", "requires_grad_", "manual_backward", "set_grad_enabled", "vjp", "jacobian"}
)
"""Calls that say that history is wanted, or looked after."""

LEAVING = frozenset({"detach", "numpy", "item", "tolist"})
"""Methods that give a value without history."""


DETACHING = frozenset({"detach", "data"})
"""Who takes these of a result has seen its history."""


class Body(Protocol):
    """What runs, by types of nodes: a region, or a part of one."""

    @property
    def module(self) -> Module:
        """Where it stands."""

    def all(self, kind: type[Node]) -> Iterator[Node]:
        """The nodes of one type."""


def leaves(body: Body, call: ast.Call) -> bool:
    """Whether all that a body makes of a pass is taken out of autograd there, and none of it goes elsewhere."""
    taken = [each.func for each in body.all(ast.Call) if last_name(each) in LEAVING]
    taken += [each.value for each in body.all(ast.Attribute) if each.attr == "data"]
    derived = _derived(body, call) if taken else {}
    left = any(_speaks(body, each, call, derived) for each in taken)
    return left and not any(_speaks(body, each, call, derived) for each in _outlets(body))


def is_shown(body: Body, call: ast.Call) -> bool:
    """Whether what a body makes of a pass is written, shown or measured, and goes nowhere else."""
    derived = _derived(body, call)
    shown = {part for each in body.all(ast.Call) if _SHOWING.search(last_name(each)) for part in _handed(each)}
    if not any(_speaks(body, each, call, derived) for each in shown):
        return False
    return not any(_speaks(body, each, call, derived) for each in _outlets(body) if each not in shown)


def is_taken(body: Body, call: ast.Call, methods: frozenset[str]) -> bool:
    """Whether a body calls one of these methods on what a call gave, or was made of it; `data` stands for `.data`."""
    derived = _derived(body, call)
    taken: list[ast.Attribute] = [part for other in body.all(ast.Call) if isinstance(part := other.func, ast.Attribute)]
    taken += [part for part in body.all(ast.Attribute) if part.attr == "data"]
    return any(part.attr in methods and _speaks(body, part.value, call, derived) for part in taken)


def is_differentiated(body: Body, call: ast.Call) -> bool:
    """Whether a body hands a pass, or what was made of it, to what differentiates, or gives it to its caller."""
    derived = _derived(body, call)
    values = [each.value for each in body.all(ast.Return)] + [each.value for each in body.all(ast.Yield)]
    given = [each for each in values if each is not None]
    asked = (each for each in body.all(ast.Call) if _is_asked_to_learn(each))
    given += [part for each in asked for part in (*_handed(each), each.func)]
    return any(_speaks(body, each, call, derived) for each in given)


def _is_asked_to_learn(call: ast.Call) -> bool:
    """Whether a call differentiates, by its name; that of a schedule, or of who stops early, only reads a loss."""
    name = last_name(call)
    if name in DIFFERENTIATING:
        return True
    held = code_of(call.func).rpartition(".")[0]
    return _LEARNING.search(name) is not None and _READING.search(held) is None


_READING = re.compile(r"sched|stop|meter|metric|bar|(^|[._])(es|lr|log\w*|writer|history)$", re.IGNORECASE)
"""In names of what takes a step by a loss without its history."""

_SHOWING = re.compile(
    r"save|write|log|print|plot|show|gif|grid|image|video|wav|audio|figure|display|export", re.IGNORECASE
)
"""In names of what puts a result where people see it."""


def _derived(body: Body, call: ast.Call) -> Mapping[str, float]:
    """The variables that hold the result of a pass, or what was made of it with its history, up to which line."""
    given = [*_given(body)]
    found = _spread(body, call, given, {})
    ends = _rebound(body, call, found)
    if not ends:
        return found
    again = _last_given(body, call, given, _spread(body, call, given, ends))
    return _spread(body, call, given, {name: line for name, line in ends.items() if line > again.get(name, 0)})


def _spread(body: Body, call: ast.Call, given: Sequence[Given], ends: Mapping[str, float]) -> dict[str, float]:
    """Where history gets from a pass; it ends for some variables on a line."""
    found: dict[str, float] = {}
    for _ in range(3):  # a later line of a loop may feed an earlier one
        before = len(found)
        for names, value, _ in given:
            if _speaks(body, value, call, found):
                found |= {name: ends.get(name, math.inf) for name in names - found.keys()}
        for each in body.all(ast.comprehension):
            if _speaks(body, each.iter, call, found):  # whose variables end with it
                last = each.iter.end_lineno or each.iter.lineno
                found |= {name: max(last, found.get(name, 0)) for name in _names(each.target)}
        if len(found) == before:
            break
    return found


def _given(body: Body) -> Iterator[Given]:
    """The variables that are assigned to, what they are given, and on which line."""
    for each in body.all(ast.Assign):
        yield {name for target in each.targets for name in _names(target)}, each.value, each.lineno
    for change in body.all(ast.AugAssign):
        yield _names(change.target), change.value, change.lineno


def _names(target: ast.AST) -> set[str]:
    if type(target) is ast.Name:  # as most are
        return {target.id}
    return {part.id for part in nodes_below(target) if isinstance(part, ast.Name)}


def _rebound(body: Body, call: ast.Call, derived: Mapping[str, float]) -> dict[str, float]:
    """The lines below a pass on which variables are given what has no history: `x = x.detach()`."""
    found: dict[str, float] = {}
    column = _column(body, call)
    for assigned in body.all(ast.Assign):
        below = assigned.lineno > call.lineno
        for name, value in _pairs(assigned) if below else ():
            certain = assigned.col_offset <= column or _is_of_block(body, assigned, name)
            if certain and not _speaks(body, value, call, derived):
                found[name] = min(assigned.lineno, found.get(name, math.inf))
    return found


def _is_of_block(body: Body, assigned: ast.Assign, name: str) -> bool:
    """Whether a variable is given values in one block alone: a later one there ends what it held before."""
    block = next(blocks(body.module, assigned), [])
    others = (each for each in body.all(ast.Assign) if any(name in _names(target) for target in each.targets))
    return all(each in block for each in others)


def _last_given(body: Body, call: ast.Call, given: Sequence[Given], derived: Mapping[str, float]) -> dict[str, int]:
    """The last lines on which variables are given what has history."""
    found: dict[str, int] = {}
    for names, value, line in given:
        for name in names if _speaks(body, value, call, derived) else ():
            found[name] = max(line, found.get(name, 0))
    return found


def _column(body: Body, call: ast.Call) -> int:
    """Where the statement of a call begins: what is not indented deeper runs after it in any case."""
    statement = body.module.statement(call)
    return statement.col_offset if isinstance(statement, ast.Assign) else 0


def _pairs(assigned: ast.Assign) -> Iterator[tuple[str, ast.expr]]:
    """The names and what each is given: `a, b = x, y` in pairs."""
    target, value = assigned.targets[0], assigned.value
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        yield from ((t.id, v) for t, v in zip(target.elts, value.elts, strict=True) if isinstance(t, ast.Name))
    elif isinstance(target, ast.Name):
        yield target.id, value


def _outlets(body: Body) -> Iterator[ast.expr]:
    """What a body gives back, keeps, or hands to somebody who may keep it."""
    values = [each.value for each in body.all(ast.Return)] + [each.value for each in body.all(ast.Yield)]
    yield from (each for each in values if each is not None)
    for assigned in body.all(ast.Assign):
        if not all(isinstance(part, ast.Name | ast.Tuple | ast.List) for part in assigned.targets):
            yield assigned.value
    for statement in body.all(ast.Expr):
        if isinstance(statement.value, ast.Call):
            yield from _handed(statement.value)
    for call in body.all(ast.Call):
        if last_name(call) in DIFFERENTIATING or _LEARNING.search(last_name(call)):
            yield from (*_handed(call), call.func)


def _handed(call: ast.Call) -> Iterator[ast.expr]:
    yield from (*call.args, *(each.value for each in call.keywords))


_LEARNING = re.compile(r"step|optimi|update|backward|learn|(?<![a-z])(train|fit)(?![a-z])", re.IGNORECASE)
"""In names of what may differentiate what it is handed."""


def _speaks(body: Body, node: ast.expr, call: ast.Call, derived: Mapping[str, float]) -> bool:
    """Whether an expression holds a pass, or what was made of it, before that leaves."""
    near = node.lineno <= call.lineno <= (node.end_lineno or node.lineno)
    if not near and derived.keys().isdisjoint(body.module.names_in(node)):  # so it is with most
        return False
    return _holds(node, call, derived)


def _holds(node: ast.AST, call: ast.Call, derived: Mapping[str, float]) -> bool:
    """The same, looked for in the expression itself."""
    waiting = [node]
    while waiting:
        here = waiting.pop()
        if isinstance(here, ast.Name):
            if here.lineno <= derived.get(here.id, 0):
                return True
        elif here is call:
            return True
        elif isinstance(here, _COMPREHENSIONS):
            waiting.append(here.elt)
        elif isinstance(here, ast.DictComp):
            waiting.append(here.value)
        elif not isinstance(here, ast.Constant) and not _leaves(here):
            waiting += parts_of(here)
    return False


_COMPREHENSIONS = (ast.ListComp, ast.GeneratorExp, ast.SetComp)


def _leaves(node: ast.AST) -> bool:
    """Whether what a node gives has no history, whatever it is made of."""
    if isinstance(node, ast.Call):
        return last_name(node) in LEAVING
    return isinstance(node, ast.Attribute) and node.attr in _ASKED


_ASKED = frozenset({"shape", "data", "dtype", "device"})
