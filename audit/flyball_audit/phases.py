"""Loops that train in one phase and evaluate in others: `for phase in ["train", "val"]:` around one over batches."""

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from flyball_audit.effects import Effect
from flyball_audit.flow.callees import is_static
from flyball_audit.given import handed_over
from flyball_audit.loops import Turns
from flyball_audit.module import Function, Module, last_name
from flyball_audit.names import is_name
from flyball_audit.passes import is_exported, is_wanted, recorded_passes
from flyball_audit.regions import Region

if TYPE_CHECKING:
    from flyball_audit.project import Project


def recorded_in_all_phases(project: "Project", turns: Turns) -> ast.Call | None:
    """A model's pass that records history in every phase, though only one of them differentiates."""
    phases, regions = _phases_around(turns), project.loops.regions(turns)
    if not phases.names or _switches(turns, regions):
        return None
    backward = [
        (region, call) for region in regions for call in region.all(ast.Call) if _is_backward(project, region, call)
    ]
    if not backward or not all(_is_of_one_phase(turns, region, call, phases) for region, call in backward):
        return None
    passes = ((region, each) for region in regions for each in recorded_passes(project, region))
    left_on = (e for region, e in passes if not is_exported(region, e) and not is_wanted(project, region, e))
    return next(left_on, None)


class Phases(NamedTuple):
    """What the loops around one over batches go through, and the variables that are true in the training alone."""

    names: frozenset[str]
    flags: frozenset[str]


def _phases_around(turns: Turns) -> Phases:
    names, flags = set[str](), set[str]()
    for above in turns.module.ancestors(turns.node):
        if isinstance(above, Function):
            break
        if isinstance(above, ast.For) and isinstance(above.target, ast.Name) and not _is_one(above.iter):
            name = above.target.id
            names.add(name)
            flags |= {name} if _is_of_truths(above.iter) else set()
            given = (each for each in turns.module.repeated(above, ast.Assign) if _tells(each.value, name))
            flags |= {target.id for each in given for target in each.targets if isinstance(target, ast.Name)}
    return Phases(frozenset(names), frozenset(flags))


def _is_of_truths(phases: ast.expr) -> bool:
    """`for train in (True, False)`."""
    parts = phases.elts if isinstance(phases, ast.List | ast.Tuple) else []
    return bool(parts) and all(isinstance(each, ast.Constant) and isinstance(each.value, bool) for each in parts)


def _is_one(phases: ast.expr) -> bool:
    return isinstance(phases, ast.List | ast.Tuple | ast.Set) and len(phases.elts) < 2


def _tells(test: ast.expr, phase: str) -> bool:
    """Whether an expression is whether a phase is the training: `phase == "train"`, `phase.startswith("train")`."""
    if isinstance(test, ast.Call) and isinstance(test.func, ast.Attribute) and test.func.attr == "startswith":
        return is_name(test.func.value, phase) and any(map(_is_training, test.args))
    if isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.Eq | ast.In):
        sides = (test.left, test.comparators[0])
        return any(is_name(each, phase) for each in sides) and any(map(_is_training, sides))
    return False


def _is_training(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and "train" in node.value.lower()


def _switches(turns: Turns, regions: tuple[Region, ...]) -> bool:
    """Whether a turn, or what stands before it in its function, turns history on and off."""
    inside = [call for region in regions for call in region.all(ast.Call)]
    around = turns.module.calls_of(turns.module.scope_of(turns.node))
    return any(last_name(each) in _SWITCHING for each in (*inside, *around))


_SWITCHING = frozenset({"set_grad_enabled", "enable_grad", "inference_mode", "requires_grad_"})


def _is_backward(project: "Project", region: Region, call: ast.Call) -> bool:
    return Effect.BACKWARD in project.loops.effects.direct(region.module, call)


def _is_of_one_phase(turns: Turns, region: Region, call: ast.Call, phases: Phases) -> bool:
    """Whether a backward pass stands behind the question for the phase, or for an argument that is handed it."""
    if not region.calls:
        return any(_asks(test, phases) for test in _tests(turns.module, call, turns.node))
    site = region.calls[0][1]
    if any(_asks(test, phases) for test in _tests(turns.module, site, turns.node)):
        return True
    function = region.root
    if len(region.calls) > 1 or not isinstance(function, Function):
        return False
    bound = region.module.class_of(function) is not None and not is_static(function)
    asked = (each.id for each in _tests(region.module, call, function) if isinstance(each, ast.Name))
    handed = (handed_over(function, site, each, bound=bound) for each in asked)
    return any(each is not None and _asks(each, phases) for each in handed)


def _asks(test: ast.expr, phases: Phases) -> bool:
    """Whether a condition holds in the training phase alone."""
    parts = test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else [test]
    return any(
        (isinstance(each, ast.Name) and each.id in phases.flags) or any(_tells(each, name) for name in phases.names)
        for each in parts
    )


def _tests(module: Module, node: ast.AST, root: ast.AST) -> Iterator[ast.expr]:
    """The conditions that hold where a node stands, from its root down."""
    below = node
    for above in module.ancestors(node):
        if isinstance(above, ast.If) and below in above.body:
            yield above.test
        if above is root:
            return
        below = above
