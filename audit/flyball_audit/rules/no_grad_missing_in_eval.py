"""`no-grad-missing-in-eval`: evaluation records a history that nobody differentiates."""

import ast
from collections.abc import Iterator

from flyball_audit.detached import undifferentiated
from flyball_audit.doubts import is_trial
from flyball_audit.evaluating import differentiates_on_condition
from flyball_audit.finding import Severity
from flyball_audit.flow.callees import calls_to
from flyball_audit.flow.values import Tag
from flyball_audit.givers import HOOKS, class_around, givers, is_called_without_history, is_part, may_give
from flyball_audit.held_out import passes_over_held_out
from flyball_audit.index import names_below
from flyball_audit.loops import Kind, Turns
from flyball_audit.module import Function, Loop, last_name
from flyball_audit.names import code_of
from flyball_audit.outcomes import DIFFERENTIATING
from flyball_audit.passes import (
    gives_gradients,
    is_exported,
    is_wanted,
    is_wrapped,
    loop_around,
    recorded_passes,
)
from flyball_audit.phases import recorded_in_all_phases
from flyball_audit.predictors import predictors
from flyball_audit.project import Module, Project
from flyball_audit.regions import Region, Root, reached
from flyball_audit.rule import CERTAIN, LIKELY, SUSPECTED, Match, Rule
from flyball_audit.shared_loops import calls_behind_eval, evaluating_calls, is_left_to_default, switch_of
from flyball_audit.unknown_passes import unknown_passes
from flyball_audit.walks import only_counts

SWITCHING = frozenset({"set_grad_enabled", "requires_grad_"})
"""Calls anywhere in the function that do."""


def look(module: Module, project: Project) -> Iterator[Match]:
    """Evaluation loops whose model calls record history."""
    told = set[ast.AST]()
    for turns in project.loops.evaluation_of(module):
        if turns.hook_of is None and not only_counts(turns.module, turns.node) and not _is_looked_after(project, turns):
            call = None if is_part(project, turns) else next(_recorded(project, turns), None)
            if call is not None:
                told.add(turns.node)
                yield _match(project, turns, call)
    yield from (_unknown(module, loop, call) for loop, call in unknown_passes(project, module) if loop not in told)
    yield from (_giver(module, each.call, each.loop, switched=each.switched) for each in givers(module, project))
    yield from _of_dropped(module, project)
    left = dict.fromkeys(undifferentiated(project, module))
    yield from (_giver(module, call, None, switched=False) for call in left)
    asked = (
        call for call in predictors(project, module) if call not in left and told.isdisjoint(module.ancestors(call))
    )
    yield from (_predicts(module, call) for call in asked)
    yield from (_held_out(module, call) for call in passes_over_held_out(project, module) if call not in left)
    for turns in project.loops.training_of(module):
        switch = switch_of(project, turns)
        evaluation = next(_recorded_evaluations(project, turns, switch), None) if switch is not None else None
        if evaluation is not None:
            yield _shared(turns, *evaluation)
        elif (call := recorded_in_all_phases(project, turns)) is not None:
            yield _of_phases(turns, call)
    for call, region in calls_behind_eval(project, module):
        if region.root not in told and _is_recorded_there(project, module, call, region):
            told.add(region.root)
            yield _behind_eval(module, call)


def _of_dropped(module: Module, project: Project) -> Iterator[Match]:
    """Passes over batches of which nothing is taken: they fill statistics, or what hooks keep."""
    for function in {module.function_of(each) for each in _left(module) if loop_around(module, each) is not None}:
        if function is None or not DIFFERENTIATING.isdisjoint(module.called_in(function)):
            continue
        if not HOOKS.search(function.name) and may_give(project, module, function):
            for call in recorded_passes(project, Region(module, function), doubtful=True):
                loop = loop_around(module, call) if call in _left(module) else None
                if loop is not None and project.loops.goes_through_batches(Turns(module, loop, Kind.EVALUATION)):
                    yield _dropped(module, call, loop)


def _left(module: Module) -> set[ast.Call]:
    """The calls whose result nobody takes: statements by themselves, or what `_` is given."""
    given = (each for each in module.all(ast.Assign) if isinstance(each.targets[0], ast.Name))
    unnamed = (each.value for each in given if getattr(each.targets[0], "id", "") == "_")
    values = (*unnamed, *(each.value for each in module.all(ast.Expr)))
    return {each for each in values if isinstance(each, ast.Call)}


def _dropped(module: Module, call: ast.Call, loop: Loop) -> Match:
    return Match(
        loop,
        f"`{module.quote(call)}` records autograd history that is never used",
        "its result is discarded, and nothing here differentiates it",
        SUSPECTED,
        Severity.NOTE,
    )


