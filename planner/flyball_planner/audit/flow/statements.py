"""Following statements: assignments, branches, loops, blocks; each tells whether the next statement is reached."""

import ast
from collections.abc import Callable, Sequence
from typing import Any

from flyball_planner.audit.flow.expressions import evaluate, iterated, part, tensor_asked_for
from flyball_planner.audit.flow.frames import Frame
from flyball_planner.audit.flow.handed import hands_over_loader
from flyball_planner.audit.flow.history import stops_history
from flyball_planner.audit.flow.library import COUNTS, KEYS
from flyball_planner.audit.flow.losses import ATTRIBUTE
from flyball_planner.audit.flow.values import BATCH, LOSS, MODEL, ON_HOST, UNKNOWN, Tag, Value, flat, join


def follow(frame: Frame, body: Sequence[ast.stmt]) -> bool:
    """Run through statements in order; False if none behind them is reached."""
    for statement in body:
        handler = _HANDLERS.get(type(statement))
        if handler is None or not frame.flow.enter():
            continue
        goes_on = handler(frame, statement)
        frame.flow.leave()
        if not goes_on:
            return False
    return True


def assign(frame: Frame, target: ast.expr, value: Value) -> None:
    """Give a name, an attribute, an element or several of them a value."""
    if isinstance(target, ast.Name):
        frame.env[target.id] = frame.values[target] = named(frame, target.id, flat(value))
    elif isinstance(target, ast.Attribute):
        held = evaluate(frame, target.value)
        value = named(frame, target.attr, value, f"{ATTRIBUTE}{target.attr}")
        frame.values[target] = value
        frame.flow.attributes.store(frame, held, target.attr, value)
    elif isinstance(target, ast.Starred):
        assign(frame, target.value, Value(element=value))
    elif isinstance(target, ast.Tuple | ast.List):
        for number, each in enumerate(target.elts):
            assign(frame, each, _counted(each, part(value, number, len(target.elts))))
    elif isinstance(target, ast.Subscript):
        evaluate(frame, target.slice)
        _put(frame, target, value)


def _counted(target: ast.expr, value: Value) -> Value:
    """Of what a model gives, a part that is called a count is none of its tensors."""
    counts = value.has(Tag.OUTPUT) and isinstance(target, ast.Name) and COUNTS.search(target.id)
    return UNKNOWN if counts else value


def named(frame: Frame, name: str, value: Value, key: str | None = None) -> Value:
    """A value that a name tells something about, if nothing else is known of it; `key` is what losses know it by."""
    if (
        (key or name) in frame.backward
        and (not value.tags & _PLACED or value.has(Tag.OUTPUT))
        and value.literal is None
        and not value.is_instance
        and value.items is None
        and not _was_number(frame, name)
    ):
        return LOSS if frame.grad else LOSS.without(Tag.GRAPH)
    if value.tags == _MOVED and frame.flow.guesses.of(frame.module, name).has(Tag.MODEL):
        return MODEL._replace(made_by=value.made_by, made_at=value.made_at)
    if value.is_unknown and frame.flow.uses_torch(frame.module):
        return frame.flow.guesses.of(frame.module, name)._replace(made_by=value.made_by, made_at=value.made_at)
    return value


def _was_number(frame: Frame, name: str) -> bool:
    """Whether a variable held what was computed on the host: more of the same is no loss to be differentiated."""
    before = frame.env.get(name, UNKNOWN)
    return before.tags == ON_HOST.tags and before.literal is None


_PLACED = frozenset({Tag.DEVICE, Tag.HOST, Tag.CPU})
_MOVED = frozenset({Tag.DEVICE})
"""What nobody knows, moved to a device: a module, or a tensor."""


def _put(frame: Frame, target: ast.Subscript, value: Value) -> None:
    """`holder[key] = value`: the holder's elements, and its field if the key is a text, become that too."""
    holder = evaluate(frame, target.value)
    if holder.tags & _PLACED or not isinstance(target.value, ast.Name | ast.Attribute):
        return
    key = target.slice.value if isinstance(target.slice, ast.Constant) else None
    if isinstance(key, str):
        fields = dict(holder.fields)
        fields[key] = value
        changed = holder._replace(fields=tuple(fields.items()), items=None)
    else:
        changed = holder._replace(element=value if holder.element is None else join(holder.element, value), items=None)
    _rebind(frame, target.value, changed)


def _rebind(frame: Frame, holder: ast.expr, value: Value) -> None:
    """What stands in a variable or attribute has changed inside."""
    if isinstance(holder, ast.Name):
        frame.env[holder.id] = value
    elif isinstance(holder, ast.Attribute):
        frame.flow.attributes.store(frame, evaluate(frame, holder.value), holder.attr, value)


