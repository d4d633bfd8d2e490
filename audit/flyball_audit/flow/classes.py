"""The project's classes: what they derive from, their methods, what their instances are; no code is followed for it."""

import ast
import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from flyball_audit.definition import Definition, method_of
from flyball_audit.flow.library import is_module_base, made
from flyball_audit.flow.values import MODEL, MOST_CHOICES, UNKNOWN, Tag, Tags, Value
from flyball_audit.index import nodes_below
from flyball_audit.module import Function, Module, last_name

if TYPE_CHECKING:
    from flyball_audit.project import Project


class Classes:
    """The answers for one project; every answer is kept."""

    def __init__(self, project: "Project") -> None:
        self.project = project
        self._lineages: dict[ast.AST, tuple[Definition, ...]] = {}
        self._bases: dict[ast.AST, frozenset[str]] = {}
        self._methods: dict[tuple[ast.AST, str], Definition | None] = {}
        self._instances: dict[ast.AST, Value] = {}
        self._modules: dict[ast.AST, bool] = {}
        self._heirs: dict[frozenset[Module], dict[str, dict[str, None]]] = {}

    def lineage(self, definition: Definition) -> tuple[Definition, ...]:
        """A class and the project's classes that it derives from, nearest first."""
        known = self._lineages.get(definition.node)
        if known is None:
            self._lineages[definition.node] = (definition,)
            known = self._lineages[definition.node] = tuple(dict.fromkeys((definition, *self._ancestors(definition))))
        return known

    def _ancestors(self, definition: Definition) -> Iterator[Definition]:
        for each in getattr(definition.node, "bases", ()):
            base = self.project.find(definition.module.qualified(each))
            if base is not None and isinstance(base.node, ast.ClassDef):
                yield from self.lineage(base)

    def bases(self, definition: Definition) -> frozenset[str]:
        """The full names of all classes that a class derives from, the libraries' too."""
        known = self._bases.get(definition.node)
        if known is None:
            known = self._bases[definition.node] = frozenset(
                name
                for each in self.lineage(definition)
                for base in getattr(each.node, "bases", ())
                if (name := each.module.qualified(base)) is not None
            )
        return known

    def is_module(self, definition: Definition) -> bool:
        """Whether a class is an nn.Module: by what it derives from, or by what it holds if that is not at hand."""
        known = self._modules.get(definition.node)
        if known is None:
            bases = self.bases(definition)
            known = any(is_module_base(each) for each in bases) or self._looks_like_module(definition, bases)
            self._modules[definition.node] = known
        return known

    def _looks_like_module(self, definition: Definition, bases: frozenset[str]) -> bool:
        """Whether a class has a forward pass and layers of PyTorch, and derives from one that nobody knows."""
        module, node = definition
        if not isinstance(node, ast.ClassDef) or method_of(node, "forward") is None:
            return False
        unknown = any(self.project.find(each) is None and not each.startswith(_NO_MODULES) for each in bases)
        return unknown and any(_makes_layer(module, each) for each in nodes_below(node))

    def learns_nothing(self, definition: Definition) -> bool:
        """Whether a module is seen to hold no parameters: its class makes no parts, and is handed settings alone."""
        if not isinstance(definition.node, ast.ClassDef) or self.bases(definition) != {"torch.nn.Module"}:
            return False
        methods = [each for each in definition.node.body if isinstance(each, Function)]
        return not any(_makes_parts(each) or (each.name == "__init__" and _is_handed_parts(each)) for each in methods)

    def method(self, definition: Definition, name: str) -> Definition | None:
        """A method of a class, its own or inherited within the project."""
        key = (definition.node, name)
        if key not in self._methods:
            self._methods[key] = next(self._methods_of(definition, name), None)
        return self._methods[key]

    def _methods_of(self, definition: Definition, name: str) -> Iterator[Definition]:
        for each in self.lineage(definition):
            found = method_of(each.node, name) if isinstance(each.node, ast.ClassDef) else None
            if found is not None:
                yield Definition(each.module, found)

    def of_heirs(self, definition: Definition, name: str) -> tuple[Definition, ...]:
        """The methods of that name of the project's classes that derive from a class; none if they are many."""
        own = getattr(definition.node, "name", "")
        names = {*self.heirs(own, definition.module)} - {own}
        heirs = (
            Definition(module, each)
            for module in self.project.connected(definition.module) if names
            for each in module.all(ast.ClassDef) if each.name in names and method_of(each, name) is not None
        )  # fmt: skip
        found = [self.method(each, name) for each in heirs if definition in self.lineage(each)]
        return tuple(each for each in found if each is not None) if len(found) <= MOST_CHOICES else ()

    def instance_of(self, definition: Definition) -> Value:
        """Any object of a class."""
        found = self._instances.get(definition.node)
        if found is None:
            tags = self._class_tags(definition)
            found = self._instances[definition.node] = Value(tags, definition=definition, is_instance=True)
        return found

    def _class_tags(self, definition: Definition) -> Tags:
        bases = self.bases(definition)
        if self.is_module(definition):
            name = getattr(definition.node, "name", "")
            return MODEL.tags | {Tag.CRITERION} if name.endswith(("Loss", "Criterion")) else MODEL.tags
        if any(each.startswith("torch.utils.data.") and each.endswith("Dataset") for each in bases):
            return frozenset({Tag.DATASET})
        found = next((value for each in bases if (value := made(each)) is not None), UNKNOWN)
        return found.tags

    def heirs(self, name: str, module: Module) -> list[str]:
        """The name of a class, and those of classes that derive from it in the files that know each other."""
        group = self.project.connected(module)
        heirs = self._heirs.get(group)
        if heirs is None:
            heirs = self._heirs[group] = _heirs_by_base(sorted(group, key=lambda each: each.name))
        found = [name]
        for each in found:
            found += [other for other in heirs.get(each, ()) if other not in found]
        return found


