"""Loops that evaluate: what they hand their batches to, and whether that keeps history."""

import ast
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from flyball_audit.branches import before
from flyball_audit.effects import Effects
from flyball_audit.flow.values import Tag, Value
from flyball_audit.module import Function, Loop, Module, last_name
from flyball_audit.names import code_of
from flyball_audit.regions import Region, model_called, reached
from flyball_audit.walks import OF_BATCHES, first_statement

if TYPE_CHECKING:
    from flyball_audit.project import Project

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


def reads_outputs(project: "Project", effects: Effects, module: Module, loop: ast.For) -> bool:
    """Whether each turn runs a model on something else, and asks for what it gives on the host: a window, a task."""
    counts = isinstance(loop.iter, ast.Call) and last_name(loop.iter) in {"range", "trange"}
    calls = [each for each in module.repeated(loop, ast.Call) if reads_explicitly(each)]
    calls = [each for each in calls if not counts or _is_summed_up(module.statement(each))]
    if not calls or effects.inside(module, loop) or _OTHER_TURNS.search(f"{code_of(loop.target)} {code_of(loop.iter)}"):
        return False
    read = [each.func.value for each in calls if isinstance(each.func, ast.Attribute)]
    seen = any(_is_of_model(project.flow.value(module, each)) for each in read)
    if not project.flow.records_history(module, first_statement(loop)):
        seen = seen or any(_is_made_unknown(project, module, loop, each) for each in read)
    return seen and not _runs_itself(module, loop) and not _goes_through_batches(project, module, loop)


def _is_made_unknown(project: "Project", module: Module, loop: ast.For, node: ast.expr) -> bool:
    """Whether a variable holds what a call gave in the same turn, of which nobody knows what it is."""
    if not isinstance(node, ast.Name) or not project.flow.value(module, node).is_unknown:
        return False
    made = (each for each in module.repeated(loop, ast.Assign) if isinstance(each.value, ast.Call))
    return any(isinstance(target, ast.Name) and target.id == node.id for each in made for target in each.targets)


def _is_of_model(value: Value) -> bool:
    return value.on_device and bool(value.tags & _MADE_BY_MODELS) and not value.has(Tag.SUPPOSED)


_MADE_BY_MODELS = frozenset({Tag.OUTPUT, Tag.LOSS})

_OTHER_TURNS = re.compile(
    r"epoch|model|trainer|learner|student|agent|classifier|fold|layer|seed|run|step|(?<![a-z])net|frame|episode|token|checkpoint|\b(env|ax|fig)|loaders\b|datasets\b"
)
"""In what loops go through whose turns are no batches: they are few, or each needs what the one before gave."""


def reads_explicitly(call: ast.Call) -> bool:
    """Whether a call brings over what it is called on, as its name tells: `.cpu()`, `.item()`, `.tolist()`."""
    return isinstance(call.func, ast.Attribute) and call.func.attr in {"cpu", "item", "tolist"} and not call.args


def _is_summed_up(statement: ast.stmt) -> bool:
    """Whether a statement adds to what turns before gave: a game's turn needs its move to tell the next state."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(statement, ast.AugAssign) or (isinstance(call, ast.Call) and last_name(call) in _ADDING)


_ADDING = frozenset({"append", "extend", "add", "update"})


def _runs_itself(module: Module, loop: ast.For) -> bool:
    """Whether it is the models themselves that are gone through."""
    targets = {each.id for each in ast.walk(loop.target) if isinstance(each, ast.Name)}
    called = (each.func for each in module.repeated(loop, ast.Call))
    return any(isinstance(each, ast.Name) and each.id in targets for each in called)


def _goes_through_batches(project: "Project", module: Module, loop: ast.For) -> bool:
    """Whether each turn goes through batches itself: then it is one of few evaluations."""
    inner = (each for region in reached(project, Region(module, loop)) for each in region.all(ast.For))
    return any(OF_BATCHES.search(code_of(each.iter)) for each in inner)


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
