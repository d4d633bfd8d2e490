"""A function or class that the project defines, and its methods."""

import ast
from typing import NamedTuple

from flyball_planner.audit.module import Function, Module


class Definition(NamedTuple):
    """A function or class, and the module where it stands."""

    module: Module
    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda


def method_of(node: ast.ClassDef, name: str) -> Function | None:
    """A method that a class's body defines itself; the last, if there are several."""
    found = [each for each in node.body if isinstance(each, Function) and each.name == name]
    return found[-1] if found else None
