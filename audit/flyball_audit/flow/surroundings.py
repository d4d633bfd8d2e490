"""What a whole file, or files that know each other, tell of the values in them: libraries, losses, who calls what."""

import ast
from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING

from flyball_audit.flow.classes import Classes
from flyball_audit.flow.losses import loss_names
from flyball_audit.flow.partials import calls_of_what_holds
from flyball_audit.module import Module

if TYPE_CHECKING:
    from flyball_audit.project import Project


class Surroundings(Classes):
    """The answers for one project, with those about its classes; every answer is kept."""

    def __init__(self, project: "Project") -> None:
        super().__init__(project)
        self._backward: dict[Module, frozenset[str]] = {}
        self._partials: dict[frozenset[Module], list[tuple[Module, ast.Call, list[ast.Call]]]] = {}
        self._callers: dict[frozenset[Module], dict[str, list[tuple[Module, ast.Call]]]] = {}

    def uses_torch(self, module: Module) -> bool:
        """Whether names may be guessed by the habits of training code in a file."""
        if module.frameworks:
            return bool(module.frameworks & _HABITUAL)
        return module.says_any((".backward(",)) and not self.project.defines(module, "backward")

    def backward_names(self, module: Module) -> frozenset[str]:
        """Names, of variables or attributes, on which the module calls `.backward()`, or hands to one."""
        if module not in self._backward:
            self._backward[module] = loss_names(module)
        return self._backward[module]

    def default_device_changes(self, module: Module) -> bool:
        """Whether a file, or one that it is connected with, makes new tensors on a device without saying so."""
        return self.project.speaks_of(module, "set_default_device", "set_default_tensor_type")

    def callers(self, name: str, module: Module) -> Sequence[tuple[Module, ast.Call]]:
        """The calls whose function ends in a name, in a module and those that it is connected with."""
        group = self.project.connected(module)
        found = self._callers.get(group)
        if found is None:
            found = self._callers[group] = defaultdict(list)
            for caller in sorted(group, key=lambda each: each.name):
                for called in caller.called_names:
                    found[called] += [(caller, each) for each in caller.calls_named(called)]
                for alias in (each for plain in caller.imports for each in plain.names):
                    if alias.asname is not None and alias.asname != alias.name:  # `from x import ask as _ask`
                        found[alias.name] += [(caller, each) for each in caller.calls_named(alias.asname)]
        return found.get(name, ())

    def partials(self, module: Module) -> Sequence[tuple[Module, ast.Call, list[ast.Call]]]:
        """In a module, and in those that it is connected with: each `run = partial(…)`, and the calls of `run`."""
        group = self.project.connected(module)
        found = self._partials.get(group)
        if found is None:
            made = (
                (caller, each, calls_of_what_holds(caller, each)) for caller, each in self.callers("partial", module)
            )
            found = self._partials[group] = [each for each in made if each[2]]
        return found


_HABITUAL = frozenset({"torch", "lightning", "transformers", "accelerate", "deepspeed"})
"""Whose code has habits; a file without any may be handed all it differentiates, a project's own autograd aside."""
