"""Passes of models that autograd records, and those of them of which nothing is differentiated later."""

import ast
import math
import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Protocol, TypeVar

from flyball_planner.audit.branches import is_exclusive
from flyball_planner.audit.flow.values import UNKNOWN, Tag, Value
from flyball_planner.audit.given import is_constant
from flyball_planner.audit.index import nodes_below, parts_of
from flyball_planner.audit.module import Function, Loop, Module, last_name
from flyball_planner.audit.names import code_of
from flyball_planner.audit.regions import CHECKS, Region, model_called

if TYPE_CHECKING:
    from flyball_planner.audit.project import Project

Node = TypeVar("Node", bound=ast.AST)

DIFFERENTIATING = frozenset(
    {"backward", "grad", "requires_grad_", "manual_backward", "set_grad_enabled", "vjp", "jacobian"}
)
"""Calls that say that history is wanted, or looked after."""

WITHOUT_HISTORY = frozenset({
    "generate", "predict", "encode", "sample", "eval", "train", "to", "step", "zero_grad", "parameters", "state_dict",
    "load_state_dict", "requires_grad_", "modules", "children",
})  # fmt: skip
"""Methods of models that libraries run without history themselves, or that run nothing."""

PLAIN_DECORATORS = frozenset({
    "staticmethod", "classmethod", "property", "cached_property", "override", "overload", "cache", "lru_cache", "wraps",
    "compile", "script", "abstractmethod", "contextmanager", "setter", "getter",
})  # fmt: skip
"""Leave autograd as it is. What others do is unknown: a project's own may well turn history off."""


def recorded_passes(project: "Project", region: Region, *, doubtful: bool = False) -> Iterator[ast.Call]:
    """The calls of models in a region that record history on the way that leads there; doubtful: as far as is seen."""
    for call in region.all(ast.Call):
        value = project.flow.value(region.module, model_called(call))
        runs = value.has(Tag.MODEL) and not value.has(Tag.CRITERION) and last_name(call) not in WITHOUT_HISTORY
        learns = value.definition is None or not project.flow.learns_nothing(value.definition)
        if (
            runs
            and learns
            and not (last_name(call) in CHECKS and project.flow.callees(region.module, call))
            and not _is_predictor(project, region, call, value)
            and _records(project, region, call, doubtful=doubtful)
        ):
            yield call


def _is_predictor(project: "Project", region: Region, call: ast.Call, model: Value) -> bool:
    """Whether what is called wraps a network: modules take tensors, while pictures and arrays need a predictor."""
    first = project.flow.value(region.module, call.args[0]) if call.args else UNKNOWN
    from_host = first.has(Tag.HOST) and not first.has(Tag.TENSOR) and first.literal is None
    return from_host or calls_its_own_way(project, model)


def calls_its_own_way(project: "Project", model: Value) -> bool:
    """Whether a model's class says itself what calling it does: that may run without history."""
    return model.definition is not None and project.flow.method(model.definition, "__call__") is not None


def _records(project: "Project", region: Region, call: ast.Call, *, doubtful: bool) -> bool:
    """Neither the call nor any of those that lead to it stands in `no_grad`."""
    steps = ((region.module, call), *region.calls)
    known = all(project.flow.records_history(module, each) and not _is_volatile(module, each) for module, each in steps)
    return known and not any(is_wrapped(module, each, telling=doubtful) for module, each in steps)


def _is_volatile(module: Module, call: ast.Call) -> bool:
    """Whether the function around a call turns history off as PyTorch did before 0.4: `Variable(x, volatile=True)`."""
    if not module.says_any(("volatile",)):
        return False
    given = (each for part in module.calls_of(module.scope_of(call)) for each in part.keywords)
    return any(each.arg == "volatile" and not is_constant(each.value, False) for each in given)


def is_wanted(project: "Project", region: Region, call: ast.Call) -> bool:
    """Whether the other arm of a condition runs the same without history: who wrote it wants it in this one."""
    module, same = region.module, code_of(call.func)
    return any(
        code_of(each.func) == same
        and is_exclusive(module, call, each)
        and not project.flow.records_history(module, each)
        for each in region.all(ast.Call)
    )


