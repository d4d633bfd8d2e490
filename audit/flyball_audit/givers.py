"""Functions of which nobody differentiates what their models give: samplers, predictors, encoders."""

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from flyball_audit.definition import Definition
from flyball_audit.doubts import GIVING
from flyball_audit.loops import Kind, Turns
from flyball_audit.module import Function, Loop, Module, last_name
from flyball_audit.outcomes import DIFFERENTIATING, LEAVING, leaves
from flyball_audit.passes import is_recorded_network, loop_around, recorded_passes
from flyball_audit.regions import Region
from flyball_audit.switched import passes_behind_eval
from flyball_audit.walks import only_counts

if TYPE_CHECKING:
    from flyball_audit.project import Project


class Given(NamedTuple):
    """A pass of which nothing is differentiated, the loop over batches around it, if one is, and whether it is sure."""

    call: ast.Call
    loop: Loop | None
    switched: bool


HOOKS = re.compile(
    r"^(on_)?((validation|test|predict)_((epoch_)?(start|end)|step|batch)|(val|valid|eval|evaluation)_(step|batch))|^forward"
)
"""Functions that a framework calls without history, and parts of a forward pass, whose caller decides."""


def givers(module: Module, project: "Project") -> Iterator[Given]:
    """Functions of which nobody differentiates what their models give: samplers, predictors, encoders."""
    loops = (each for each in project.loops.evaluation_of(module) if not is_part(project, each))
    known = {each.node for each in loops if not only_counts(each.module, each.node)}
    for function in module.functions:
        names = module.called_in(function)
        if names.isdisjoint(_ENDING) or HOOKS.search(function.name):
            continue
        told: set[ast.AST] = set()
        region = Region(module, function)
        recorded = _recorded_in(project, region) if may_give(project, module, function) else ()
        for call, sure in (each for each in recorded if _is_given(region, each[0])):
            loop = _loop_over_batches(project, module, call)
            place = loop or call
            if place not in told and not known & {*module.ancestors(call)}:
                told.add(place)
                yield Given(call, loop, switched=sure and "eval" in names)
        passes = passes_behind_eval(project, module, function) if "eval" in names else ()
        for call in passes:
            if not (told | known) & {call, *module.ancestors(call)}:
                yield Given(call, None, switched=True)


_ENDING = LEAVING | {"eval"}


def _recorded_in(project: "Project", region: Region) -> Iterator[tuple[ast.Call, bool]]:
    """The passes of a function, and whether it is certain that they are."""
    sure = list(recorded_passes(project, region, doubtful=True))
    yield from ((each, True) for each in sure)
    others = (each for each in region.all(ast.Call) if each not in sure)
    yield from ((each, False) for each in others if is_recorded_network(project, region, each))


def _loop_over_batches(project: "Project", module: Module, call: ast.Call) -> Loop | None:
    """The loop around a call, where it is one over batches, or close by; else the call is easier to see."""
    loop = loop_around(module, call)
    if loop is None or any(last_name(each) == "eval" for each in module.repeated(loop, ast.Call)):
        return None
    if call.lineno - loop.lineno <= _NEAR:
        return loop
    return loop if project.loops.goes_through_batches(Turns(module, loop, Kind.EVALUATION)) else None


_NEAR = 12
"""Lines from which on nobody sees the head of a loop together with the call."""


def may_give(project: "Project", module: Module, function: Function) -> bool:
    """Whether history may be on for nothing in a function: no step runs it, and no caller has turned history off."""
    holder = module.class_of(function)
    is_module = holder is not None and project.flow.is_module(Definition(module, holder))
    if is_module and not GIVING.search(function.name):
        return False
    return function not in project.loops.trained and not is_called_without_history(project, module, function)


def _is_given(region: Region, call: ast.Call) -> bool:
    """Whether nothing of a pass is differentiated in its function."""
    if any(last_name(each) in DIFFERENTIATING for each in region.all(ast.Call)):
        return False
    frozen = (name for _, name in region.module.stored_attributes(region.root))
    return "requires_grad" not in frozen and leaves(region, call)


def is_called_without_history(project: "Project", module: Module, function: Function) -> bool:
    """Whether all callers turn history off, or a framework does before it calls its hook."""
    by_hook = (each for each in project.loops.evaluation_of(module) if each.hook_of is not None)
    hooked = any(region.root is function for each in by_hook for region in project.loops.regions(each))
    return hooked or project.flow.is_called_without_history(module, function)


def is_part(project: "Project", turns: Turns) -> bool:
    """Whether a module goes through parts of itself: whoever calls it decides on history."""
    holder = class_around(turns)
    is_module = holder is not None and project.flow.is_module(Definition(turns.module, holder))
    return is_module and not project.loops.goes_through_batches(turns)


def class_around(turns: Turns) -> ast.ClassDef | None:
    """The class of the function in which a loop stands."""
    function = turns.module.function_of(turns.node)
    return turns.module.class_of(function) if function is not None else None
