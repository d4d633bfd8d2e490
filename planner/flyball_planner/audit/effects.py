"""Where backward passes and optimizer steps happen, through calls, and which loops that makes training loops."""

import ast
import re
from collections.abc import Iterator
from enum import Enum
from typing import TYPE_CHECKING

from flyball_planner.audit.flow.values import Tag
from flyball_planner.audit.module import Function, Loop, Module

if TYPE_CHECKING:
    from flyball_planner.audit.project import Project


class Effect(Enum):
    """What a call does for training."""

    BACKWARD = "backward"
    STEP = "step"


EffectSet = frozenset[Effect]
NONE: EffectSet = frozenset()

_STEPPERS = re.compile(
    r"(^|_|\.)(optim\w*|opt|opts|opt_\w+|\w+_opt|adam\w*|sgd|scaler|engine)(\(\))?(\[[^\]]*\])?$", re.IGNORECASE
)
_NO_STEPPERS = re.compile(r"sched|lr_|env|prof|warmup", re.IGNORECASE)


class Effects:
    """The effects of calls, loops and functions in one project; every answer is kept."""

    def __init__(self, project: "Project") -> None:
        self._project = project
        self._of_function: dict[ast.AST, EffectSet] = {}
        self._of_loop: dict[ast.AST, EffectSet] = {}
        self._looked: set[ast.AST] = set()
        self._leads: dict[Module, frozenset[str]] = {}

    def step_loops(self, module: Module) -> list[Loop]:
        """The innermost loops that hold backward passes and the optimizer's steps."""
        self._look(module)
        return [each for each in module.loops if self._of_loop.get(each) == frozenset(Effect)]

    def step_functions(self, module: Module) -> Iterator[Function]:
        """Functions that do one whole step, outside any loop of theirs."""
        self._look(module)
        return (each for each in module.functions if self.of_function(module, each) == frozenset(Effect))

    def inside(self, module: Module, loop: Loop) -> EffectSet:
        """What happens in the turns of a loop, inner training loops aside."""
        self._look(module)
        return self._of_loop.get(loop, NONE)

    def of_function(self, module: Module, node: ast.AST) -> EffectSet:
        """What happens in a function, outside training loops of its own."""
        if node not in self._of_function:
            self._of_function[node] = NONE
            self._of_function[node] = self._follow(module, node)
        return self._of_function[node]

    def of_call(self, module: Module, call: ast.Call) -> EffectSet:
        """What a call does, itself or through the project's functions that it runs or is handed."""
        own = self.direct(module, call)
        if own or not self._project.defines(module, last_name(call)) or last_name(call) not in self._leading(module):
            return own | self._of_closures(module, call)
        effects = set(own | self._of_closures(module, call))
        for each in self._project.flow.callees(module, call):
            if isinstance(each.node, Function):
                effects |= self.of_function(each.module, each.node)
        return frozenset(effects)

    def direct(self, module: Module, call: ast.Call) -> EffectSet:
        """What a call does itself."""
        name = last_name(call)
        if name in {"backward", "manual_backward"} and isinstance(call.func, ast.Attribute):
            return frozenset({Effect.BACKWARD}) if "ctx" not in ast.unparse(call.func.value) else NONE
        if name == "optimizer_step":
            return frozenset({Effect.STEP})
        if name == "step" and isinstance(call.func, ast.Attribute) and self._is_optimizer(module, call.func.value):
            return frozenset({Effect.STEP})
        return NONE

    def _is_optimizer(self, module: Module, receiver: ast.expr) -> bool:
        text = ast.unparse(receiver)
        if _NO_STEPPERS.search(text):
            return False
        if _STEPPERS.search(text):
            return True
        value = self._project.flow.value(module, receiver)
        return bool(value.tags & {Tag.OPTIMIZER, Tag.SCALER, Tag.ENGINE})

    def _may_lead(self, module: Module, call: ast.Call) -> bool:
        leading = self._leading(module)
        return last_name(call) in leading or any(each in leading and each not in SEEDS for each in _handed_names(call))

    def _of_closures(self, module: Module, call: ast.Call) -> EffectSet:
        """`optimizer.step(closure)`: the closure's backward passes."""
        effects: set[Effect] = set()
        leading = self._leading(module) - SEEDS
        for each in (*call.args, *(keyword.value for keyword in call.keywords)):
            if isinstance(each, ast.Name | ast.Attribute) and getattr(each, "id", getattr(each, "attr", "")) in leading:
                definition = self._project.flow.value(module, each).definition
                if definition is not None and isinstance(definition.node, Function):
                    effects |= self.of_function(definition.module, definition.node)
        return frozenset(effects)

    def _look(self, module: Module) -> None:
        """Follow the module's own code and all of its functions, once."""
        if module.tree in self._looked:
            return
        self._looked.add(module.tree)
        if not self._leading(module).intersection(_called_names(module)):
            return
        for each in module.functions:
            self.of_function(module, each)
        self.of_function(module, module.tree)

    def _follow(self, module: Module, body: ast.AST) -> EffectSet:
        """Bring each call's effects up to the loop that they make a training loop, or out of the body."""
        effects: dict[ast.AST, set[Effect]] = {}
        loops: list[Loop] = []
        for call in module.calls_of(body):
            found = self.of_call(module, call) if self._may_lead(module, call) else NONE
            if found:
                around = _around(module, call, body)
                effects.setdefault(around[0] if around else body, set()).update(found)
                loops += [each for each in around if each not in loops]
        for loop in sorted(loops, key=lambda each: (each.lineno, each.col_offset), reverse=True):
            inside = frozenset(effects.get(loop, ()))
            self._of_loop[loop] = inside
            if inside != frozenset(Effect):
                above = next((each for each in module.ancestors(loop) if isinstance(each, Loop) or each is body), body)
                effects.setdefault(above, set()).update(inside)
        return frozenset(effects.get(body, ()))

    def _leading(self, module: Module) -> frozenset[str]:
        """Names of functions that may lead to a backward pass or a step, by the text of files that know each other."""
        found = self._leads.get(module)
        if found is None:
            connected = self._project.connected(module)
            found = _closure([_calls_by_function(each) for each in connected])
            self._leads |= dict.fromkeys(connected, found)
        return found


