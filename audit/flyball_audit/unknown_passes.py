"""Loops of evaluations that hand their batches to what nobody at hand knows, but that speaks of tensors."""

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from flyball_audit.flow.callees import calls_to
from flyball_audit.givers import HOOKS
from flyball_audit.index import names_below, nodes_below
from flyball_audit.loops import Kind, Turns, only_evaluates
from flyball_audit.module import Function, Module, last_name
from flyball_audit.names import code_of
from flyball_audit.outcomes import DETACHING, DIFFERENTIATING, is_taken
from flyball_audit.passes import is_wrapped
from flyball_audit.regions import CHECKS, Region, is_switched_to_eval

if TYPE_CHECKING:
    from flyball_audit.project import Project

_OF_TENSORS = DETACHING | {"item", "cpu", "argmax", "tolist"}
"""Who takes these of a result knows at least that it is a tensor."""

_ABSTRACT = re.compile(r"^(NotImplemented|abstractmethod$)")

_FREE = re.compile(
    r"(^|[._])(to|cuda|update|train|eval)$|generate|encode|session|engine|runtime|interpreter|tokeni[sz]er$|decode|process|transform"
    r"|collat|prepare|loader|metric|meter|visual|log"
)
"""In the names of what runs without history, or runs no model."""

_GRADIENTS = re.compile(r"attack|adversar|pgd|fgsm|explain|attribut|salien|(?<![a-z])cam|jacob|hess|interpret|influen")
"""In names of functions that differentiate what they are asked for, somewhere."""

_OF_FORCES = ("forces", "stresses")
"""Where these are asked for, models differentiate while they evaluate."""


def unknown_passes(project: "Project", module: Module) -> Iterator[tuple[ast.For, ast.Call]]:
    """Loops over batches with history on that only evaluate, with the call that runs a model in all likelihood."""
    if not project.flow.uses_torch(module):
        return
    for loop in module.loops:
        function = module.function_of(loop)
        if function is None or not isinstance(loop, ast.For) or HOOKS.search(function.name):
            continue
        if _is_recorded(project, module, loop, function) and project.loops.goes_through_batches(
            Turns(module, loop, Kind.EVALUATION)
        ):
            call = next(_runs(project, Region(module, loop), function), None)
            if call is not None:
                yield loop, call


def _is_recorded(project: "Project", module: Module, loop: ast.For, function: Function) -> bool:
    """Whether history is on in a loop of a function that differentiates nothing itself."""
    called = module.called_in(function)
    if not DIFFERENTIATING.isdisjoint(called) or project.loops.effects.inside(module, loop):
        return False
    if isinstance(loop.iter, ast.Attribute) and loop.iter.attr == "data":
        return False  # the parts of one batch
    if _GRADIENTS.search(function.name) or module.says_any(_OF_FORCES) or is_wrapped(module, loop, telling=True):
        return False
    if not all(project.flow.records_history(module, each) for each in Region(module, loop).all(ast.Call)):
        return False  # who wrote it has turned history off where he wants it
    return all(project.flow.is_recorded(caller, call) for caller, call in calls_to(project.flow, module, function))


def _runs(project: "Project", region: Region, function: Function) -> Iterator[ast.Call]:
    """The calls of a loop that are handed the batch, of which nobody knows more, and that give tensors."""
    module, loop = region.module, region.root
    assert isinstance(loop, ast.For)  # noqa: S101  the caller asked
    evaluates = only_evaluates(function.name) or is_switched_to_eval(module, loop)
    taking = _OF_TENSORS if evaluates else DETACHING
    for call in _of_unknown(project, region, names_below(loop.target)):
        named = evaluates and _is_named(project, module, function, call)
        if not _is_within(region, call, loop) and (named or is_taken(region, call, taking)):
            yield call


def _of_unknown(project: "Project", region: Region, batch: frozenset[str]) -> Iterator[ast.Call]:
    """The calls of what nobody at hand knows that are handed the batch, or a part of it that was moved."""
    parts = set(batch)
    for each in region.all(ast.Assign):
        if not parts.isdisjoint(region.module.names_in(each.value)) and _only_moves(each.value):
            parts |= {name for target in each.targets for name in names_below(target)} - {"self"}
    for call in region.all(ast.Call):
        takes = not _FREE.search(code_of(call.func)) and not parts.isdisjoint(_handed_names(call))
        if takes and _is_unknown(project, region, call, batch):
            yield call


def _only_moves(value: ast.expr) -> bool:
    """Whether an expression takes parts of something, or brings it to the device, and no more."""
    calls = (each for each in nodes_below(value) if isinstance(each, ast.Call))
    return all(_MOVING.search(last_name(each)) for each in calls)


_MOVING = re.compile(r"^_?(to|cuda|float|long|items|values|move)$|device|cuda|gpu", re.IGNORECASE)
"""In names of what brings a batch to where the model is."""


def _is_within(region: Region, call: ast.Call, loop: ast.For) -> bool:
    """Whether an inner loop goes through what this one gives: that one is told."""
    batch = names_below(loop.target)
    return any(
        isinstance(each, ast.For) and not batch.isdisjoint(names_below(each.iter)) for each in region.loops(call)
    )


def _is_named(project: "Project", module: Module, function: Function, call: ast.Call) -> bool:
    """Whether a call runs what was switched to evaluation, or a step of it that is called so and that somebody runs."""
    held = code_of(call.func.value) if isinstance(call.func, ast.Attribute) else None
    switches = (each for each in module.calls_named("eval") if module.function_of(each) is function)
    if any(isinstance(each.func, ast.Attribute) and code_of(each.func.value) == held for each in switches):
        return True
    names = {last_name(call), *(getattr(each.node, "name", "") for each in project.flow.callees(module, call))}
    return not names.isdisjoint(CHECKS) and next(calls_to(project.flow, module, function), None) is not None


def _handed_names(call: ast.Call) -> set[str]:
    handed = (*call.args, *(each.value for each in call.keywords))
    return {name for each in handed for name in names_below(each)}


def _is_unknown(project: "Project", region: Region, call: ast.Call, batch: frozenset[str]) -> bool:
    """Whether a call runs what is handed over, or an object's own, of which the files tell nothing."""
    module = region.module
    root = call.func
    while isinstance(root, ast.Attribute):
        root = root.value
    function = module.function_of(call)
    if not isinstance(root, ast.Name) or function is None:
        return False
    if not (root.id == "self" and isinstance(call.func, ast.Attribute)) and not module.binds(function, root.id):
        return False
    made = (target for each in region.all(ast.Assign) for target in each.targets)
    if root.id in batch or any(root.id in names_below(each) for each in made):
        return False  # a method of the batch itself, or of what the turn made
    callees = list(project.flow.callees(module, call))
    if callees:
        return all(isinstance(each.node, Function) and _is_open(project, each.module, each.node) for each in callees)
    return project.flow.value(module, call.func).is_unknown


def _is_open(project: "Project", module: Module, function: Function, depth: int = 2) -> bool:
    """Whether a method is left to classes that are not at hand, or calls one that is."""
    raised = (name for each in module.within(function, ast.Raise) for name in module.names_in(each))
    marked = (name for each in function.decorator_list for name in names_below(each))
    if any(_ABSTRACT.search(name) for name in (*raised, *marked)):
        return True
    own = (each for each in module.calls_of(function) if code_of(each.func).startswith("self.")) if depth else ()
    called = [each for call in own for each in project.flow.callees(module, call)]
    return any(
        isinstance(each.node, Function) and _is_open(project, each.module, each.node, depth - 1) for each in called
    )
