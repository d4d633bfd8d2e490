"""Passes of models that autograd records."""

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from flyball_audit.branches import is_exclusive
from flyball_audit.flow.values import UNKNOWN, Tag, Value
from flyball_audit.given import is_constant
from flyball_audit.module import Function, Loop, Module, last_name
from flyball_audit.names import code_of
from flyball_audit.outcomes import DETACHING, DIFFERENTIATING, is_taken
from flyball_audit.regions import CHECKS, Region, model_called

if TYPE_CHECKING:
    from flyball_audit.project import Project

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
    return (each for each in region.all(ast.Call) if is_recorded_pass(project, region, each, doubtful=doubtful))


def is_recorded_pass(
    project: "Project", region: Region, call: ast.Call, *, doubtful: bool = False, detached: bool = False
) -> bool:
    """The same of one call; detached: it gives tensors if the code detaches them, whatever it was handed."""
    value = project.flow.value(region.module, model_called(call))
    runs = value.has(Tag.MODEL) and not value.has(Tag.CRITERION) and last_name(call) not in WITHOUT_HISTORY
    learns = value.definition is None or not project.flow.learns_nothing(value.definition)
    return (
        runs
        and learns
        and not (last_name(call) in CHECKS and project.flow.callees(region.module, call))
        and not (_is_predictor(project, region, call, value) and not (detached and is_taken(region, call, DETACHING)))
        and not _differentiates_itself(project, region.module, call)
        and _records(project, region, call, doubtful=doubtful)
    )


def is_recorded_network(project: "Project", region: Region, call: ast.Call) -> bool:
    """Whether a call gives what has history, since that is detached: of a model, or of what is called after one."""
    called = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    if is_recorded_pass(project, region, call, doubtful=True, detached=True):
        return True
    unknown = _NETWORK.search(called) is not None and project.flow.value(region.module, call.func).is_unknown
    return unknown and is_taken(region, call, DETACHING) and _records(project, region, call, doubtful=True)


_NETWORK = re.compile(
    r"(?<![a-z])(model|net|network|policy|actor|critic|encoder|decoder|generator|classifier|backbone|vae|lstm|gnn)$"
)
"""What networks are called, whatever stands before it: `dqn_model`."""


def _is_predictor(project: "Project", region: Region, call: ast.Call, model: Value) -> bool:
    """Whether what is called wraps a network: modules take tensors, while pictures and arrays need a predictor."""
    first = project.flow.value(region.module, call.args[0]) if call.args else UNKNOWN
    from_host = first.has(Tag.HOST) and not first.has(Tag.TENSOR) and first.literal is None
    return from_host or calls_its_own_way(project, model)


def _differentiates_itself(project: "Project", module: Module, call: ast.Call) -> bool:
    """Whether what a call runs takes gradients: a model of forces, or a trainer that is a module."""
    called = (each for each in project.flow.callees(module, call) if isinstance(each.node, Function))
    return any(not DIFFERENTIATING.isdisjoint(each.module.called_in(each.node)) for each in called)


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


def gives_gradients(region: Region, call: ast.Call) -> bool:
    """Whether parts of what a model gives are derivatives, as their names say: it differentiates while it predicts."""
    held = region.module.statement(call)
    names = region.module.names_in(held.targets[0]) if isinstance(held, ast.Assign) else frozenset[str]()
    parts = (each for each in region.all(ast.Subscript) if isinstance(each.value, ast.Name) and each.value.id in names)
    keys = (each.slice.value for each in parts if isinstance(each.slice, ast.Constant))
    return any(isinstance(each, str) and _DERIVATIVES.search(each) for each in keys)


_DERIVATIVES = re.compile(r"(^|_)(grads?|gradients?|forces?|stress(es)?|hessians?|virials?)$")

_RUNTIMES = re.compile(r"onnx|tensorrt|(^|_)trt(_|$)|openvino|tflite|coreml", re.IGNORECASE)
"""In names of functions that run what was exported: no module of PyTorch any more."""


def is_exported(region: Region, call: ast.Call) -> bool:
    """Whether a function on the way to a call, or what is called, is named for a runtime of exported models."""
    around = region.module.function_of(call)
    names = (last_name(call), getattr(around, "name", ""), *(last_name(each) for _, each in region.calls))
    return any(_RUNTIMES.search(each) for each in names)


def is_wrapped(module: Module, call: ast.AST, *, telling: bool = False) -> bool:
    """Whether the function around a call is in the hands of a decorator that is not known; telling: by its name."""
    decorators = map(_name_of, getattr(module.function_of(call), "decorator_list", []))
    unknown = (each for each in decorators if each not in PLAIN_DECORATORS)
    return any(not telling or _SWITCHING.search(each) for each in unknown)


_SWITCHING = re.compile(r"grad|infer|eval|no_|disable|freez|history|without", re.IGNORECASE)
"""In names of decorators that turn history off in all likelihood."""


def _name_of(decorator: ast.expr) -> str:
    held = decorator.func if isinstance(decorator, ast.Call) else decorator
    return held.attr if isinstance(held, ast.Attribute) else held.id if isinstance(held, ast.Name) else ""


def loop_around(module: Module, call: ast.Call) -> Loop | None:
    """The nearest loop that repeats a call, within its function."""
    for above in module.ancestors(call):
        if isinstance(above, Function | ast.Lambda | ast.ClassDef):
            return None
        if isinstance(above, Loop):
            return above
    return None
