"""Passes in training turns of which nothing is differentiated: targets, actions, the loss of a test set."""

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from flyball_audit.module import Module
from flyball_audit.outcomes import leaves
from flyball_audit.passes import recorded_passes
from flyball_audit.regions import Region

if TYPE_CHECKING:
    from flyball_audit.project import Project

_FROZEN = ("requires_grad",)
"""Who says this somewhere in a file has thought of which parameters record history."""


def undifferentiated(project: "Project", module: Module) -> Iterator[ast.Call]:
    """The calls of models in training turns that record history, though all that comes of them leaves it."""
    evaluating = {each.node for each in project.loops.evaluation_of(module)}
    for region in () if module.says_any(_FROZEN) else _regions(project, module):
        for call in recorded_passes(project, region, doubtful=True):
            apart = evaluating.isdisjoint(module.ancestors(call))
            if apart and leaves(region, call):
                yield call


def _regions(project: "Project", module: Module) -> Iterator[Region]:
    """What the module's training turns run of the module itself, each once."""
    seen = set[ast.AST]()
    for turns in project.loops.training_of(module):
        for region in project.loops.regions(turns):
            if region.module is module and region.root not in seen:
                seen.add(region.root)
                yield region
