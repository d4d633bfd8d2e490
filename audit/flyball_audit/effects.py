"""Where backward passes and optimizer steps happen, through calls, and which loops that makes training loops."""

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum
from typing import TYPE_CHECKING

from flyball_audit.flow.values import Tag
from flyball_audit.leads import (
    BACKWARD,
    FORWARD_ONLY,
    HANDED,
    STEP,
    Leads,
    closure,
    handed_names,
    is_schedule,
    receivers,
)
from flyball_audit.module import Function, Loop, Module, last_name
from flyball_audit.names import code_of
from flyball_audit.walks import goes_through_learners

if TYPE_CHECKING:
    from flyball_audit.project import Project


class Effect(Enum):
    """What a call does for training."""

    BACKWARD = "backward"
    STEP = "step"

    __hash__ = object.__hash__  # as for values' tags


EffectSet = frozenset[Effect]
NONE: EffectSet = frozenset()
WHOLE: EffectSet = frozenset(Effect)
_BACKWARD: EffectSet = frozenset({Effect.BACKWARD})
_STEP: EffectSet = frozenset({Effect.STEP})

NO_NAMES = frozenset[str]()

_STEPPERS = re.compile(
    r"(^|_|\.)(optim\w*|opt|opts|opt_\w+|\w+_opt|adam\w*|sgd|scaler|engine)(\(\))?(\[[^\]]*\])?$", re.IGNORECASE
)
_SCALING_STEP = re.compile(r"(^|_)scaler$")
"""What is called with a loss and an optimizer does both, as in `loss_scaler(loss, optimizer, clip_grad=1.0)`."""

_SEARCHING = re.compile(r"(find|search|suggest|tune)_(\w+_)?(lr|learning_rate|batch_size)|(lr|batch_size)_find")
"""In names of calls that try a step a few times, before any training."""

_NO_STEPPERS = re.compile(r"sched|lr_|env|prof|warmup", re.IGNORECASE)


