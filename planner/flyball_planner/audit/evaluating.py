"""Loops that evaluate: what they hand their batches to, and whether that keeps history."""

import ast
from collections.abc import Iterable
from typing import TYPE_CHECKING

from flyball_planner.audit.branches import before
from flyball_planner.audit.effects import Effects
from flyball_planner.audit.flow.values import Tag
from flyball_planner.audit.module import Function, Loop, Module, last_name
from flyball_planner.audit.regions import Region, model_called

if TYPE_CHECKING:
    from flyball_planner.audit.project import Project

DEEPEST = 3
"""Functions, one called by the other, in which a condition is looked for."""


def trains_on_condition(project: "Project", effects: Effects, module: Module, loop: Loop) -> bool:
    """Whether all that a loop's turns differentiate is behind conditions of the functions that they call."""
    calls = [each for each in module.repeated(loop, ast.Call) if effects.of_call(module, each)]
    return bool(calls) and all(_is_conditional(project, effects, module, each, DEEPEST) for each in calls)


def differentiates_on_condition(regions: Iterable[Region]) -> bool:
    """Whether the functions that a loop runs differentiate, and each only on a condition of its own."""
    found = [(region, each) for region in regions for each in region.all(ast.Call) if last_name(each) in _BACKWARD]
    return bool(found) and all(region.calls and _is_guarded(region.module, each, region.root) for region, each in found)


_BACKWARD = frozenset({"backward", "manual_backward"})


def runs_models_without_history(project: "Project", module: Module, loop: Loop) -> bool:
    """Whether a loop's own calls of models all stand where history is off: `with torch.no_grad(): out = net(x)`."""
    if not module.says_any(("no_grad", "inference_mode")):
        return False
    values = ((each, project.flow.value(module, model_called(each))) for each in module.repeated(loop, ast.Call))
    calls = [each for each, value in values if value.has(Tag.MODEL) and not value.has(Tag.CRITERION)]
    return bool(calls) and not any(project.flow.records_history(module, each) for each in calls)


def _is_conditional(project: "Project", effects: Effects, module: Module, call: ast.Call, depth: int) -> bool:
    """Whether no function that a call runs comes to a backward pass, or a step, without a condition of its own."""
    if effects.direct(module, call) or not depth:
        return False
    called = [each for each in project.flow.callees(module, call) if isinstance(each.node, Function)]
    return bool(called) and all(
        _is_guarded(each.module, inner, each.node) or _is_conditional(project, effects, each.module, inner, depth - 1)
        for each in called
        for inner in each.module.calls_of(each.node)
        if effects.of_call(each.module, inner)
    )


def _is_guarded(module: Module, call: ast.Call, function: ast.AST) -> bool:
    """Whether a condition in its function stands around a call, or leaves the function before it."""
    below: ast.AST = call
    for above in module.ancestors(call):
        if isinstance(above, ast.If) and below in above.body:
            return True
        if any(isinstance(each, ast.If) and isinstance(each.body[-1], ast.Return) for each in before(above, below)):
            return True
        if above is function:
            return False
        below = above
    return False
