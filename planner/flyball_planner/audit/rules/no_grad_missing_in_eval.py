"""`no-grad-missing-in-eval`: evaluation records a history that nobody differentiates."""

import ast
import re
from collections.abc import Iterator

from flyball_planner.audit.definition import Definition
from flyball_planner.audit.doubts import is_trial
from flyball_planner.audit.finding import Severity
from flyball_planner.audit.flow.values import UNKNOWN, Tag, Value
from flyball_planner.audit.loops import Turns, fetches_batches, model_called
from flyball_planner.audit.module import Function, last_name
from flyball_planner.audit.project import Module, Project
from flyball_planner.audit.regions import Region
from flyball_planner.audit.rule import CERTAIN, LIKELY, SUSPECTED, Match, Rule
from flyball_planner.audit.shared_loops import evaluating_calls, switch_of

DIFFERENTIATING = frozenset(
    {"backward", "grad", "requires_grad_", "manual_backward", "set_grad_enabled", "vjp", "jacobian"}
)
"""Calls in the loop that say that history is wanted, or looked after."""

SWITCHING = frozenset({"set_grad_enabled", "requires_grad_"})
"""Calls anywhere in the function that do."""

WITHOUT_HISTORY = frozenset({
    "generate", "predict", "encode", "sample", "eval", "train", "to", "step", "zero_grad", "parameters", "state_dict",
    "load_state_dict", "requires_grad_", "modules", "children",
})  # fmt: skip
"""Methods of models that libraries run without history themselves, or that run nothing."""

HOOKS = re.compile(
    r"^(on_)?((validation|test|predict)_(step|epoch|batch|start|end)|(val|valid|eval|evaluation)_(step|batch))|^forward"
)
"""Functions that a framework calls without history, and parts of a forward pass, whose caller decides."""

PLAIN_DECORATORS = frozenset({
    "staticmethod", "classmethod", "property", "cached_property", "override", "overload", "cache", "lru_cache", "wraps",
    "compile", "script", "abstractmethod", "contextmanager", "setter", "getter",
})  # fmt: skip
"""Leave autograd as it is. What others do is unknown: a project's own may well turn history off."""


def look(module: Module, project: Project) -> Iterator[Match]:
    """Evaluation loops whose model calls record history."""
    for turns in project.loops.evaluation_of(module):
        if turns.hook_of is None and not _only_counts(turns) and not _is_looked_after(project, turns):
            call = None if _is_part(project, turns) else next(_recorded(project, turns), None)
            if call is not None:
                yield _match(project, turns, call)
    for turns in project.loops.training_of(module):
        switch = switch_of(project, turns)
        evaluation = next(_recorded_evaluations(project, turns, switch), None) if switch is not None else None
        if evaluation is not None:
            yield _shared(turns, *evaluation)


def _is_part(project: Project, turns: Turns) -> bool:
    """Whether a module goes through parts of itself: whoever calls it decides on history."""
    holder = _class_around(turns)
    is_module = holder is not None and project.flow.is_module(Definition(turns.module, holder))
    return is_module and not project.loops.goes_through_batches(turns)


def _class_around(turns: Turns) -> ast.ClassDef | None:
    function = turns.module.function_of(turns.node)
    return turns.module.class_of(function) if function is not None else None


def _only_counts(turns: Turns) -> bool:
    """Whether a loop over numbers takes no batches by them: tokens, trials; who calls it decides on history."""
    loop = turns.node
    if not isinstance(loop, ast.For) or not isinstance(loop.iter, ast.Call) or not isinstance(loop.target, ast.Name):
        return False
    places = (each.slice for each in turns.region.all(ast.Subscript))
    used = any(loop.target.id in _names(each) for each in places)
    return last_name(loop.iter) in {"range", "trange"} and not used and not fetches_batches(turns.module, loop)


def _recorded_evaluations(project: Project, turns: Turns, switch: ast.If) -> Iterator[tuple[Module, ast.Call]]:
    """The calls that have a training loop evaluate, with history on."""
    inside = [call for region in project.loops.regions(turns) for call in region.all(ast.Call)]
    held = set(ast.walk(switch))
    runs = any(
        each not in held
        and project.flow.value(turns.module, each.func).has(Tag.MODEL)
        and project.flow.records_history(turns.module, each)
        for each in turns.region.all(ast.Call)
    )
    if runs and not any(last_name(each) == "set_grad_enabled" for each in inside):
        calls = evaluating_calls(project, turns, switch)
        yield from ((module, call) for module, call in calls if project.flow.is_recorded(module, call))


def _shared(turns: Turns, caller: Module, call: ast.Call) -> Match:
    return Match(
        turns.node,
        "this loop evaluates too, with autograd's history on",
        f"`{caller.quote(call)}` at {caller.path}:{call.lineno} has it run the model without `backward()`, and nothing "
        "turns history off",
        LIKELY,
        change="Put the forward pass into `with torch.set_grad_enabled(train):`, or call the function within "
        "`torch.no_grad()`.",
    )


def _recorded(project: Project, turns: Turns) -> Iterator[ast.Call]:
    for region in project.loops.regions(turns):
        for call in region.all(ast.Call):
            value = project.flow.value(region.module, model_called(call))
            runs = value.has(Tag.MODEL) and not value.has(Tag.CRITERION) and last_name(call) not in WITHOUT_HISTORY
            learns = value.definition is None or not project.flow.learns_nothing(value.definition)
            if runs and learns and not _is_predictor(project, region, call, value) and _records(project, region, call):
                yield call


