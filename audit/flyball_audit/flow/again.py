"""Following a statement again, in a loop's next turn: what reads nothing that has changed keeps its value."""

import ast

from flyball_audit.flow.expressions import evaluate, value_elsewhere
from flyball_audit.flow.frames import Frame
from flyball_audit.flow.values import Value
from flyball_audit.index import FIELDS


def evaluate_again(frame: Frame, node: ast.expr) -> Value:
    """The value of a statement's expression: the one that it had, if nothing that it reads has changed since."""
    if not frame.in_loop:
        return evaluate(frame, node)
    changes = frame.flow.changes
    if frame.seen.get(node) == changes:
        known = frame.values.get(node)
        if known is not None and _reads_the_same(frame, node):
            return known
    frame.seen[node] = changes  # before: what changes meanwhile may have been read already
    return evaluate(frame, node)


def _reads_the_same(frame: Frame, node: ast.expr) -> bool:
    """Whether all variables in an expression hold what they held when it was evaluated."""
    reads = frame.flow.reads
    if node not in reads:
        reads[node] = variables_read(node)
    names = reads[node]
    if names is None:
        return False
    env, values = frame.env, frame.values
    for each in names:
        before, now = values.get(each), env.get(each.id) or value_elsewhere(frame, each.id)
        if before is not now and before != now:
            return False
    return True


_WITH_OWN_NAMES = frozenset({
    ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.NamedExpr, ast.Yield, ast.YieldFrom,
})  # fmt: skip
"""Expressions that give names values, or values to who called."""


def variables_read(node: ast.expr) -> tuple[ast.Name, ...] | None:
    """The names in an expression; None if it does more than read them."""
    found: list[ast.Name] = []
    stack: list[ast.AST] = [node]
    while stack:
        here = stack.pop()
        kind = type(here)
        if kind is ast.Name:
            found.append(here)  # type: ignore[arg-type]  # a Name, as just seen
        elif kind in _WITH_OWN_NAMES:
            return None
        else:
            for field in FIELDS[kind]:
                value = getattr(here, field, None)
                if type(value) is list:
                    stack += [each for each in value if isinstance(each, ast.AST)]
                elif isinstance(value, ast.AST):
                    stack.append(value)
    return tuple(found)