class Effects:
    """The effects of calls, loops and functions in one project; every answer is kept."""

    def __init__(self, project: "Project") -> None:
        self._project = project
        self._of_function: dict[ast.AST, EffectSet] = {}
        self._of_loop: dict[ast.AST, EffectSet] = {}
        self._of_parts: set[Loop] = set()
        """Loops that step for each of several learners, of which a loop over batches makes one turn."""
        self._leads: dict[Module, Leads] = {}
        self._zeroing: dict[Module, frozenset[str]] = {}
        self._names: dict[Module, Mapping[ast.AST, frozenset[str]]] = {}
        self._handed: dict[ast.Call, Sequence[str]] = {}

    def step_loops(self, module: Module) -> list[Loop]:
        """The innermost loops that hold backward passes and the optimizer's steps."""
        bodies = self._stepping(module)
        for each in bodies:
            self.of_function(module, each)
        whole = [each for each in module.loops if self._of_loop.get(each) == WHOLE] if bodies else []
        return [each for each in whole if each not in self._of_parts]

    def step_functions(self, module: Module) -> list[Function]:
        """Functions that do one whole step, outside any loop of theirs."""
        functions = [each for each in self._stepping(module) if isinstance(each, Function)]
        whole = (each for each in functions if self.of_function(module, each) == WHOLE)
        return [each for each in whole if not self.makes_optimizer(module, each)]

    def makes_optimizer(self, module: Module, node: Function) -> bool:
        """Whether a function makes an optimizer, for one step of L-BFGS, say: a whole training, no step of one."""
        values = ((call, self._project.flow.value(module, call)) for call in module.calls_of(node))
        return any(value.has(Tag.OPTIMIZER) and value.made_at == (module, call) for call, value in values)

    def inside(self, module: Module, loop: Loop) -> EffectSet:
        """What happens in the turns of a loop, inner training loops aside."""
        if loop not in self._of_loop:
            self._of_loop.setdefault(loop, NONE)
            self.of_function(module, module.scope_of(loop))
        return self._of_loop[loop]

    def of_function(self, module: Module, node: ast.AST) -> EffectSet:
        """What happens in a function, outside training loops of its own."""
        if node not in self._of_function:
            self._of_function[node] = NONE
            self._of_function[node] = self._follow(module, node)
        return self._of_function[node]

    def of_call(self, module: Module, call: ast.Call) -> EffectSet:
        """What a call does, itself or through the project's functions that it runs or is handed."""
        own = self.direct(module, call)
        leads = last_name(call) in self._leading(module).all and self._project.defines(module, last_name(call))
        if own or not leads:
            return own | self._of_closures(module, call)
        effects = set(own | self._of_closures(module, call))
        for each in self._project.flow.callees(module, call):
            if isinstance(each.node, Function):
                effects |= self.of_function(each.module, each.node)
        return frozenset(effects)

    def direct(self, module: Module, call: ast.Call) -> EffectSet:
        """What a call does itself."""
        name = last_name(call)
        if name in BACKWARD and isinstance(call.func, ast.Attribute):
            return _BACKWARD if "ctx" not in code_of(call.func.value) else NONE
        if is_schedule(call):
            return _BACKWARD
        if name == "optimizer_step":
            return _STEP
        if name.endswith("scaler") and _SCALING_STEP.search(name):
            return WHOLE if any(_STEPPERS.search(code_of(each)) for each in call.args) else NONE
        if name.startswith("step") and isinstance(call.func, ast.Attribute):
            text = code_of(call.func.value)
            if text in self._zeroed(module) or (name == "step" and self._is_optimizer(module, call.func.value, text)):
                return _STEP
        return NONE

    def _zeroed(self, module: Module) -> frozenset[str]:
        """What empties gradients, or differentiates a loss: if it has steps too, it is an optimizer or wraps one."""
        found = self._zeroing.get(module)
        if found is None:
            empties = receivers(module.calls_named("zero_grad"))
            engines = receivers(each for each in module.calls_named("backward") if each.args)
            found = self._zeroing[module] = empties | (engines - {"self"})
        return found

    def _is_optimizer(self, module: Module, receiver: ast.expr, text: str) -> bool:
        if _NO_STEPPERS.search(text):
            return False
        if _STEPPERS.search(text):
            return True
        value = self._project.flow.value(module, receiver)
        return bool(value.tags & {Tag.OPTIMIZER, Tag.SCALER, Tag.ENGINE})

    def _may_lead(self, module: Module, call: ast.Call) -> bool:
        leads = self._leading(module)
        return last_name(call) in leads.all or not leads.handed.isdisjoint(self._handed_by(call))

    def _of_closures(self, module: Module, call: ast.Call) -> EffectSet:
        """`optimizer.step(closure)`: the closure's backward passes."""
        effects: set[Effect] = set()
        leading = self._leading(module).handed
        later = last_name(call)[:1].isupper()  # `Engine(update)` keeps it, and runs it when it is told to
        if later or leading.isdisjoint(self._handed_by(call)) or _SEARCHING.search(last_name(call)):
            return NONE
        for each in (*call.args, *(keyword.value for keyword in call.keywords)):
            name = each.id if isinstance(each, ast.Name) else each.attr if isinstance(each, ast.Attribute) else ""
            if name in leading:
                definition = self._project.flow.value(module, each).definition
                if definition is not None and isinstance(definition.node, Function):
                    effects |= self.of_function(definition.module, definition.node)
        return frozenset(effects)

    def _handed_by(self, call: ast.Call) -> Sequence[str]:
        found = self._handed.get(call)
        if found is None:
            found = self._handed[call] = handed_names(call) if call.args or call.keywords else ()
        return found

    def _stepping(self, module: Module) -> list[ast.AST]:
        """The functions, and the module itself, whose calls may lead to backward passes and to steps."""
        leads = self._leading(module)
        if not leads.backward:
            return []
        named = self._names_of(module)
        return [each for each in (*module.functions, module.tree) if leads.may_step(named.get(each, NO_NAMES))]

    def _names_of(self, module: Module) -> Mapping[ast.AST, frozenset[str]]:
        """For each function, and the module itself, the names that it calls, or hands over."""
        found = self._names.get(module)
        if found is None:
            bodies = (*module.functions, module.tree)
            found = self._names[module] = {each: self._names_in(module, each) for each in bodies}
        return found

    def _names_in(self, module: Module, body: ast.AST) -> frozenset[str]:
        handed = {name for call in module.calls_of(body) for name in self._handed_by(call)}
        return module.called_in(body).union([f"{HANDED}{each}" for each in handed])

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
            if inside == WHOLE and goes_through_learners(loop, _around(module, loop, body)):
                self._of_parts.add(loop)
            if inside != WHOLE or loop in self._of_parts:
                above = next((each for each in module.ancestors(loop) if isinstance(each, Loop) or each is body), body)
                effects.setdefault(above, set()).update(inside)
        return frozenset(effects.get(body, ()))

    def _leading(self, module: Module) -> Leads:
        """Names of functions that may lead to a backward pass or a step, by the text of files that know each other."""
        found = self._leads.get(module)
        if found is None:
            connected = self._project.connected(module)
            found = self._of_group(connected)
            self._leads |= dict.fromkeys(connected, found)
        return found

    def _of_group(self, group: Iterable[Module]) -> Leads:
        spoken = (each for each in group if "scaler" in each.source.text)  # the others need not be indexed for it
        scaling = frozenset(name for each in spoken for name in each.called_names if _SCALING_STEP.search(name))
        timed = (each for each in group if FORWARD_ONLY in each.source.text)
        passes = frozenset(last_name(call) for each in timed for call in each.all(ast.Call) if is_schedule(call))
        if not scaling and not any("backward" in each.source.text for each in group):
            return Leads(NO_NAMES, NO_NAMES)  # who never differentiates does not train: its steps are others
        callers: dict[str, set[str]] = {}
        for module in group:
            for name, called in self._called_by_name(module):
                for each in called:
                    callers.setdefault(each, set()).add(name)
        steps = frozenset(each for module in group for each in module.called_names if each.startswith("step_"))
        return Leads(closure(callers, BACKWARD | scaling | passes), closure(callers, STEP | steps | scaling))

    def _called_by_name(self, module: Module) -> Iterator[tuple[str, Iterable[str]]]:
        named = self._names_of(module)
        for function in module.functions:
            yield function.name, named[function]
            holder = module.class_of(function) if function.name == "__init__" else None
            if holder is not None:
                yield holder.name, (function.name,)


def _around(module: Module, call: ast.AST, body: ast.AST) -> list[Loop]:
    """The loops of a body that repeat a call, innermost first."""
    around: list[Loop] = []
    below = call
    for above in module.ancestors(call):
        if above is body:
            break
        if isinstance(above, Loop) and (below in above.body or (isinstance(above, ast.While) and below is above.test)):
            around.append(above)
        below = above
    return around
