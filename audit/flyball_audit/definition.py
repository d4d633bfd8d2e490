"""A function or class that the project defines, and its methods."""

import ast
from typing import NamedTuple

from flyball_audit.module import Function, Module


class Definition(NamedTuple):
    """A function or class, and the module where it stands."""

    module: Module
    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda


def method_of(node: ast.ClassDef, name: str) -> Function | None:
    """A method that a class's body defines itself; the last, if there are several."""
    found = [each for each in node.body if isinstance(each, Function) and each.name == name]
    return found[-1] if found else None


def is_handed_on(function: Definition) -> bool:
    """Whether a function is kept or handed over, not called, in its module: which one runs is chosen later."""
    module, node = function
    name = getattr(node, "name", "")
    attributes = (each for each in module.all(ast.Attribute) if each.attr == name and type(each.ctx) is ast.Load)
    names = (each for each in module.all(ast.Name) if each.id == name and type(each.ctx) is ast.Load)
    return any(not _is_called(module, each) for each in (*attributes, *names))


def _is_called(module: Module, node: ast.expr) -> bool:
    above = module.parent(node)
    return isinstance(above, ast.Call) and above.func is node
