"""What settings are by default, where a command line, a table of flags, or a class of settings declares them."""

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from flyball_audit.given import argument
from flyball_audit.module import Module

if TYPE_CHECKING:
    from flyball_audit.project import Project

_ARGUMENTS = ("add_argument", "add_arg", "option")
_FLAGS = ("DEFINE_integer",)

NO_NUMBER = ast.Name("", ast.Load())
"""Stands for what nobody knows: something is given, and it is no number."""


def declared(project: "Project", module: Module, name: str) -> Iterator[tuple[Module, ast.expr]]:
    """The defaults of a setting, and what is put in its place, in files that are connected with a file."""
    for each in sorted(project.connected(module), key=lambda each: each.name):
        if each.says_any((name, name.replace("_", "-"))):
            yield from ((each, value) for value in _in(each, name))


def _in(module: Module, name: str) -> Iterator[ast.expr]:
    for call in module.calls_named(*_ARGUMENTS):
        if name in _names(call):
            yield argument(call, "default") or NO_NUMBER
    for call in module.calls_named(*_FLAGS):
        if call.args and isinstance(call.args[0], ast.Constant) and call.args[0].value == name:
            yield argument(call, "default", 1) or NO_NUMBER
    for field in module.all(ast.AnnAssign):
        if _is_named(module, field, field.target, name):
            yield field.value or NO_NUMBER
    for given in module.all(ast.Assign):
        if any(_is_named(module, given, each, name) for each in given.targets):
            yield given.value
    for call in module.all(ast.Call):
        yield from (each.value for each in call.keywords if each.arg == name and isinstance(each.value, ast.Constant))


def _names(call: ast.Call) -> set[str]:
    """The attribute under which a command line's argument is kept, as far as its call tells."""
    told = argument(call, "dest")
    texts = [told] if told is not None else call.args
    said = [each.value for each in texts if isinstance(each, ast.Constant) and isinstance(each.value, str)]
    return {each.lstrip("-").replace("-", "_") for each in said}


def _is_named(module: Module, statement: ast.stmt, target: ast.expr, name: str) -> bool:
    """Whether an attribute of that name is given a value, or a class has one."""
    if isinstance(target, ast.Attribute):
        return target.attr == name
    return isinstance(target, ast.Name) and target.id == name and isinstance(module.parent(statement), ast.ClassDef)