def _calls_by_function(module: Module) -> dict[str, set[str]]:
    """For each function's name, the names that it calls, or hands over."""
    calls: dict[str, set[str]] = {}
    for function in module.functions:
        called = calls.setdefault(function.name, set())
        for call in module.calls_of(function):
            called.add(last_name(call))
            called.update(f"{_HANDED}{each}" for each in _handed_names(call))
        holder = module.class_of(function) if function.name == "__init__" else None
        if holder is not None:
            calls.setdefault(holder.name, set()).add(function.name)
    return calls


_HANDED = "→"
"""Before a name that is handed over, not called: `step` is a number in `log(step)`, a function in `run(train_step)`."""


def _closure(tables: list[dict[str, set[str]]]) -> frozenset[str]:
    calls: dict[str, set[str]] = {}
    for table in tables:
        for name, called in table.items():
            calls.setdefault(name, set()).update(called)
    callers: dict[str, set[str]] = {}
    for name, called in calls.items():
        for each in called:
            callers.setdefault(each, set()).add(name)
    leading: set[str] = set()
    waiting = list(SEEDS)
    while waiting:
        name = waiting.pop()
        if name in leading:
            continue
        leading.add(name)
        handed = set() if name in SEEDS else callers.get(f"{_HANDED}{name}", set())
        waiting.extend((callers.get(name, set()) | handed) - leading)
    return frozenset(leading)


SEEDS = frozenset({"backward", "manual_backward", "step", "optimizer_step"})
"""What everything that trains calls in the end."""


def last_name(call: ast.Call) -> str:
    """The last part of what is called: `step` of `self.optimizer.step()`."""
    called = call.func
    if isinstance(called, ast.Attribute):
        return called.attr
    return called.id if isinstance(called, ast.Name) else ""


def _handed_names(call: ast.Call) -> Iterator[str]:
    for each in (*call.args, *(keyword.value for keyword in call.keywords)):
        if isinstance(each, ast.Name):
            yield each.id
        elif isinstance(each, ast.Attribute):
            yield each.attr


def _called_names(module: Module) -> Iterator[str]:
    return (last_name(each) for each in module.all(ast.Call))


def _around(module: Module, call: ast.Call, body: ast.AST) -> list[Loop]:
    """The loops of a body that repeat a call, innermost first."""
    around: list[Loop] = []
    below: ast.AST = call
    for above in module.ancestors(call):
        if above is body:
            break
        if isinstance(above, Loop) and (below in above.body or (isinstance(above, ast.While) and below is above.test)):
            around.append(above)
        below = above
    return around
