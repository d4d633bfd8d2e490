"""Which functions of the project a call runs: by its name where that tells enough, else by the value that is called."""

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from flyball_audit.definition import Definition
from flyball_audit.flow.attributes import is_property
from flyball_audit.flow.library import guess
from flyball_audit.flow.values import UNKNOWN
from flyball_audit.module import Function, Module
from flyball_audit.names import is_top_level
from flyball_audit.written import dotted_name

if TYPE_CHECKING:
    from flyball_audit.flow.engine import Flow

Callees = tuple[Definition, ...]
"""One function, or none; several where the code chooses one of them while running."""


def calls_to(flow: "Flow", module: Module, function: Function) -> Iterator[tuple[Module, ast.Call]]:
    """The project's calls by a function's own name that run it, each with its file."""
    for caller, call in flow.callers(function.name, module):
        if any(each.node is function for each in flow.callees(caller, call)):
            yield caller, call


class Resolver:
    """The answers for one project. Following a function's values to learn what it calls is dear, and seldom needed."""

    def __init__(self, flow: "Flow") -> None:
        self._flow = flow
        self._inner: dict[Module, frozenset[str]] = {}
        self._own: dict[frozenset[Module], frozenset[str]] = {}
        self._known: dict[ast.Call, Callees | None] = {}

    def callees(self, module: Module, call: ast.Call) -> Callees:
        """The project's functions that a call runs: itself, a method, `__init__`, a module's `forward`."""
        if call not in self._known:
            self._known[call] = self._by_text(module, call)
        found = self._known[call]
        return self._by_value(module, call) if found is None else found

    def _by_text(self, module: Module, call: ast.Call) -> Callees | None:
        """Of what no values tell; None where they do: those are asked anew, as more of them are known by and by."""
        if isinstance(call.func, ast.Attribute) and call.func.attr not in self._own_names(module):
            return ()
        found = self._by_name(module, call)
        return self._by_method(module, call.func) if found is None else found

    def _by_value(self, module: Module, call: ast.Call) -> Callees:
        called = self._flow.value(module, call.func)
        found = called.definition or self._flow.project.find(module.qualified(call.func))
        if found is None:
            return tuple(each for choice in called.choices for each in self._run(choice))
        return self._run(found, is_instance=called.is_instance)

    def _run(self, found: Definition, *, is_instance: bool = False) -> Callees:
        if not isinstance(found.node, ast.ClassDef):
            return (found,)
        names = ("forward", "__call__") if is_instance else ("__init__",)
        methods = [self._flow.method(found, name) for name in names]
        return tuple(each for each in methods if each is not None)[:1]

    def _by_name(self, module: Module, call: ast.Call) -> Callees | None:
        """Of what is imported, or defined once at the top; None where variables take part."""
        dotted = dotted_name(call.func)
        root = dotted.partition(".")[0] if dotted is not None else ""
        if not root or module.binds(module.tree, root) or root in self._inner_names(module):
            return None
        full = module.qualified(call.func)
        if full is None or isinstance(module.scope_of(call), ast.ClassDef):
            return None
        found = self._flow.project.find(full)
        if found is not None:
            return self._run(found)
        return () if self._flow.project.split(module, full) is None else None

    def _by_method(self, module: Module, called: ast.expr) -> Callees | None:
        """Of `self.method()`, where no method stores an attribute of that name; None where one does."""
        if not isinstance(called, ast.Attribute):
            return None
        if isinstance(called.value, ast.Call) and module.qualified(called.value.func) == "builtins.super":
            return ()  # which class comes next, only the whole program tells
        if not isinstance(called.value, ast.Name):
            return None
        holder = _class_around(module, called.value)
        if holder is None or self._flow.attributes.may_hold(Definition(module, holder), called.attr):
            return None
        method = self._flow.method(Definition(module, holder), called.attr)
        if method is None or is_abstract(method.node):
            heirs = self._flow.of_heirs(Definition(module, holder), called.attr)
            if heirs:
                return heirs
        if method is None:
            return ()
        return None if is_property(method.node) else (method,)

    def _own_names(self, module: Module) -> frozenset[str]:
        """The names under which files that know each other define functions, or may hold them in objects."""
        group = self._flow.project.connected(module)
        found = self._own.get(group)
        if found is None:
            found = self._own[group] = frozenset[str]().union(*map(_names_of_own, group))
        return found

    def _inner_names(self, module: Module) -> frozenset[str]:
        """Functions and classes that are defined inside functions: their names may hide others."""
        found = self._inner.get(module)
        if found is None:
            definitions = (*module.functions, *module.all(ast.ClassDef))
            inner = (each.name for each in definitions if not module.class_of(each) and not is_top_level(module, each))
            found = self._inner[module] = frozenset(inner)
        return found


def _names_of_own(module: Module) -> set[str]:
    found = {each.name for each in (*module.functions, *module.all(ast.ClassDef))}
    found |= {each.attr for each in module.all(ast.Attribute) if type(each.ctx) is ast.Store}
    found |= {each.arg for each in module.all(ast.keyword) if each.arg is not None}
    found |= {each.asname or each.name for plain in module.imports for each in plain.names}
    return found.union(*map(module.bound_names, (module.tree, *module.all(ast.ClassDef))))


def _class_around(module: Module, name: ast.Name) -> ast.ClassDef | None:
    """The class whose instance a name is: the first argument of the method around, functions inside it included."""
    for each in module.ancestors(name):
        if isinstance(each, Function | ast.Lambda) and module.binds(each, name.id):
            first = (*each.args.posonlyargs, *each.args.args)[:1]
            own = isinstance(each, Function) and first and first[0].arg == name.id and not is_static(each)
            return module.class_of(each) if own else None
    return None


def is_abstract(node: ast.AST) -> bool:
    """Whether a method only stands for those of heirs: it says nothing, passes, or raises."""
    body = getattr(node, "body", [])
    return isinstance(body, list) and all(isinstance(each, _EMPTY) or _is_bare(each) for each in body)


_EMPTY = (ast.Pass, ast.Raise)


def _is_bare(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def is_static(node: ast.AST) -> bool:
    """Whether a function is a static method, whose first argument is no instance.

    So is one of old, called by its class, that begins with what nobody calls an instance: `def epoch(model, loader)`.
    """
    decorators = getattr(node, "decorator_list", [])
    if decorators or not isinstance(node, Function):
        return any(isinstance(each, ast.Name) and each.id == "staticmethod" for each in decorators)
    first = (*node.args.posonlyargs, *node.args.args)[:1]
    return bool(first) and guess(first[0].arg) != UNKNOWN