def _giver(module: Module, call: ast.Call, loop: Loop | None, *, switched: bool) -> Match:
    certain = switched and loop is not None and not is_wrapped(module, call) and not _is_of_package(module, loop)
    return Match(
        call,
        f"`{module.quote(call)}` records autograd history that is never used",
        "its result is only detached or read on the host",
        LIKELY if certain else SUSPECTED,
        Severity.WARNING if certain else Severity.NOTE,
    )


def _predicts(module: Module, call: ast.Call) -> Match:
    return Match(
        call,
        f"`{module.quote(call)}` predicts with autograd history on",
        "callers get the graph together with the prediction, and nothing here differentiates it",
        SUSPECTED,
        Severity.NOTE,
    )


def _held_out(module: Module, call: ast.Call) -> Match:
    return Match(
        call,
        f"`{module.quote(call)}` records autograd history that is never used",
        "it runs between training steps on validation data, and nothing differentiates its result",
        SUSPECTED,
        Severity.NOTE,
    )


def _unknown(module: Module, loop: Loop, call: ast.Call) -> Match:
    return Match(
        _where(module, loop, call),
        "this evaluation goes through its batches with autograd history on",
        f"`{module.quote(call)}` probably runs a model, and it is not inside `torch.no_grad()`",
        SUSPECTED,
        Severity.NOTE,
    )


def _where(module: Module, loop: Root, call: ast.Call) -> Root | ast.Call:
    """The call that records history; the loop that leads to it, where it stands in another function."""
    return call if loop in module.ancestors(call) else loop


def _is_of_package(module: Module, loop: Loop) -> bool:
    """Whether what is gone through comes of a function in a file of the package that is not at hand.

    A generator may hold `no_grad` while it gives.
    """
    over = None if isinstance(loop, ast.While) else loop.iter
    if not isinstance(over, ast.Call) or not isinstance(over.func, ast.Name):
        return False
    own = (plain for plain in module.imports if isinstance(plain, ast.ImportFrom) and plain.level)
    return any((each.asname or each.name) == over.func.id for plain in own for each in plain.names)


def _recorded_evaluations(project: Project, turns: Turns, switch: ast.If) -> Iterator[tuple[Module, ast.Call]]:
    """The calls that have a training loop evaluate, with history on."""
    inside = [call for region in project.loops.regions(turns) for call in region.all(ast.Call)]
    around = turns.module.calls_of(turns.module.scope_of(turns.node))  # `torch.set_grad_enabled(train)` before the loop
    held = set(ast.walk(switch))
    runs = any(
        each not in held
        and project.flow.value(turns.module, each.func).has(Tag.MODEL)
        and project.flow.records_history(turns.module, each)
        for each in turns.region.all(ast.Call)
    )
    if runs and not any(last_name(each) == "set_grad_enabled" for each in (*inside, *around)):
        calls = evaluating_calls(project, turns, switch)
        yield from ((module, call) for module, call in calls if project.flow.is_recorded(module, call))


def _is_recorded_there(project: Project, module: Module, call: ast.Call, region: Region) -> bool:
    """Whether a loop that a call runs passes batches through a model with history on, and differentiates nothing."""
    inside = [each for each in reached(project, region) if not is_left_to_default(each, call)]
    called = {last_name(each) for part in inside for each in part.all(ast.Call)}
    wanting = DIFFERENTIATING - _ON_CONDITION if differentiates_on_condition(inside) else DIFFERENTIATING
    if not called.isdisjoint(wanting) or not project.flow.is_recorded(module, call):
        return False
    return any(True for part in inside for _ in recorded_passes(project, part, doubtful=True))


def _behind_eval(module: Module, call: ast.Call) -> Match:
    return Match(
        call,
        f"`{module.quote(call)}` evaluates with autograd history on",
        "the model was switched to evaluation and the function also serves training, but nothing turns history off",
        SUSPECTED,
        Severity.NOTE,
    )


def _shared(turns: Turns, caller: Module, call: ast.Call) -> Match:
    return Match(
        turns.node,
        "this loop also evaluates, with autograd history on",
        f"`{caller.quote(call)}` at {caller.path}:{call.lineno} makes it run the model without `backward()`, and "
        "nothing turns history off",
        LIKELY,
        change="Run the forward pass within `with torch.set_grad_enabled(train):`, or call the function within "
        "`torch.no_grad()`.",
    )


def _of_phases(turns: Turns, call: ast.Call) -> Match:
    return Match(
        turns.node,
        "this loop also evaluates, with autograd history on",
        f"in the phases without `backward()`, `{code_of(call.func)}` runs as in training, and nothing turns history "
        "off",
        LIKELY,
        change='Run the forward pass within `with torch.set_grad_enabled(phase == "train"):`.',
    )