def is_wrapped(module: Module, call: ast.Call, *, telling: bool = False) -> bool:
    """Whether the function around a call is in the hands of a decorator that is not known; telling: by its name."""
    decorators = map(_name_of, getattr(module.function_of(call), "decorator_list", []))
    unknown = (each for each in decorators if each not in PLAIN_DECORATORS)
    return any(not telling or _SWITCHING.search(each) for each in unknown)


_SWITCHING = re.compile(r"grad|infer|eval|no_|disable|freez", re.IGNORECASE)
"""In names of decorators that turn history off in all likelihood."""


def _name_of(decorator: ast.expr) -> str:
    held = decorator.func if isinstance(decorator, ast.Call) else decorator
    return held.attr if isinstance(held, ast.Attribute) else held.id if isinstance(held, ast.Name) else ""


LEAVING = frozenset({"detach", "numpy", "item", "tolist"})
"""Methods that give a value without history."""


class Body(Protocol):
    """What runs, by types of nodes: a region, or a part of one."""

    @property
    def module(self) -> Module:
        """Where it stands."""

    def all(self, kind: type[Node]) -> Iterator[Node]:
        """The nodes of one type."""


def leaves(body: Body, call: ast.Call) -> bool:
    """Whether all that a body makes of a pass is taken out of autograd there, and none of it goes elsewhere."""
    derived = _derived(body, call)
    taken = [each.func for each in body.all(ast.Call) if last_name(each) in LEAVING]
    taken += [each.value for each in body.all(ast.Attribute) if each.attr == "data"]
    left = any(_speaks(body, each, call, derived) for each in taken)
    return left and not any(_speaks(body, each, call, derived) for each in _outlets(body))


def is_shown(body: Body, call: ast.Call) -> bool:
    """Whether what a body makes of a pass is written, shown or measured, and goes nowhere else."""
    derived = _derived(body, call)
    shown = {part for each in body.all(ast.Call) if _SHOWING.search(last_name(each)) for part in _handed(each)}
    if not any(_speaks(body, each, call, derived) for each in shown):
        return False
    return not any(_speaks(body, each, call, derived) for each in _outlets(body) if each not in shown)


_SHOWING = re.compile(
    r"save|write|log|print|plot|show|gif|grid|image|video|wav|audio|figure|display|export", re.IGNORECASE
)
"""In names of what puts a result where people see it."""


def _derived(body: Body, call: ast.Call) -> Mapping[str, float]:
    """The variables that hold the result of a pass, or what was made of it with its history, up to which line."""
    ends = _rebound(body, call, _spread(body, call, {}))
    again = _last_given(body, call, _spread(body, call, ends))
    return _spread(body, call, {name: line for name, line in ends.items() if line > again.get(name, 0)})


def _spread(body: Body, call: ast.Call, ends: Mapping[str, float]) -> dict[str, float]:
    """Where history gets from a pass; it ends for some variables on a line."""
    found: dict[str, float] = {}
    given = [*_given(body)]
    for _ in range(3):  # a later line of a loop may feed an earlier one
        before = len(found)
        for names, value, _ in given:
            if _speaks(body, value, call, found):
                found |= {name: ends.get(name, math.inf) for name in names - found.keys()}
        for each in body.all(ast.comprehension):
            if _speaks(body, each.iter, call, found):  # whose variables end with it
                last = each.iter.end_lineno or each.iter.lineno
                found |= {name: max(last, found.get(name, 0)) for name in _names(each.target)}
        if len(found) == before:
            break
    return found


def _given(body: Body) -> Iterator[tuple[set[str], ast.expr, int]]:
    """The variables that are assigned to, what they are given, and on which line."""
    for each in body.all(ast.Assign):
        yield {name for target in each.targets for name in _names(target)}, each.value, each.lineno
    for change in body.all(ast.AugAssign):
        yield _names(change.target), change.value, change.lineno


def _names(target: ast.AST) -> set[str]:
    return {part.id for part in nodes_below(target) if isinstance(part, ast.Name)}


