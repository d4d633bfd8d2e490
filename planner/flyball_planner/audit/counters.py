"""Counters that a condition starts anew: `if seen >= every: …; seen = 0`, a period without a remainder."""

import ast
from collections.abc import Iterator

from flyball_planner.audit.module import Module, last_name
from flyball_planner.audit.names import code_of


def starts_anew(module: Module, test: ast.expr) -> ast.If | None:
    """The condition that waits for a counter to reach a bound, and starts it anew in its body."""
    around = next((each for each in module.ancestors(test) if isinstance(each, ast.stmt)), None)
    if not isinstance(test, ast.Compare) or len(test.ops) > 1 or not isinstance(around, ast.If):
        return None
    if not isinstance(test.ops[0], ast.Gt | ast.GtE | ast.Eq) or not isinstance(test.left, ast.Name | ast.Attribute):
        return None
    counter = code_of(test.left)
    if counter not in _set_back(around):
        return None
    return around if any(counter == each for each in _counted_up(module, around)) else None


def updates(block: ast.If) -> bool:
    """Whether what a condition guards is the step of an optimizer, as behind several micro-steps."""
    calls = (each for part in block.body for each in ast.walk(part) if isinstance(each, ast.Call))
    return any(
        last_name(each) == "zero_grad" or (last_name(each) == "step" and "opt" in code_of(each.func).lower())
        for each in calls
    )


def _set_back(block: ast.If) -> set[str]:
    """What a condition's body gives a number, or takes a remainder of."""
    found: set[str] = set()
    for each in block.body:
        if isinstance(each, ast.Assign) and isinstance(each.value, ast.Constant):
            found |= {code_of(target) for target in each.targets}
        elif isinstance(each, ast.AugAssign) and isinstance(each.op, ast.Sub | ast.Mod):
            found.add(code_of(each.target))
    return found


def _counted_up(module: Module, block: ast.If) -> Iterator[str]:
    inside = module.within(module.scope_of(block), ast.AugAssign)
    yield from (code_of(each.target) for each in inside if isinstance(each.op, ast.Add))
