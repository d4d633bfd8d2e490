"""Passes of models that autograd records, and those of them of which nothing is differentiated later."""

import ast
import re
from collections.abc import Iterator, Set
from typing import TYPE_CHECKING

from flyball_planner.audit.flow.values import UNKNOWN, Tag, Value
from flyball_planner.audit.loops import model_called
from flyball_planner.audit.module import Function, Loop, Module, last_name
from flyball_planner.audit.regions import Region

if TYPE_CHECKING:
    from flyball_planner.audit.project import Project

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
            and not _is_predictor(project, region, call, value)
            and _records(project, region, call, doubtful=doubtful)
        ):
            yield call


def _is_predictor(project: "Project", region: Region, call: ast.Call, model: Value) -> bool:
    """Whether what is called wraps a network: modules take tensors, while pictures and arrays need a predictor."""
    first = project.flow.value(region.module, call.args[0]) if call.args else UNKNOWN
    from_host = first.has(Tag.HOST) and not first.has(Tag.TENSOR) and first.literal is None
    return from_host or _calls_its_own_way(project, model)


def _calls_its_own_way(project: "Project", model: Value) -> bool:
    """Whether a model's class says itself what calling it does: that may run without history."""
    return model.definition is not None and project.flow.method(model.definition, "__call__") is not None


def _records(project: "Project", region: Region, call: ast.Call, *, doubtful: bool) -> bool:
    """Neither the call nor any of those that lead to it stands in `no_grad`."""
    steps = ((region.module, call), *region.calls)
    known = all(project.flow.records_history(module, each) for module, each in steps)
    return known and not any(is_wrapped(module, each, telling=doubtful) for module, each in steps)


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


def leaves(region: Region, call: ast.Call) -> bool:
    """Whether all that a body makes of a pass is taken out of autograd there, and none of it goes elsewhere."""
    derived = _derived(region, call)
    sinks = [each for each in region.all(ast.Call) if last_name(each) in LEAVING and _speaks(each.func, call, derived)]
    return bool(sinks) and not any(_speaks(each, call, derived) for each in _outlets(region))


def _derived(region: Region, call: ast.Call) -> Set[str]:
    """The variables that hold the result of a pass, or what was made of it with its history."""
    found: set[str] = set()
    for _ in range(3):  # a later line of a loop may feed an earlier one
        given = [(each.targets, each.value) for each in region.all(ast.Assign)]
        given += [([each.target], each.value) for each in region.all(ast.AugAssign)]
        for targets, value in given:
            if _speaks(value, call, found):
                found |= {part.id for target in targets for part in ast.walk(target) if isinstance(part, ast.Name)}
    return found


def _outlets(region: Region) -> Iterator[ast.AST]:
    """What a body gives back, keeps, or hands to somebody who may keep it."""
    values = [each.value for each in region.all(ast.Return)] + [each.value for each in region.all(ast.Yield)]
    yield from (each for each in values if each is not None)
    for assigned in region.all(ast.Assign):
        if not all(isinstance(part, ast.Name | ast.Tuple | ast.List) for part in assigned.targets):
            yield assigned.value
    for statement in region.all(ast.Expr):
        if isinstance(statement.value, ast.Call):
            yield from (*statement.value.args, *(each.value for each in statement.value.keywords))


def _speaks(node: ast.AST, call: ast.Call, derived: Set[str]) -> bool:
    """Whether an expression holds a pass, or what was made of it, before that leaves."""
    if isinstance(node, ast.Call) and node is not call and last_name(node) in LEAVING:
        return False
    if isinstance(node, ast.Attribute) and node.attr in _ASKED:
        return False
    if node is call or (isinstance(node, ast.Name) and node.id in derived):
        return True
    return any(_speaks(each, call, derived) for each in ast.iter_child_nodes(node))


_ASKED = frozenset({"shape", "data", "dtype", "device"})


def loop_around(module: Module, call: ast.Call) -> Loop | None:
    """The nearest loop that repeats a call, within its function."""
    for above in module.ancestors(call):
        if isinstance(above, Function | ast.Lambda | ast.ClassDef):
            return None
        if isinstance(above, Loop):
            return above
    return None
