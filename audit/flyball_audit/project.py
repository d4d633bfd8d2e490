"""A set of files that are read together: its modules, what they import of each other, and what is defined where."""

import ast
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from flyball_audit.definition import Definition, method_of
from flyball_audit.flow import Flow
from flyball_audit.layout import dotted_names
from flyball_audit.loops import Loops
from flyball_audit.module import Module
from flyball_audit.names import Names, is_top_level
from flyball_audit.origins import Origins
from flyball_audit.source import Source

if TYPE_CHECKING:
    from flyball_audit.loaders import Loader

__all__ = ["Definition", "Module", "Project"]

_LIBRARIES = frozenset({
    "torch", "torchvision", "torchaudio", "numpy", "scipy", "transformers", "lightning", "tensorflow", "jax", "mxnet",
    "paddle", "mindspore",
})  # fmt: skip
"""What packages name their folders for that hold code for it: `import torch` beside `app/torch/` means the library."""


_AT_TOP = re.compile(r"^(?:class|def|async[ \t]+def)[ \t]+(\w+)", re.MULTILINE)


class Project:
    """All modules of an audit, with the three kinds of answers that rules ask for: names, flow, loops."""

    def __init__(self, parsed: Iterable[tuple[Source, ast.Module]], dotted: Mapping[str, str] | None = None) -> None:
        files = list(parsed)
        if dotted is None:
            dotted = dotted_names([source for source, _ in files])
        self.names = Names(self)
        named = [(dotted[source.path], source, tree) for source, tree in files]
        self.modules: Mapping[str, Module] = {name: Module(source, tree, name, self) for name, source, tree in named}
        self._by_last: dict[str, list[Module]] = {}
        for module in self.modules.values():
            self._by_last.setdefault(module.name.rpartition(".")[2], []).append(module)
        self._parts = {part for name in self.modules for part in name.split(".")}
        self.loaders: dict[Module, tuple[Loader, ...]] = {}
        """Of each module: found once, for several rules."""
        self._imported: dict[tuple[str, str], Module | None] = {}
        self._found: dict[str, Definition | None] = {}
        self._defining: dict[str, list[Module]] | None = None
        self._top: dict[Module, Mapping[str, Definition]] = {}
        self._reached: dict[Module, frozenset[Module]] = {}
        self._named_by: dict[Module, frozenset[Module]] = {}
        self._connected: dict[Module, frozenset[Module]] = {}
        self._defined: dict[frozenset[Module], frozenset[str]] = {}
        self._importing: dict[Module, list[Module]] = {}
        self._spoken: dict[tuple[frozenset[Module], tuple[str, ...]], bool] = {}

    def close(self) -> None:
        """Let go of all that was learnt: else the collector of circles walks through millions of nodes to free it."""
        for each in (vars(self).get("flow"), self):
            if each is not None:
                vars(each).clear()

    @cached_property
    def flow(self) -> Flow:
        """What values expressions have."""
        return Flow(self)

    @cached_property
    def loops(self) -> Loops:
        """Which code runs each step, each epoch, in evaluation."""
        return Loops(self)

    @cached_property
    def origins(self) -> Origins:
        """Which library's things values are."""
        return Origins(self)

    def module_of(self, importer: Module, dotted: str) -> Module | None:
        """The project's module that an import means, seen from the importing module; None for libraries."""
        own = self.modules.get(dotted)
        if own is not None:
            return own
        head = dotted.partition(".")[0]
        if head not in self._parts or (head in sys.stdlib_module_names and self._stands_in_package(importer)):
            return None
        key = (importer.name.rpartition(".")[0], dotted)
        if key not in self._imported:
            self._imported[key] = self._search(*key)
        found = self._imported[key]
        return None if found is importer else found  # `import logging` in a logging.py means the library

    def _stands_in_package(self, module: Module) -> bool:
        """Whether a file belongs to a package, where `import collections` means Python's, whatever stands beside it."""
        around = self.modules.get(module.name.rpartition(".")[0])
        return around is not None and around.path.endswith("__init__.py")

    def split(self, importer: Module, dotted: str) -> tuple[Module, str] | None:
        """The project's module that a dotted name begins with, the longest one, and the rest of the name."""
        if dotted.partition(".")[0] not in self._parts:
            return None
        head, rest = dotted, ""
        while head:
            found = self.module_of(importer, head)
            if found is not None:
                return found, rest
            head, _, last = head.rpartition(".")
            rest = f"{last}.{rest}" if rest else last
        return None

    def find(self, qualified: str | None) -> Definition | None:
        """The top-level function or class, or the method, that a full name stands for."""
        if qualified is None:
            return None
        if qualified not in self._found:
            own = qualified.partition(".")[0] in self._parts
            self._found[qualified] = self._find(qualified) if own else None
        return self._found[qualified]

    def defining(self, name: str) -> Sequence[Module]:
        """The modules that define a class or function of that name at their top."""
        if self._defining is None:
            self._defining = {}
            for module in self.modules.values():
                for each in set(_AT_TOP.findall(module.source.text)):
                    self._defining.setdefault(each, []).append(module)
        return self._defining.get(name, ())

    def imports_of(self, module: Module) -> frozenset[Module]:
        """The project's modules that one imports, directly or through others."""
        found = self._reached.get(module)
        if found is None:
            found = self._reached[module] = self._reachable(module)
        return found

    def beside(self, module: Module) -> tuple[Module, ...]:
        """A module, those that it imports, and those that import it, directly or through others."""
        if not self._importing:
            self._importing = {each: [] for each in self.modules.values()}
            for each in self.modules.values():
                for other in self.imports_of(each):
                    self._importing[other].append(each)
        return (module, *self.imports_of(module), *self._importing[module])

    def is_script(self, module: Module) -> bool:
        """Whether none of the files imports a module."""
        return len(self.beside(module)) == 1 + len(self.imports_of(module))

    def used_by(self, module: Module) -> frozenset[Module]:
        """The modules whose functions and classes one names, and those that these import: not all of their package."""
        named = {self.find(module.qualified(each)) for kind in (ast.Name, ast.Attribute) for each in module.all(kind)}
        homes = {each.module for each in named if each is not None}
        return frozenset(homes.union(*(self._direct(each) for each in homes)))

    def connected(self, module: Module) -> frozenset[Module]:
        """The modules that know a module or are known to it, directly or through others; itself too."""
        found = self._connected.get(module)
        if found is None:
            for group in self._groups():
                self._connected |= dict.fromkeys(group, group)
            found = self._connected[module]
        return found

    def speaks_of(self, module: Module, *words: str) -> bool:
        """Whether one of some texts stands in a file, or in one that it is connected with: asked before they are read.

        A file that no rule has to read is not indexed, which takes half as long as to parse it.
        """
        key = (self.connected(module), words)
        if key not in self._spoken:
            self._spoken[key] = any(each.says_any(words) for each in key[0])
        return self._spoken[key]

    def defines(self, module: Module, name: str) -> bool:
        """Whether a function or class of that name stands in a module or in those that it is connected with."""
        group = self.connected(module)
        if group not in self._defined:
            both = ((*each.functions, *each.all(ast.ClassDef)) for each in group)
            self._defined[group] = frozenset(each.name for definitions in both for each in definitions)
        return name in self._defined[group]

    def _groups(self) -> list[frozenset[Module]]:
        """Modules joined by imports, either way."""
        beside: dict[Module, set[Module]] = {each: set() for each in self.modules.values()}
        for module, known in beside.items():
            for other in self._direct(module):
                known.add(other)
                beside[other].add(module)
        groups, seen = [], set[Module]()
        for module in beside:
            group, waiting = set[Module](), [module] if module not in seen else []
            while waiting:
                here = waiting.pop()
                if here not in group:
                    group.add(here)
                    waiting.extend(beside[here] - group)
            seen |= group
            groups += [frozenset(group)] if group else []
        return groups

    def _direct(self, module: Module) -> frozenset[Module]:
        """The project's modules that one's own imports name."""
        known = self._named_by.get(module)
        if known is None:
            found = (self.split(module, dotted) for dotted in set(self.names.imported(module)))
            known = self._named_by[module] = frozenset(split[0] for split in found if split is not None)
        return known

    def _reachable(self, module: Module) -> frozenset[Module]:
        """What a module's imports lead to; modules that import each other in a circle share one set of it."""
        reached: set[Module] = set()
        waiting = [module]
        while waiting:
            here = waiting.pop()
            known = self._reached.get(here)
            if known is None:
                more = self._direct(here) - reached
                reached |= more
                waiting.extend(more)
            elif module in known:
                return known
            else:
                reached |= known
        return frozenset(reached)

    def _find(self, qualified: str) -> Definition | None:
        head, _, name = qualified.rpartition(".")
        module = self.modules.get(head)
        if module is not None:
            return self._top_level(module).get(name)
        holder = self.find(head) if head else None
        if holder is None and qualified in self.modules:  # a package that is not at hand gives out `loader.loader`
            return self._top_level(self.modules[qualified]).get(name)
        if holder is None or not isinstance(holder.node, ast.ClassDef):
            return None
        method = method_of(holder.node, name)
        return Definition(holder.module, method) if method else None

    def _top_level(self, module: Module) -> Mapping[str, Definition]:
        found = self._top.get(module)
        if found is None:
            found = self._top[module] = _defined(module)
        return found

    def _search(self, folder: str, dotted: str) -> Module | None:
        """By Python's rule: below the importer's folder or one above it; else wherever one file alone fits."""
        above = folder
        head = dotted.partition(".")[0]
        while True:
            found = self.modules.get(f"{above}.{dotted}" if above else dotted)
            if found is not None and not self._is_named_for_library(above, head):
                return found
            if not above:
                break
            above = above.rpartition(".")[0]
        fitting = [
            each
            for each in self._by_last.get(dotted.rpartition(".")[2], ())
            if each.name.endswith(f".{dotted}")
            and not self._is_named_for_library(each.name.removesuffix(f".{dotted}"), head)
        ]
        return fitting[0] if len(fitting) == 1 and "." in dotted else None

    def _is_named_for_library(self, folder: str, head: str) -> bool:
        """Whether a name within a package is that of a library: Python looks into no package for what is imported."""
        package = self.modules.get(folder) if head in _LIBRARIES else None
        return package is not None and package.path.endswith("__init__.py")


def _defined(module: Module) -> Mapping[str, Definition]:
    """A module's own functions and classes; of several that have a name, the last."""
    both = sorted((*module.functions, *module.all(ast.ClassDef)), key=lambda each: each.lineno)
    return {each.name: Definition(module, each) for each in both if is_top_level(module, each)}
