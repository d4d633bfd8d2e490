"""Passes of a model that was just switched to evaluation, of which nothing is differentiated later."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from flyball_audit.module import Function, Module, last_name
from flyball_audit.names import code_of
from flyball_audit.outcomes import DIFFERENTIATING, is_shown, leaves
from flyball_audit.passes import calls_its_own_way, is_wrapped
from flyball_audit.regions import Region

if TYPE_CHECKING:
    from flyball_audit.project import Project

Node = TypeVar("Node", bound=ast.AST)


@dataclass(frozen=True)
class Rest:
    """What of a function's body stands below a line."""

    region: Region
    line: int

    @property
    def module(self) -> Module:
        """The file of the function."""
        return self.region.module

    def all(self, kind: type[Node]) -> Iterator[Node]:
        """The nodes of one type there."""
        return (each for each in self.region.all(kind) if getattr(each, "lineno", 0) > self.line)


def passes_behind_eval(project: "Project", module: Module, function: Function) -> Iterator[ast.Call]:
    """The calls of `model` below its `model.eval()` that record history, though all that comes of them leaves it.

    So it is supposed to where the function's name says that somebody wants no more than the answers.
    """
    if project.flow.is_called_without_history(module, function):
        return
    region = Region(module, function)
    for switch in module.calls_named("eval"):
        if module.function_of(switch) is not function or not isinstance(switch.func, ast.Attribute) or switch.args:
            continue
        rest, model = Rest(region, switch.lineno), code_of(switch.func.value)
        if any(last_name(each) in DIFFERENTIATING for each in rest.all(ast.Call)):
            continue
        if calls_its_own_way(project, project.flow.value(module, switch.func.value)):
            continue
        calls = (each for each in rest.all(ast.Call) if code_of(each.func) == model)
        recorded = (each for each in calls if _follows(module, switch, each) and _records(project, module, each))
        asked = _ANSWERS.search(function.name) is not None
        yield from (each for each in recorded if asked or leaves(rest, each) or is_shown(rest, each))


_ANSWERS = re.compile(r"predict|infer|(?<![a-z])(logits|scores?|answer|evaluat)", re.IGNORECASE)
"""In names of functions of which the answers are wanted, not their history."""


def _follows(module: Module, switch: ast.Call, call: ast.Call) -> bool:
    """Whether a call stands in the block of the switch, or deeper, and nobody switches back between them."""
    block = module.parent(module.parent(switch) or switch)
    back = (each for each in module.calls_named("train") if module.function_of(each) is module.function_of(call))
    between = any(switch.lineno < each.lineno < call.lineno for each in back)
    return block in {*module.ancestors(call)} and not between


def _records(project: "Project", module: Module, call: ast.Call) -> bool:
    return project.flow.records_history(module, call) and not is_wrapped(module, call, telling=True)
