"""Following statements: assignments, branches, loops, blocks; each tells whether the next statement is reached."""

import ast
import re
from collections.abc import Callable, Sequence
from typing import Any

from flyball_audit.flow.again import evaluate_again
from flyball_audit.flow.asked import Known, forget, known_by
from flyball_audit.flow.derived import iterated
from flyball_audit.flow.expressions import evaluate
from flyball_audit.flow.frames import DEEPEST, Frame
from flyball_audit.flow.handed import hands_over_loader
from flyball_audit.flow.history import stops_history
from flyball_audit.flow.library import KEYS
from flyball_audit.flow.targets import assign, put, rebind
from flyball_audit.flow.values import BATCH, ON_HOST, UNKNOWN, Value, join
from flyball_audit.module import last_name
from flyball_audit.names import code_of


def follow(frame: Frame, body: Sequence[ast.stmt]) -> bool:
    """Run through statements in order; False if none behind them is reached."""
    flow = frame.flow
    for statement in body:
        handler = _HANDLERS.get(type(statement))
        if handler is None or flow.depth >= DEEPEST:
            continue
        flow.depth += 1
        goes_on = handler(frame, statement)
        flow.depth -= 1
        if not goes_on:
            return False
    return True


def _assign(frame: Frame, node: ast.Assign) -> bool:
    value = evaluate_again(frame, node.value)
    for target in node.targets:
        assign(frame, target, value)
    return True


def _annotated(frame: Frame, node: ast.AnnAssign) -> bool:
    if node.value is not None:
        assign(frame, node.target, evaluate_again(frame, node.value))
    return True


def _augmented(frame: Frame, node: ast.AugAssign) -> bool:
    added = evaluate_again(frame, node.value)
    before = evaluate(frame, node.target)
    after = frame.flow.combine(before, added)
    frame.values[node] = after
    if isinstance(node.target, ast.Subscript):
        put(frame, node.target, after)
    else:
        assign(frame, node.target, after)
        frame.values[node.target] = before
    return True


def _expression(frame: Frame, node: ast.Expr) -> bool:
    call = frame.unused = node.value
    method = call.func.attr if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) else ""
    if method in _SETTING_UP:
        return True
    evaluate_again(frame, call)
    if method in _GROWING and isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.args:
        added = frame.values.get(call.args[-1], UNKNOWN)
        _grow(frame, call.func.value, added if method in _BY_ONE else iterated(frame, added))
    return True


_SETTING_UP = frozenset({"add_argument"})
"""A command line's arguments: of their values nobody asks, and in trainers they took 7 % of all evaluations."""

_BY_ONE = frozenset({"append", "add", "appendleft", "insert"})
_GROWING = _BY_ONE | {"extend", "update"}


def _grow(frame: Frame, holder: ast.expr, added: Value) -> None:
    value = evaluate(frame, holder)
    if value.tags or value.is_instance:
        return
    known = value.element if value.element is not None else None
    if known is None and value.items:
        known = iterated(frame, value)
    rebind(frame, holder, value._replace(items=None, element=added if known is None else join(known, added)))


def _return(frame: Frame, node: ast.Return) -> bool:
    frame.give_back(evaluate_again(frame, node.value) if node.value else ON_HOST)
    return False


def _stop(_frame: Frame, _node: ast.stmt) -> bool:
    return False


def _raise(frame: Frame, node: ast.Raise) -> bool:
    if node.exc is not None:
        evaluate_again(frame, node.exc)
    return False


def _if(frame: Frame, node: ast.If) -> bool:
    evaluate_again(frame, node.test)
    goes_on = _branches(frame, (node.body, node.orelse), known_by(frame, node.test))
    if not node.orelse and _is_on_device(node.test):
        frame.env |= _brought(frame, node.body)
    return goes_on


def _is_on_device(test: ast.expr) -> bool:
    """Whether a condition holds where tensors lie on a device: `use_cuda`, `x.is_cuda`, `device.type == "cuda"`."""
    denied = isinstance(test, ast.UnaryOp) or (isinstance(test, ast.Compare) and not isinstance(test.ops[0], ast.Eq))
    return not denied and _OF_DEVICE.search(code_of(test)) is not None


_OF_DEVICE = re.compile(r"(?<![a-z])(cuda|gpus?)(?![a-z])", re.IGNORECASE)
"""In conditions that ask where tensors lie."""


def _brought(frame: Frame, body: Sequence[ast.stmt]) -> dict[str, Value]:
    """What a body brings to the host, which without a device is there: `if use_cuda: y = y.cpu()`."""
    moves = ((each.targets, each.value) for each in body if isinstance(each, ast.Assign))
    return {
        target.id: frame.values.get(moved, UNKNOWN)
        for targets, moved in moves
        for target in targets
        if isinstance(moved, ast.Call) and last_name(moved) == "cpu"
        if isinstance(target, ast.Name) and target.id in frame.env
    }


def _branches(frame: Frame, bodies: Sequence[Sequence[ast.stmt]], known: Sequence[Known] | None = None) -> bool:
    """Follow each way from the same start; behind them, a variable is what the ways that get there made it."""
    start = frame.env
    ends = []
    for number, body in enumerate(bodies):
        frame.env = start | known[number] if known else dict(start)
        if follow(frame, body):
            if known:
                forget(frame.env, known[number], start)
            ends.append(frame.env)
    frame.env = ends[0] if ends else dict(start)
    for other in ends[1:]:
        frame.env = joined(frame.env, other)
    return bool(ends)


