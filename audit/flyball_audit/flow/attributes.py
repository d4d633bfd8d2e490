"""What objects of the project's classes hold in their attributes, whichever method stored it."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING

from flyball_audit.definition import Definition
from flyball_audit.flow.values import UNKNOWN, Value, flat, join
from flyball_audit.module import Function, Module
from flyball_audit.names import is_name

if TYPE_CHECKING:
    from flyball_audit.flow.engine import Flow
    from flyball_audit.flow.frames import Frame


class Attributes:
    """One table for all instances of a class: attributes are joined over all methods that store them."""

    def __init__(self, flow: "Flow") -> None:
        self._flow = flow
        self._held: dict[tuple[ast.AST, str], Value] = {}
        self._writers: dict[ast.ClassDef, dict[str, list[Function]]] = {}
        self._asked: set[tuple[ast.AST, str]] = set()

    def store(self, frame: "Frame", holder: Value, name: str, value: Value) -> None:
        """`holder.name = value`, as far as the holder's class is known and the frame stands for all calls."""
        if holder.definition is None or not holder.is_instance or not frame.is_default:
            return
        key = (holder.definition.node, name)
        value = flat(value)
        known = self._held.get(key)
        held = self._held[key] = value if known is None else _either(known, value)
        if held != known:
            self._flow.changes += 1

    def load(self, holder: Value, name: str) -> Value:
        """What an instance's attribute holds: stored by its class or a base; a method; unknown."""
        assert holder.definition is not None  # noqa: S101  the caller asked
        found: Value | None = None
        for each in self._flow.lineage(holder.definition):
            value = self._stored(each, name)
            if value is not None:
                found = value if found is None else _either(found, value)
        if found is not None:
            return found
        method = self._flow.method(holder.definition, name)
        if method is None:
            return UNKNOWN
        if is_property(method.node):
            return self._flow.method_result(holder, name) or UNKNOWN
        return Value(definition=method, element=holder)

    def may_hold(self, definition: Definition, name: str) -> bool:
        """Whether a class, or one that it derives from, stores an attribute of that name anywhere."""
        for each in self._flow.lineage(definition):
            if isinstance(each.node, ast.ClassDef):
                stores = self._writers_of(each.module, each.node).get(name)
                if stores or each.module.binds(each.node, name):
                    return True
        return False

    def _stored(self, definition: Definition, name: str) -> Value | None:
        node = definition.node
        if not isinstance(node, ast.ClassDef):
            return None
        key = (node, name)
        writers = self._writers_of(definition.module, node).get(name, ())
        self._flow.comes_before(writers)
        if key not in self._asked:
            self._asked.add(key)
            for writer in writers:
                self._flow.frame(definition.module, writer)
            self._flow.frame(definition.module, node)
        return self._held.get(key)

    def _writers_of(self, module: Module, node: ast.ClassDef) -> dict[str, list[Function]]:
        found = self._writers.get(node)
        if found is None:
            found = self._writers[node] = defaultdict(list)
            for name, method in _stores(module, node):
                if method not in found[name]:
                    found[name].append(method)
        return found


def _either(first: Value, second: Value) -> Value:
    """What an attribute may hold; None stands for what is put there later."""
    for one, other in ((first, second), (second, first)):
        if one.literal is not None and one.literal.value is None:
            return other
    return join(first, second)


def _stores(module: Module, node: ast.ClassDef) -> Iterator[tuple[str, Function]]:
    """The attributes of `self` that a class's methods store, or put something into, each with the method."""
    for method in node.body:
        if isinstance(method, ast.FunctionDef | ast.AsyncFunctionDef) and method.args.args:
            own = method.args.args[0].arg
            for holder, name in module.stored_attributes(method):
                if holder == own:
                    yield name, method
            for entry in module.within(method, ast.Subscript):
                held = entry.value
                if type(entry.ctx) is ast.Store and isinstance(held, ast.Attribute) and is_name(held.value, own):
                    yield held.attr, method


def is_property(node: ast.AST) -> bool:
    """Whether a method is read like an attribute."""
    decorators = getattr(node, "decorator_list", [])
    return any(
        (each.id if isinstance(each, ast.Name) else getattr(each, "attr", "")).endswith("property")
        for each in decorators
    )
