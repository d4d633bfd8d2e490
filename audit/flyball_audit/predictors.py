"""Functions that predict, as their names say, with autograd's history on, and give it to whoever asks."""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from flyball_audit.givers import HOOKS, is_called_without_history
from flyball_audit.outcomes import DIFFERENTIATING
from flyball_audit.passes import gives_gradients, is_exported, recorded_passes
from flyball_audit.regions import Region

if TYPE_CHECKING:
    import ast

    from flyball_audit.module import Function, Module
    from flyball_audit.project import Project

_PREDICTING = re.compile(
    r"^_*(predict|predict_(proba|proba_?\w*|logits|class(es)?|labels?|batch|on_batch|single|all))$"
)
"""Names of functions that are asked for answers alone; those of frameworks that turn history off are not among them."""


def predictors(project: "Project", module: "Module") -> Iterator["ast.Call"]:
    """The first pass of each such function, unless a training turn runs it, or whoever calls it turns history off."""
    for function in module.functions:
        if _PREDICTING.search(function.name) and not HOOKS.search(function.name):
            found = _recorded(project, module, function)
            if found is not None:
                yield found


def _recorded(project: "Project", module: "Module", function: "Function") -> "ast.Call | None":
    if function in project.loops.trained or not DIFFERENTIATING.isdisjoint(module.called_in(function)):
        return None
    if is_called_without_history(project, module, function):
        return None
    region = Region(module, function)
    passes = (each for each in recorded_passes(project, region, doubtful=True) if not is_exported(region, each))
    return next((each for each in passes if not gives_gradients(region, each)), None)