def joined(first: dict[str, Value], second: dict[str, Value]) -> dict[str, Value]:
    """The variables after two ways met."""
    both = dict(first)
    for name, value in second.items():
        known = first.get(name)
        if known is not value:
            both[name] = value if known is None else join(known, value)
    return both


def _for(frame: Frame, node: ast.For | ast.AsyncFor) -> bool:
    over = evaluate_again(frame, node.iter)
    each = iterated(frame, over)
    if each == UNKNOWN and hands_over_loader(frame.values, node.iter):
        each = BATCH
    if isinstance(node.target, ast.Name) and KEYS.search(node.target.id):
        each = UNKNOWN  # who goes through a dict of tensors goes through its keys
    _repeat(frame, node, lambda: _take(frame, node, each))
    _replace_entries(frame, node)
    return True


def _replace_entries(frame: Frame, node: ast.For | ast.AsyncFor) -> None:
    """Behind `for key, value in sums.items(): sums[key] = value.item()` a dict holds nothing but what it was given."""
    first = node.target.elts[0] if isinstance(node.target, ast.Tuple) else node.target
    over = node.iter.func if isinstance(node.iter, ast.Call) else None
    held = over.value if isinstance(over, ast.Attribute) and over.attr in {"items", "keys"} else node.iter
    if not isinstance(held, ast.Name) or not isinstance(first, ast.Name):
        return
    for each in node.body:
        target = each.targets[0] if isinstance(each, ast.Assign) else None
        if not isinstance(target, ast.Subscript) or not isinstance(each, ast.Assign):
            continue
        if code_of(target.value) == held.id and code_of(target.slice) == first.id:
            frame.env[held.id] = Value(element=frame.values.get(each.value, UNKNOWN))


def _take(frame: Frame, node: ast.For | ast.AsyncFor, each: Value) -> None:
    """Give a loop's variable its value; behind the backward passes, one that is called a loss need be none."""
    names = frame.backward
    if names and _is_behind_backward(frame, node):
        frame.backward = _NO_NAMES
    assign(frame, node.target, each)
    frame.backward = names


_NO_NAMES = frozenset[str]()


def _is_behind_backward(frame: Frame, node: ast.stmt) -> bool:
    """Whether a function has backward passes, and all of them above a statement."""
    passes = frame.module.calls_named("backward", "manual_backward")
    lines = [each.lineno for each in passes if frame.module.function_of(each) is frame.node]
    return bool(lines) and max(lines) < node.lineno


def _while(frame: Frame, node: ast.While) -> bool:
    _repeat(frame, node, lambda: evaluate_again(frame, node.test))
    return True


def _repeat(frame: Frame, node: ast.For | ast.AsyncFor | ast.While, begin: Callable[[], object]) -> None:
    passes, before, in_loop = frame.passes, frame.env, frame.in_loop
    frame.in_loop = True
    for number in range(passes):
        frame.passes = 1 if number == 0 else passes
        start = frame.env
        frame.env = dict(start)
        begin()
        follow(frame, node.body)
        frame.env = joined(start, frame.env)
        if frame.env == start:
            break
    frame.passes, frame.in_loop = passes, in_loop
    follow(frame, node.orelse)
    frame.env = joined(before, frame.env)


def _with(frame: Frame, node: ast.With | ast.AsyncWith) -> bool:
    grad = frame.grad
    for item in node.items:
        value = evaluate_again(frame, item.context_expr)
        if stops_history(frame.module, item.context_expr):
            frame.grad = False
        if item.optional_vars is not None:
            assign(frame, item.optional_vars, value)
    goes_on = follow(frame, node.body)
    frame.grad = grad
    return goes_on


def _try(frame: Frame, node: ast.Try) -> bool:
    start = dict(frame.env)
    goes_on = follow(frame, node.body) and follow(frame, node.orelse)
    ends = [frame.env] if goes_on else []
    for handler in node.handlers:
        frame.env = joined(start, frame.env)
        if handler.name:
            frame.env[handler.name] = ON_HOST
        if follow(frame, handler.body):
            ends.append(frame.env)
    frame.env = ends[0] if ends else frame.env
    for other in ends[1:]:
        frame.env = joined(frame.env, other)
    return follow(frame, node.finalbody) and bool(ends)


def _definition(frame: Frame, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> bool:
    if not isinstance(frame.node, ast.Module | ast.ClassDef):  # what those define is found by its name
        frame.env[node.name] = frame.flow.local_definition(frame, node)
    return True


def _assert(frame: Frame, node: ast.Assert) -> bool:
    evaluate_again(frame, node.test)
    return True


def _delete(frame: Frame, node: ast.Delete) -> bool:
    for target in node.targets:
        if isinstance(target, ast.Name):
            frame.env.pop(target.id, None)
    return True


def _match(frame: Frame, node: ast.Match) -> bool:
    evaluate(frame, node.subject)
    return _branches(frame, [*(case.body for case in node.cases), []])


_HANDLERS: dict[type[ast.AST], Callable[[Frame, Any], bool]] = {
    ast.Assign: _assign,
    ast.AnnAssign: _annotated,
    ast.AugAssign: _augmented,
    ast.Expr: _expression,
    ast.Return: _return,
    ast.Break: _stop,
    ast.Continue: _stop,
    ast.Raise: _raise,
    ast.If: _if,
    ast.For: _for,
    ast.AsyncFor: _for,
    ast.While: _while,
    ast.With: _with,
    ast.AsyncWith: _with,
    ast.Try: _try,
    ast.FunctionDef: _definition,
    ast.AsyncFunctionDef: _definition,
    ast.ClassDef: _definition,
    ast.Assert: _assert,
    ast.Delete: _delete,
    ast.Match: _match,
}
"""Each takes a node of the type that it stands under."""