def _rebound(body: Body, call: ast.Call, derived: Mapping[str, float]) -> dict[str, float]:
    """The lines below a pass on which variables are given what has no history: `x = x.detach()`."""
    found: dict[str, float] = {}
    column = _column(body, call)
    for assigned in body.all(ast.Assign):
        below = assigned.lineno > call.lineno and assigned.col_offset <= column
        for name, value in _pairs(assigned) if below else ():
            if not _speaks(body, value, call, derived):
                found[name] = min(assigned.lineno, found.get(name, math.inf))
    return found


def _last_given(body: Body, call: ast.Call, derived: Mapping[str, float]) -> dict[str, int]:
    """The last lines on which variables are given what has history."""
    found: dict[str, int] = {}
    for names, value, line in _given(body):
        for name in names if _speaks(body, value, call, derived) else ():
            found[name] = max(line, found.get(name, 0))
    return found


def _column(body: Body, call: ast.Call) -> int:
    """Where the statement of a call begins: what is not indented deeper runs after it in any case."""
    statement = body.module.statement(call)
    return statement.col_offset if isinstance(statement, ast.Assign) else 0


def _pairs(assigned: ast.Assign) -> Iterator[tuple[str, ast.expr]]:
    """The names and what each is given: `a, b = x, y` in pairs."""
    target, value = assigned.targets[0], assigned.value
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        yield from ((t.id, v) for t, v in zip(target.elts, value.elts, strict=True) if isinstance(t, ast.Name))
    elif isinstance(target, ast.Name):
        yield target.id, value


def _outlets(body: Body) -> Iterator[ast.expr]:
    """What a body gives back, keeps, or hands to somebody who may keep it."""
    values = [each.value for each in body.all(ast.Return)] + [each.value for each in body.all(ast.Yield)]
    yield from (each for each in values if each is not None)
    for assigned in body.all(ast.Assign):
        if not all(isinstance(part, ast.Name | ast.Tuple | ast.List) for part in assigned.targets):
            yield assigned.value
    for statement in body.all(ast.Expr):
        if isinstance(statement.value, ast.Call):
            yield from _handed(statement.value)
    for call in body.all(ast.Call):
        if last_name(call) in DIFFERENTIATING or _LEARNING.search(last_name(call)):
            yield from (*_handed(call), call.func)


def _handed(call: ast.Call) -> Iterator[ast.expr]:
    yield from (*call.args, *(each.value for each in call.keywords))


_LEARNING = re.compile(r"step|optimi|update|backward|learn|(?<![a-z])(train|fit)(?![a-z])", re.IGNORECASE)
"""In names of what may differentiate what it is handed."""


def _speaks(body: Body, node: ast.expr, call: ast.Call, derived: Mapping[str, float]) -> bool:
    """Whether an expression holds a pass, or what was made of it, before that leaves."""
    near = node.lineno <= call.lineno <= (node.end_lineno or node.lineno)
    if not near and derived.keys().isdisjoint(body.module.names_in(node)):  # so it is with most
        return False
    return _holds(node, call, derived)


def _holds(node: ast.AST, call: ast.Call, derived: Mapping[str, float]) -> bool:
    """The same, looked for in the expression itself."""
    waiting = [node]
    while waiting:
        here = waiting.pop()
        if here is call or (isinstance(here, ast.Name) and here.lineno <= derived.get(here.id, 0)):
            return True
        if isinstance(here, _COMPREHENSIONS):
            waiting.append(here.elt)
        elif isinstance(here, ast.DictComp):
            waiting.append(here.value)
        elif not _leaves(here):
            waiting += parts_of(here)
    return False


_COMPREHENSIONS = (ast.ListComp, ast.GeneratorExp, ast.SetComp)


def _leaves(node: ast.AST) -> bool:
    """Whether what a node gives has no history, whatever it is made of."""
    if isinstance(node, ast.Call):
        return last_name(node) in LEAVING
    return isinstance(node, ast.Attribute) and node.attr in _ASKED


_ASKED = frozenset({"shape", "data", "dtype", "device"})


def loop_around(module: Module, call: ast.Call) -> Loop | None:
    """The nearest loop that repeats a call, within its function."""
    for above in module.ancestors(call):
        if isinstance(above, Function | ast.Lambda | ast.ClassDef):
            return None
        if isinstance(above, Loop):
            return above
    return None