def _recorded(project: Project, turns: Turns) -> Iterator[ast.Call]:
    for region in project.loops.regions(turns):
        passes = recorded_passes(project, region)
        left_on = (e for e in passes if not is_wanted(project, region, e) and not is_exported(region, e))
        yield from (each for each in left_on if not gives_gradients(region, each))


def _is_looked_after(project: Project, turns: Turns) -> bool:
    module = turns.module
    function = module.function_of(turns.node)
    if function is not None and module.class_of(function) is not None and HOOKS.search(function.name):
        return True
    scope = function or module.tree
    inside = [call for region in project.loops.regions(turns) for call in region.all(ast.Call)]
    wanting = DIFFERENTIATING - _ON_CONDITION if _shares_step(project, turns) else DIFFERENTIATING
    if any(last_name(each) in wanting for each in inside):
        return True
    if any(last_name(each) in SWITCHING for each in module.calls_of(scope)):
        return True
    if any(_switches_itself(project, turns.module, each) for each in _contexts(turns)):
        return True
    frozen = [attribute for _, attribute in module.stored_attributes(scope) if attribute == "requires_grad"]
    return bool(frozen) or (function is not None and is_called_without_history(project, module, function))


def _shares_step(project: Project, turns: Turns) -> bool:
    """Whether an evaluation hands its batches to a function that trains, too, but not then."""
    return differentiates_on_condition(project.loops.regions(turns))


_ON_CONDITION = frozenset({"backward", "manual_backward"})
"""What a function that trains, too, leaves out where it evaluates."""


def _contexts(turns: Turns) -> Iterator[ast.expr]:
    """The context managers around a loop, within its function."""
    for above in turns.module.ancestors(turns.node):
        if isinstance(above, Function):
            return
        if isinstance(above, ast.With | ast.AsyncWith):
            yield from (each.context_expr for each in above.items)


def _switches_itself(project: Project, module: Module, context: ast.expr) -> bool:
    """Whether one of the project's own contexts sees to which parameters record history."""
    own = project.flow.callees(module, context) if isinstance(context, ast.Call) else ()
    return any(name == "requires_grad" for each in own for _, name in each.module.stored_attributes(each.node))


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
    return over in {"range", "trange"} and any(names_below(loop.target) & names_below(each) for each in slices)


_NUMBERING = frozenset({"enumerate", "zip", "items"})
"""Pairs of these need not be of a batch."""


def _is_run_so(project: Project, turns: Turns) -> bool:
    """Whether the loop is seen to be run as it stands: by the file, a call from among the files, or whoever likes."""
    function = turns.module.function_of(turns.node)
    if function is None or class_around(turns) is None:
        return True
    return next(calls_to(project.flow, turns.module, function), None) is not None


def _match(project: Project, turns: Turns, call: ast.Call) -> Match:
    module, node = turns.module, turns.node
    calls = module.calls_of(module.function_of(node) or module.tree)
    switched = any(last_name(each) == "eval" for each in calls)
    certain = _takes_batches(project, turns) and (switched or _is_run_so(project, turns)) and not is_trial(turns)
    certain = certain and not _shares_step(project, turns)
    return Match(
        _where(module, node, call),
        "this evaluation runs the model with autograd history on",
        f"`{module.quote(call)}` is not inside `torch.no_grad()`, and nothing calls `backward()`"
        if call in module.all(ast.Call)
        else "the model is called outside `torch.no_grad()`, and nothing calls `backward()`",
        (CERTAIN if switched else LIKELY) if certain else SUSPECTED,
        Severity.WARNING if certain else Severity.NOTE,
    )


RULE = Rule(
    id="no-grad-missing-in-eval",
    severity=Severity.WARNING,
    summary="An evaluation loop records autograd history.",
    cause="Without `torch.no_grad()`, each forward pass keeps its activations until its outputs are freed. This "
    "takes more memory and allows only a smaller batch.",
    change="Decorate the function with `@torch.inference_mode()`, or put the loop within `with torch.no_grad():`.",
    expected="mainly memory, and so a larger batch: about 2 GB instead of 7 GB in the evaluation of one network; "
    "some time too, no published figure",
    source="https://github.com/facebookresearch/fairchem/pull/199; PyTorch's tuning guide, “Disable gradient "
    "calculation for validation or inference”: https://pytorch.org/tutorials/recipes/recipes/tuning_guide.html",
    before="model.eval()\nfor x, y in loader:\n    correct += (model(x).argmax(1) == y).sum()",
    after="model.eval()\nwith torch.no_grad():\n    for x, y in loader:\n        correct += (model(x).argmax(1) "
    "== y).sum()",
    look=look,
)