def _assign(frame: Frame, node: ast.Assign) -> bool:
    value = evaluate(frame, node.value)
    for target in node.targets:
        assign(frame, target, value)
    return True


def _annotated(frame: Frame, node: ast.AnnAssign) -> bool:
    if node.value is not None:
        assign(frame, node.target, evaluate(frame, node.value))
    return True


def _augmented(frame: Frame, node: ast.AugAssign) -> bool:
    added = evaluate(frame, node.value)
    before = evaluate(frame, node.target)
    after = frame.flow.combine(before, added)
    frame.values[node] = after
    if isinstance(node.target, ast.Subscript):
        _put(frame, node.target, after)
    else:
        assign(frame, node.target, after)
        frame.values[node.target] = before
    return True


def _expression(frame: Frame, node: ast.Expr) -> bool:
    call = frame.unused = node.value
    evaluate(frame, call)
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.args:
        added = frame.values.get(call.args[-1], UNKNOWN)
        if call.func.attr in {"append", "add", "appendleft", "insert"}:
            _grow(frame, call.func.value, added)
        elif call.func.attr in {"extend", "update"}:
            _grow(frame, call.func.value, iterated(frame, added))
    return True


def _grow(frame: Frame, holder: ast.expr, added: Value) -> None:
    value = evaluate(frame, holder)
    if value.tags or value.is_instance:
        return
    known = value.element if value.element is not None else None
    if known is None and value.items:
        known = iterated(frame, value)
    _rebind(frame, holder, value._replace(items=None, element=added if known is None else join(known, added)))


def _return(frame: Frame, node: ast.Return) -> bool:
    frame.give_back(evaluate(frame, node.value) if node.value else ON_HOST)
    return False


def _stop(_frame: Frame, _node: ast.stmt) -> bool:
    return False


def _raise(frame: Frame, node: ast.Raise) -> bool:
    if node.exc is not None:
        evaluate(frame, node.exc)
    return False


def _if(frame: Frame, node: ast.If) -> bool:
    evaluate(frame, node.test)
    name = tensor_asked_for(node.test)
    return _branches(frame, (node.body, node.orelse), ({}, {name: ON_HOST} if name else {}))


def _branches(
    frame: Frame, bodies: Sequence[Sequence[ast.stmt]], known: Sequence[dict[str, Value]] | None = None
) -> bool:
    """Follow each way from the same start; behind them, a variable is what the ways that get there made it."""
    start = frame.env
    ends = []
    for number, body in enumerate(bodies):
        frame.env = dict(start) | (known[number] if known else {})
        if follow(frame, body):
            ends.append(frame.env)
    frame.env = ends[0] if ends else dict(start)
    for other in ends[1:]:
        frame.env = joined(frame.env, other)
    return bool(ends)


def joined(first: dict[str, Value], second: dict[str, Value]) -> dict[str, Value]:
    """The variables after two ways met."""
    both = dict(first)
    for name, value in second.items():
        known = both.get(name)
        both[name] = value if known is None or known is value else join(known, value)
    return both


def _for(frame: Frame, node: ast.For | ast.AsyncFor) -> bool:
    over = evaluate(frame, node.iter)
    each = iterated(frame, over)
    if each == UNKNOWN and hands_over_loader(frame.values, node.iter):
        each = BATCH
    if isinstance(node.target, ast.Name) and KEYS.search(node.target.id):
        each = UNKNOWN  # who goes through a dict of tensors goes through its keys
    _repeat(frame, node, lambda: assign(frame, node.target, each))
    return True


def _while(frame: Frame, node: ast.While) -> bool:
    _repeat(frame, node, lambda: evaluate(frame, node.test))
    return True


def _repeat(frame: Frame, node: ast.For | ast.AsyncFor | ast.While, begin: Callable[[], object]) -> None:
    passes, before = frame.passes, frame.env
    for number in range(passes):
        frame.passes = 1 if number == 0 else passes
        start = frame.env
        frame.env = dict(start)
        begin()
        follow(frame, node.body)
        frame.env = joined(start, frame.env)
        if frame.env == start:
            break
    frame.passes = passes
    follow(frame, node.orelse)
    frame.env = joined(before, frame.env)


def _with(frame: Frame, node: ast.With | ast.AsyncWith) -> bool:
    grad = frame.grad
    for item in node.items:
        value = evaluate(frame, item.context_expr)
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
    evaluate(frame, node.test)
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
