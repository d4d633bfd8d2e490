"""How many workers loaders have where nobody among the files says, by the defaults of what builds them."""

import ast
from typing import TYPE_CHECKING

from flyball_planner.audit.definition import Definition
from flyball_planner.audit.given import handed_over, hides_arguments
from flyball_planner.audit.loaders import DEEPEST, Loader
from flyball_planner.audit.module import Function, Module

if TYPE_CHECKING:
    from flyball_planner.audit.project import Project


def has_none_by_default(project: "Project", loader: Loader) -> bool:
    """Whether the number of workers is an argument of a function that is 0 unless somebody elsewhere hands another."""
    given = loader.argument("num_workers")
    return isinstance(given, ast.Name) and _is_zero(project, loader.module, given, DEEPEST)


def _is_zero(project: "Project", module: Module, node: ast.expr | None, depth: int) -> bool:
    """Whether an expression is 0, or an argument whose default is, where no call that is seen hands another over."""
    if isinstance(node, ast.Constant):
        return node.value == 0 and type(node.value) is int
    function = module.function_of(node) if isinstance(node, ast.Name) else None
    if not isinstance(node, ast.Name) or function is None or not depth or _is_changed(function, node.id):
        return False
    if not _is_zero(project, module, handed_over(function, _BARE, node.id, bound=False), 1):
        return False
    holder = module.class_of(function)
    named = holder.name if holder is not None and function.name == "__init__" else function.name
    for caller, call in project.flow.callers(named, module):
        if Definition(module, function) in project.flow.callees(caller, call):
            said = handed_over(function, call, node.id, bound=holder is not None)
            if hides_arguments(call) or not _is_zero(project, caller, said, depth - 1):
                return False
    return True


_BARE = ast.Call(ast.Name("made", ast.Load()), [], [])
"""A call that hands nothing over."""


def _is_changed(function: Function, name: str) -> bool:
    stored = (each for each in ast.walk(function) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store))
    return any(each.id == name for each in stored)