def _heirs_by_base(modules: Iterable[Module]) -> dict[str, dict[str, None]]:
    """The names of classes that derive from a class of some name, as their texts say."""
    found: dict[str, dict[str, None]] = {}
    for module in modules:
        for heir in module.all(ast.ClassDef):
            for base in heir.bases:
                last = base.attr if isinstance(base, ast.Attribute) else getattr(base, "id", "")
                found.setdefault(str(last), {})[heir.name] = None
    return found


_NO_MODULES = ("builtins.", "abc.", "typing.", "torch.", "enum.", "dataclasses.")
"""Of a library's base, what no module derives from alone."""

_LAYER = re.compile(r"^torch\.nn\.[A-Z]\w*$")


def _makes_layer(module: Module, node: ast.AST) -> bool:
    """Whether an attribute is given a layer, or a parameter: `self.scale = nn.Parameter(…)`."""
    if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Call):
        return False
    kept = any(isinstance(each, ast.Attribute) for each in node.targets)
    return kept and _LAYER.search(module.qualified(node.value.func) or "") is not None


_REGISTERING = frozenset({"register_parameter", "add_module", "register_module"})


def _makes_parts(method: Function) -> bool:
    """Whether a method calls a class, or anything else that gives a module what can be learnt."""
    names = (last_name(each) for each in nodes_below(method) if isinstance(each, ast.Call))
    return any(each[:1].isupper() or each in _REGISTERING for each in names)


def _is_handed_parts(method: Function) -> bool:
    """Whether an argument may be a module: none is whose default is a number, a text or a switch."""
    arguments = method.args
    handed = [*arguments.posonlyargs, *arguments.args][1:] + arguments.kwonlyargs
    defaults = [*arguments.defaults, *filter(None, arguments.kw_defaults)]
    plain = [each for each in defaults if isinstance(each, ast.Constant) and each.value is not None]
    return len(plain) < len(handed) or arguments.vararg is not None or arguments.kwarg is not None
