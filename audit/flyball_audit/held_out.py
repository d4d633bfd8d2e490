"""Passes over what is kept for validation, of which nothing is differentiated: the loss of a test set in each epoch."""

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from flyball_audit.index import nodes_below
from flyball_audit.loops import Kind, Turns
from flyball_audit.module import Function, Loop, Module
from flyball_audit.outcomes import DETACHING, DIFFERENTIATING, is_differentiated, is_taken
from flyball_audit.passes import is_recorded_pass, recorded_passes
from flyball_audit.regions import Region

if TYPE_CHECKING:
    from flyball_audit.project import Project

_HELD_OUT = re.compile(
    r"(^|[a-z]_)(val|valid|validation|test|testing|eval|held_?out)(_?(x|xs|data\w*|inputs?|batch|images?|imgs?|features?|set"
    r"|samples?|tensors?|graphs?|seqs?|tokens?|texts?|points?|src|part))?$",
    re.IGNORECASE,
)
"""Names of what is kept for validation: `x_val`, `test_inputs`."""


def passes_over_held_out(project: "Project", module: Module) -> Iterator[ast.Call]:
    """The calls of models, in training turns, on what is kept for validation, that record history for nothing."""
    evaluating = {each.node for each in project.loops.evaluation_of(module)}
    for region in _regions(project, module):
        for call in region.all(ast.Call):
            if not evaluating.isdisjoint(module.ancestors(call)):
                continue
            passes = _is_of_held_out(call) and is_recorded_pass(project, region, call, doubtful=True)
            if (passes or _hands_on(project, region, call)) and not is_differentiated(region, call):
                yield call


def _hands_on(project: "Project", region: Region, call: ast.Call) -> bool:
    """Whether what is kept for validation goes to a function that runs a model once, whatever else it is handed."""
    handed = (each for each in (*call.args, *(each.value for each in call.keywords)) if isinstance(each, ast.Name))
    if not any(_HELD_OUT.search(each.id) for each in handed):
        return False
    if project.flow.records_history(region.module, call) and is_taken(region, call, DETACHING):
        return True  # who detaches it knows of its history
    way = (*region.calls, (region.module, call))
    once = (each for each in project.flow.callees(region.module, call) if _runs_once(each.module, each.node))
    inside = (Region(each.module, each.node, calls=way) for each in once if isinstance(each.node, Function))
    return any(True for each in inside for _ in recorded_passes(project, each, doubtful=True))


def _runs_once(module: Module, node: ast.AST) -> bool:
    """Whether a function has no loops of its own, which are judged by themselves, and differentiates nothing."""
    return DIFFERENTIATING.isdisjoint(module.called_in(node)) and not any(module.within(node, ast.For))


def _regions(project: "Project", module: Module) -> Iterator[Region]:
    """What training turns run of the module itself, seen or supposed, each once, and the epochs around them."""
    seen = set[ast.AST]()
    for turns in (*project.loops.training_of(module), *project.loops.supposed_of(module, Kind.STEP)):
        for region in (*project.loops.regions(turns), *_epochs_around(turns)):
            if region.module is module and region.root not in seen:
                seen.add(region.root)
                yield region


def _epochs_around(turns: Turns) -> Iterator[Region]:
    """The loops around a loop that trains, within its function."""
    for above in turns.module.ancestors(turns.node) if isinstance(turns.node, Loop) else ():
        if isinstance(above, Function):
            return
        if isinstance(above, Loop):
            yield Region(turns.module, above)


def _is_of_held_out(call: ast.Call) -> bool:
    """Whether the first argument of a call is called after validation, or an entry of that name."""
    return any(_HELD_OUT.search(name) for each in call.args[:1] for name in _said(each))


def _said(node: ast.expr) -> Iterator[str]:
    """The names of variables and attributes in an expression, and those of entries: `data["test_input"]`."""
    for each in nodes_below(node):
        if isinstance(each, ast.Name):
            yield each.id
        elif isinstance(each, ast.Attribute):
            yield each.attr
        elif isinstance(each, ast.Constant) and isinstance(each.value, str):
            yield each.value
