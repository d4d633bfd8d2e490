"""Names of functions that may lead to a backward pass, or to an optimizer's step."""

import ast
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from flyball_audit.names import code_of


@dataclass(frozen=True)
class Leads:
    """The names of functions that may lead to a backward pass, and to a step."""

    backward: frozenset[str]
    step: frozenset[str]

    @cached_property
    def all(self) -> frozenset[str]:
        """Those that may lead to either."""
        return self.backward | self.step

    @cached_property
    def handed(self) -> frozenset[str]:
        """Those that lead to either where they are handed over, not called."""
        return self.all - SEEDS

    @cached_property
    def _said(self) -> tuple[frozenset[str], frozenset[str]]:
        """How a body that may lead to a backward pass, or to a step, says so: it calls a name, or hands it over."""
        both = (self.backward, self.step)
        return both[0] | _as_handed(both[0]), both[1] | _as_handed(both[1])

    def may_step(self, names: frozenset[str]) -> bool:
        """Whether what is called, or handed over, may lead to both."""
        return not any(names.isdisjoint(each) for each in self._said)


def receivers(calls: Iterable[ast.Call]) -> frozenset[str]:
    """What methods are called of, as it is written."""
    return frozenset(code_of(each.func.value) for each in calls if isinstance(each.func, ast.Attribute))


def _as_handed(names: frozenset[str]) -> frozenset[str]:
    return frozenset(f"{HANDED}{each}" for each in names - SEEDS)


HANDED = "→"
"""Before a name that is handed over, not called: `step` is a number in `log(step)`, a function in `run(train_step)`."""


def closure(callers: Mapping[str, set[str]], seeds: frozenset[str]) -> frozenset[str]:
    """The seeds, and the names of functions that call them, or hand over one that does, and so on."""
    leading: set[str] = set()
    waiting = list(seeds)
    while waiting:
        name = waiting.pop()
        if name in leading:
            continue
        leading.add(name)
        handed = set() if name in SEEDS else callers.get(f"{HANDED}{name}", set())
        waiting.extend((callers.get(name, set()) | handed) - leading)
    return frozenset(leading)


def is_schedule(call: ast.Call) -> bool:
    """Whether a pipeline's schedule runs, with backward passes: `schedule(…, forward_only=False)`, as Megatron's do."""
    return any(
        each.arg == FORWARD_ONLY and isinstance(each.value, ast.Constant) and each.value.value is False
        for each in call.keywords
    )


FORWARD_ONLY = "forward_only"

BACKWARD = frozenset({"backward", "manual_backward"})
STEP = frozenset({"step", "optimizer_step"})
SEEDS = BACKWARD | STEP
"""What everything that trains calls in the end."""


def handed_names(call: ast.Call) -> list[str]:
    """The names that a call hands over as they are."""
    handed = (*call.args, *[each.value for each in call.keywords])
    names = [each.id for each in handed if type(each) is ast.Name]
    return names + [each.attr for each in handed if type(each) is ast.Attribute]
