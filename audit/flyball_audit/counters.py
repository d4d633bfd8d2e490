"""Periods without a remainder: a counter that a condition starts anew, a bound that it moves on."""

import ast
from collections.abc import Iterator

from flyball_audit.given import is_constant
from flyball_audit.module import Module, last_name
from flyball_audit.names import code_of


def starts_anew(module: Module, test: ast.expr) -> ast.If | None:
    """The condition that waits for a counter to reach a bound, and in its body starts it anew or moves the bound on."""
    around = next((each for each in module.ancestors(test) if isinstance(each, ast.stmt)), None)
    if not isinstance(test, ast.Compare) or len(test.ops) > 1 or not isinstance(around, ast.If):
        return None
    if not isinstance(test.ops[0], ast.Gt | ast.GtE | ast.Eq):
        return None
    renewed = _moves_on(around, test.comparators[0]) or _remembers(around, test.left)
    return around if renewed or _counts_anew(module, around, test.left) else None


def is_first(module: Module, test: ast.expr) -> bool:
    """`if seen[0] == 0: …; seen[0] += 1`: what a condition asks to be none counts up behind it."""
    if (
        not isinstance(test, ast.Compare)
        or not isinstance(test.ops[0], ast.Eq)
        or not is_constant(test.comparators[0], 0)
    ):
        return False
    scope = module.function_of(test)
    sums = module.within(scope, ast.AugAssign) if scope is not None else ()
    return any(isinstance(each.op, ast.Add) and code_of(each.target) == code_of(test.left) for each in sums)


def _counts_anew(module: Module, around: ast.If, counter: ast.expr) -> bool:
    """`if seen >= every: …; seen = 0`."""
    if not isinstance(counter, ast.Name | ast.Attribute) or code_of(counter) not in _set_back(around):
        return False
    return any(code_of(counter) == each for each in _counted_up(module, around))


def _moves_on(block: ast.If, bound: ast.expr) -> bool:
    """`if step >= due: …; due += every`, or `due = step + every`."""
    if not isinstance(bound, ast.Name | ast.Attribute):
        return False
    return any(code_of(bound) in map(code_of, targets) for targets in _summed(block))


def _summed(block: ast.If) -> Iterator[list[ast.expr]]:
    """What a condition's body adds to, or gives a sum."""
    for each in block.body:
        if isinstance(each, ast.AugAssign) and isinstance(each.op, ast.Add):
            yield [each.target]
        elif isinstance(each, ast.Assign) and isinstance(each.value, ast.BinOp) and isinstance(each.value.op, ast.Add):
            yield each.targets


def _remembers(block: ast.If, passed: ast.expr) -> bool:
    """`if step - shown >= every: …; shown = step`."""
    if not isinstance(passed, ast.BinOp) or not isinstance(passed.op, ast.Sub):
        return False
    now, last = code_of(passed.left), code_of(passed.right)
    kept = (each for each in block.body if isinstance(each, ast.Assign) and code_of(each.value) == now)
    return any(last in map(code_of, each.targets) for each in kept)


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