def _is_predictor(project: Project, region: Region, call: ast.Call, model: Value) -> bool:
    """Whether what is called wraps a network: modules take tensors, while pictures and arrays need a predictor."""
    first = project.flow.value(region.module, call.args[0]) if call.args else UNKNOWN
    from_host = first.has(Tag.HOST) and not first.has(Tag.TENSOR) and first.literal is None
    return from_host or _calls_its_own_way(project, model)


def _calls_its_own_way(project: Project, model: Value) -> bool:
    """Whether a model's class says itself what calling it does: that may run without history."""
    return model.definition is not None and project.flow.method(model.definition, "__call__") is not None


def _records(project: Project, region: Region, call: ast.Call) -> bool:
    """Neither the call nor any of those that lead to it stands in `no_grad`."""
    steps = ((region.module, call), *region.calls)
    return all(project.flow.records_history(module, each) and not _is_wrapped(module, each) for module, each in steps)


def _is_wrapped(module: Module, call: ast.Call) -> bool:
    """Whether the function around a call is in the hands of a decorator that is not known."""
    decorators = getattr(module.function_of(call), "decorator_list", [])
    return any(_name_of(each) not in PLAIN_DECORATORS for each in decorators)


def _name_of(decorator: ast.expr) -> str:
    held = decorator.func if isinstance(decorator, ast.Call) else decorator
    return held.attr if isinstance(held, ast.Attribute) else held.id if isinstance(held, ast.Name) else ""


def _is_looked_after(project: Project, turns: Turns) -> bool:
    module = turns.module
    function = module.function_of(turns.node)
    if function is not None and module.class_of(function) is not None and HOOKS.search(function.name):
        return True
    scope = function or module.tree
    inside = [call for region in project.loops.regions(turns) for call in region.all(ast.Call)]
    if any(last_name(each) in DIFFERENTIATING for each in inside):
        return True
    if any(last_name(each) in SWITCHING for each in module.calls_of(scope)):
        return True
    frozen = [attribute for _, attribute in module.stored_attributes(scope) if attribute == "requires_grad"]
    return bool(frozen) or (function is not None and _is_called_without_history(project, module, function))


def _is_called_without_history(project: Project, module: Module, function: Function) -> bool:
    """Whether all callers turn history off, or a framework does before it calls its hook."""
    by_hook = (each for each in project.loops.evaluation_of(module) if each.hook_of is not None)
    hooked = any(region.root is function for each in by_hook for region in project.loops.regions(each))
    return hooked or project.flow.is_called_without_history(module, function)


def _takes_batches(project: Project, turns: Turns) -> bool:
    """Whether each turn is for certain about one batch: of what is gone through, in pairs perhaps, or a slice."""
    if project.loops.goes_through_batches(turns):
        return True
    loop = turns.node
    if not isinstance(loop, ast.For):
        return False
    over = last_name(loop.iter) if isinstance(loop.iter, ast.Call) else ""
    if isinstance(loop.target, ast.Tuple):
        return over not in _NUMBERING
    slices = (each.slice for each in turns.region.all(ast.Subscript) if isinstance(each.slice, ast.Slice))
    return over in {"range", "trange"} and any(_names(loop.target) & _names(each) for each in slices)


_NUMBERING = frozenset({"enumerate", "zip", "items"})
"""Pairs of these need not be of a batch."""


def _names(node: ast.AST) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}


def _is_run_so(project: Project, turns: Turns) -> bool:
    """Whether the loop is seen to be run as it stands: by the file, a call from among the files, or whoever likes."""
    function = turns.module.function_of(turns.node)
    if function is None or _class_around(turns) is None:
        return True
    callers = project.flow.callers(function.name, turns.module)
    return any(each.node is function for caller, call in callers for each in project.flow.callees(caller, call))


def _match(project: Project, turns: Turns, call: ast.Call) -> Match:
    module, node = turns.module, turns.node
    calls = module.calls_of(module.function_of(node) or module.tree)
    switched = any(last_name(each) == "eval" for each in calls)
    certain = _takes_batches(project, turns) and (switched or _is_run_so(project, turns)) and not is_trial(turns)
    return Match(
        node,
        "this evaluation runs the model with autograd's history on",
        f"`{module.quote(call)}` stands in no `torch.no_grad()`, and nothing calls `backward()`"
        if call in module.all(ast.Call)
        else "the model is called without `torch.no_grad()`, and nothing calls `backward()`",
        (CERTAIN if switched else LIKELY) if certain else SUSPECTED,
        Severity.WARNING if certain else Severity.NOTE,
    )


RULE = Rule(
    id="no-grad-missing-in-eval",
    severity=Severity.WARNING,
    summary="An evaluation loop records autograd's history.",
    cause="Without `torch.no_grad()` each forward keeps its activations until the outputs are let go: more "
    "memory, and a smaller batch.",
    change="Decorate the function with `@torch.inference_mode()`, or put the loop into `with torch.no_grad():`.",
    expected="memory above all, and so a larger batch: about 2 instead of 7 GB while one network was evaluated; some "
    "time too, no published figure",
    source="https://github.com/facebookresearch/fairchem/pull/199; PyTorch's tuning guide, “Disable gradient "
    "calculation for validation or inference”: https://pytorch.org/tutorials/recipes/recipes/tuning_guide.html",
    before="model.eval()\nfor x, y in loader:\n    correct += (model(x).argmax(1) == y).sum()",
    after="model.eval()\nwith torch.no_grad():\n    for x, y in loader:\n        correct += (model(x).argmax(1) "
    "== y).sum()",
    look=look,
)
