"""What is a loss by what is done with it."""

import ast
import re
from collections.abc import Iterator

from flyball_planner.audit.module import Module

_RUNNERS = re.compile(
    r"(^|\.)_*(\w*accelerator|fabric|\w*engine|booster|strategy|trainer|self|model|optim\w*|plugin|amp|autograd)$"
)
"""Whose `.backward(loss)` is handed the loss, where other `.backward()` are the loss's own."""


def backward_names(module: Module) -> Iterator[str]:
    """Names, of variables or attributes, on which a module calls `.backward()`, or hands to one."""
    for each in module.all(ast.Call):
        if isinstance(each.func, ast.Attribute) and each.func.attr in {"backward", "manual_backward"}:
            handed = bool(each.args) and _RUNNERS.search(ast.unparse(each.func.value))
            inner: ast.expr = each.args[0] if handed else each.func.value
            while isinstance(inner, ast.BinOp | ast.Call):
                inner = inner.left if isinstance(inner, ast.BinOp) else (inner.args or [inner.func])[0]
            if isinstance(inner, ast.Name):
                yield inner.id
            elif isinstance(inner, ast.Attribute):
                yield inner.attr
