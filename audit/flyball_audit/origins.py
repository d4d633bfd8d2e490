"""Where a library's object comes from: the `self.api.get` of `self.api = httpx.Client()` is `httpx.Client().get`."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING

from flyball_audit.definition import Definition
from flyball_audit.given import named_arguments
from flyball_audit.module import Function, Module

if TYPE_CHECKING:
    from flyball_audit.project import Project

DEEPEST = 16
"""Assignments, attributes and calls that are followed back: the cursor of a connection of a pool that a method opens
when it is first asked for takes more than eight."""

MOST_CALLERS = 3
"""Calls of a function that are looked at for what its arguments are."""

Key = tuple[ast.AST, str]
"""A function, class or module, and the name that it binds."""


class Origins:
    """The paths of library names, calls and attributes that lead to the values of one project; tables are kept."""

    def __init__(self, project: "Project") -> None:
        self._project = project
        self._bound: dict[Module, dict[Key, list[ast.expr]]] = {}

    def of(self, module: Module, node: ast.AST, depth: int = 0) -> str | None:
        """The path to a value; a part of a container has the container's. None if it does not begin in a library."""
        if depth > DEEPEST:
            return None
        if isinstance(node, ast.Call) and (given := self._of_own(module, node, depth)):
            return given
        known = module.qualified(node)
        if known is not None:
            return known
        if isinstance(node, ast.Call):
            if imported := _imported(module, node):
                return imported
            made = self.of(module, node.func, depth + 1)
            return made and f"{made}()"
        if isinstance(node, ast.Await | ast.Subscript | ast.Starred):
            return self.of(module, node.value, depth + 1)
        if isinstance(node, ast.BoolOp):
            return next((found for each in node.values if (found := self.of(module, each, depth + 1))), None)
        if isinstance(node, ast.IfExp):
            return self.of(module, node.body, depth + 1) or self.of(module, node.orelse, depth + 1)
        if isinstance(node, ast.Attribute):
            return self._of_attribute(module, node, depth)
        return self._of_name(module, node, depth) if isinstance(node, ast.Name) else None

    def _of_own(self, module: Module, call: ast.Call, depth: int) -> str | None:
        """What a function of the project gives: `self.client()`, `with connection() as held`."""
        for home, function in self._project.flow.callees(module, call):
            if not isinstance(function, Function) or function.name == "__init__":
                continue
            if said := self._annotated(home, function.returns):
                return said
            given: list[ast.Return | ast.Yield] = [
                *home.within(function, ast.Return),
                *home.within(function, ast.Yield),
            ]
            for each in given:
                if each.value is not None and (found := self.of(home, each.value, depth + 1)):
                    return found
        return None

    def _annotated(self, module: Module, said: ast.expr | None) -> str | None:
        """The path to an instance of a library's class that an annotation names; `X | None` is an `X` too."""
        if isinstance(said, ast.BinOp):
            return self._annotated(module, said.left) or self._annotated(module, said.right)
        if isinstance(said, ast.Subscript):
            known = module.qualified(said.value) == "typing.Optional"
            return self._annotated(module, said.slice) if known else None
        name = module.qualified(said) if said is not None else None
        own = name is None or name.startswith(("builtins.", "typing.")) or self._project.find(name) is not None
        return None if own else f"{name}()"

    def _of_attribute(self, module: Module, node: ast.Attribute, depth: int) -> str | None:
        if isinstance(node.value, ast.Name) and node.value.id == "self":
            function = module.function_of(node)
            holder = module.class_of(function) if function is not None else None
            if holder is not None:
                return self._of_any(module, (holder, node.attr), depth)
        held = self.of(module, node.value, depth + 1)
        return held and f"{held}.{node.attr}"

    def _of_name(self, module: Module, node: ast.Name, depth: int) -> str | None:
        for scope in (*(each for each in module.ancestors(node) if isinstance(each, Function)), module.tree):
            found = self._of_any(module, (scope, node.id), depth)
            if found is None and isinstance(scope, Function):
                found = self._of_argument(module, scope, node.id, depth)
            if found is not None:
                return found
        return None

    def _of_any(self, module: Module, key: Key, depth: int) -> str | None:
        given = self._bindings(module).get(key, ())
        return next((found for each in given if (found := self.of(module, each, depth + 1))), None)

    def _of_argument(self, module: Module, function: Function, name: str, depth: int) -> str | None:
        arguments = named_arguments(function)
        own = next((each for each in arguments if each.arg == name), None)
        if own is None:
            return None
        if said := self._annotated(module, own.annotation):
            return said
        place = arguments.index(own) - (1 if module.class_of(function) is not None else 0)
        for caller, call in self._project.flow.callers(function.name, module)[:MOST_CALLERS]:
            handed = [each.value for each in call.keywords if each.arg == name]
            handed += call.args[place : place + 1] if place >= 0 else []
            calls_it = Definition(module, function) in self._project.flow.callees(caller, call)
            if handed and calls_it and (found := self.of(caller, handed[0], depth + 1)):
                return found
        return None

    def _bindings(self, module: Module) -> dict[Key, list[ast.expr]]:
        found = self._bound.get(module)
        if found is None:
            found = self._bound[module] = defaultdict(list)
            for target, value in _assigned(module):
                key = _key(module, target)
                if key is not None:
                    found[key].append(value)
        return found


def _imported(module: Module, call: ast.Call) -> str | None:
    """The library that `importlib.import_module("name")` brings."""
    name = call.args[0] if call.args and module.qualified(call.func) == "importlib.import_module" else None
    return name.value if isinstance(name, ast.Constant) and isinstance(name.value, str) else None


def _assigned(module: Module) -> Iterator[tuple[ast.expr, ast.expr]]:
    """What the module gives a value, and the value."""
    for plain in module.all(ast.Assign):
        for target in plain.targets:
            yield target, plain.value
    for annotated in module.all(ast.AnnAssign):
        if annotated.value is not None:
            yield annotated.target, annotated.value
    for named in module.all(ast.NamedExpr):
        yield named.target, named.value
    for item in module.all(ast.withitem):
        if item.optional_vars is not None:
            yield item.optional_vars, item.context_expr


def _key(module: Module, target: ast.expr) -> Key | None:
    function = module.function_of(target)
    if isinstance(target, ast.Name):
        return (function or module.tree, target.id)
    if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name) and target.value.id == "self":
        holder = module.class_of(function) if function is not None else None
        return (holder, target.attr) if holder is not None else None
    return None
