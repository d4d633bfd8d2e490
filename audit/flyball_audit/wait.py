"""One wait for the device: which expression it is, what it does to which value, and how it is told."""

import ast
from typing import NamedTuple

from flyball_audit.flow.library import TO_HOST
from flyball_audit.flow.values import Tag, Value
from flyball_audit.module import last_name
from flyball_audit.readings import SUPPOSED
from flyball_audit.regions import Region


class Wait(NamedTuple):
    """An expression that waits, and what it does to the value."""

    node: ast.expr
    does: str
    value: Value

    @property
    def is_explicit(self) -> bool:
        """Whether a method is called that only tensors and arrays have: the code's author knew what it is."""
        return isinstance(self.node, ast.Call) and isinstance(self.node.func, ast.Attribute) and self._name in _METHODS

    @property
    def is_plain(self) -> bool:
        """Whether the code itself says that a tensor is read, whatever is known of the value."""
        return self.is_explicit or self.value == SUPPOSED

    @property
    def copies(self) -> bool:
        """Whether a tensor's whole contents are brought over, whatever its size."""
        return isinstance(self.node, ast.Call) and self._name in _COPYING

    @property
    def reads_number(self) -> bool:
        """Whether a single number is asked for, or a truth value."""
        return self.does == ASKED or (isinstance(self.node, ast.Call) and self._name in _NUMBER_OF)

    @property
    def _name(self) -> str:
        return last_name(self.node) if isinstance(self.node, ast.Call) else ""


ASKED = "a condition needs the truth value of {it}"

_METHODS = TO_HOST | {"cpu"}
_COPYING = frozenset({"cpu", "numpy", "tolist", "to"})
_NUMBER_OF = frozenset({"item", "float", "int", "bool", "round", "equal", "allclose"})

NUMBERS = frozenset({Tag.LOSS, Tag.NORM})
"""Single numbers, whose truth may be asked for by their name alone; of a list of tensors that asks if it is empty."""


def told(region: Region, wait: Wait) -> str:
    """What is waited for, in words."""
    kinds = ((Tag.LOSS, "a loss"), (Tag.NORM, "a gradient norm"), (Tag.GRADIENT, "a gradient"),
             (Tag.PARAMETER, "a parameter"), (Tag.OUTPUT, "the model's output"))  # fmt: skip
    what = next((words for tag, words in kinds if wait.value.has(tag)), "a tensor")
    return f"`{region.module.quote(wait.node)}` waits for the device: {wait.does.replace('{it}', what)}"
