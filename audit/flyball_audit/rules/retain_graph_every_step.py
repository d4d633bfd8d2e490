"""`retain-graph-every-step`: a graph is kept for a second backward pass that never comes."""

import ast
import re
from collections.abc import Iterator, Sequence
from itertools import combinations

from flyball_audit.branches import is_exclusive
from flyball_audit.effects import Effect
from flyball_audit.finding import Action, Change, Edit, Gain, Severity, Time
from flyball_audit.flow.values import Tag
from flyball_audit.given import argument, is_constant
from flyball_audit.loops import Turns
from flyball_audit.module import Function, last_name
from flyball_audit.project import Module, Project
from flyball_audit.regions import Region
from flyball_audit.rule import LIKELY, SUSPECTED, Match, Rule
from flyball_audit.turn_about import of_their_own

Site = tuple[Region, ast.Call]
"""A call and where it stands."""


def look(module: Module, project: Project) -> Iterator[Match]:
    """Retained graphs in training loops that differentiate once a turn, and in layers that make their own."""
    yield from _of_own_graphs(module)
    for turns in project.loops.training_of(module):
        alone = [*_only_backward(project, turns)]
        for region, call in alone:
            if is_constant(argument(call, "retain_graph"), True):
                yield _match(turns, region, call)
        if not alone:
            of_branches = [*_of_branches(project, turns)]
            yield from of_branches
            yield from _of_last(project, turns, {each.node for each in of_branches})


def _match(turns: Turns, region: Region, call: ast.Call) -> Match:
    home, carried = region.module, _carried(turns.region, call) if not region.calls else None
    once = f"the loop at {turns.module.path}:{turns.node.lineno} calls `backward()` once per iteration"
    return Match(
        call,
        f"`{home.quote(call)}` keeps the graph for another backward pass",
        once if carried is None else f"{once}; but `{carried}` is computed from its value in the previous iteration",
        LIKELY if carried is None else SUSPECTED,
        None if carried is None else Severity.NOTE,
        module=home,
        edit=Edit((Change(Action.DROP_ARGUMENT, home.span(call), name="retain_graph"),)) if carried is None else None,
    )


def _carried(region: Region, call: ast.Call) -> str | None:
    """The variable on the way to a loss that a turn makes of its own former value, history and all."""
    names_in = region.module.names_in
    fresh = names_in(region.root.target) if isinstance(region.root, ast.For | ast.AsyncFor) else frozenset[str]()
    wanted, given = set(names_in(call.func)), set(fresh)
    for each in sorted(region.all(ast.Assign), key=lambda each: -each.lineno):
        if wanted & {name for target in each.targets for name in names_in(target)} and each.lineno < call.lineno:
            wanted |= names_in(each.value)
    for each in sorted(region.all(ast.Assign), key=lambda each: each.lineno):
        stored = {target.id for target in each.targets if isinstance(target, ast.Name)}
        again = (stored & names_in(each.value) & wanted) - given
        if again and not any(
            isinstance(part, ast.Attribute) and part.attr in _LEAVING for part in ast.walk(each.value)
        ):
            return min(again)
        given |= stored
    return None


_LEAVING = frozenset({"detach", "data", "no_grad"})


def _of_branches(project: Project, turns: Turns) -> Iterator[Match]:
    """Graphs of updates that take turns, each of its own forward pass."""
    for call in of_their_own(project, turns) if "retain_graph" in turns.module.source.text else ():
        if is_constant(argument(call, "retain_graph"), True):
            yield Match(
                call,
                f"`{turns.module.quote(call)}` keeps the graph for another backward pass",
                "this branch creates what is differentiated, and nothing outside the branch uses it",
                SUSPECTED,
                Severity.NOTE,
            )


def _of_last(project: Project, turns: Turns, told: set[ast.AST]) -> Iterator[Match]:
    """The graph of a turn's last backward pass, behind which nobody differentiates."""
    own: list[ast.Call] = []
    others: list[ast.Call] = []
    for region in project.loops.regions(turns) if "retain_graph" in turns.module.source.text else ():
        for call in region.all(ast.Call):
            if _differentiates(project, region.module, call):
                outermost = region.calls[0][1] if region.calls else call
                (others if region.calls or region.nesting(call) or region.guards(call) else own).append(outermost)
    last = max(own, key=lambda each: each.lineno, default=None)
    if last is None or last in told or len(own) < SEVERAL or any(each.lineno >= last.lineno for each in others):
        return
    alone = last_name(last) in _PLAIN and not _is_handed_history(project, turns, last)
    if alone and is_constant(argument(last, "retain_graph"), True) and _carried(turns.region, last) is None:
        yield Match(
            last,
            f"`{turns.module.quote(last)}` keeps the graph for another backward pass",
            "it is the last backward pass of the iteration",
            SUSPECTED,
            Severity.NOTE,
        )


SEVERAL = 2


_PLAIN = frozenset({"backward", "manual_backward"})


def _is_handed_history(project: Project, turns: Turns, last: ast.Call) -> bool:
    """Whether somebody is handed what carries history behind a backward pass: he may differentiate it."""
    behind = (each for each in turns.region.all(ast.Call) if each.lineno > last.lineno)
    handed = (part for each in behind for part in each.args if last_name(each) not in _TAKING)
    return any(project.flow.value(turns.module, each).has(Tag.GRAPH) for each in handed)


_TAKING = frozenset({"append", "print", "float", "item", "add_scalar", "log", "update", "format", "info", "detach"})
"""Calls that only look at what they are handed, or keep it."""


def _differentiates(project: Project, module: Module, call: ast.Call) -> bool:
    backward = Effect.BACKWARD in project.loops.effects.direct(module, call)
    return backward or module.qualified(call.func) == "torch.autograd.grad" or _hands_on(call)


def _of_own_graphs(module: Module) -> Iterator[Match]:
    """Graphs that a function makes where history is off around it, as reversible layers do, and differentiates once."""
    for call in module.calls_named("backward") if "enable_grad" in module.source.text else ():
        function, graph = module.function_of(call), _differentiated(module, call)
        if function is None or not isinstance(graph, ast.Name) or not is_constant(argument(call, "retain_graph"), True):
            continue
        around = (each for each in module.ancestors(call) if isinstance(each, ast.With))
        block = next((each for each in around if _records(module, each)), None)
        if block is not None and _is_differentiated_once(module, block, graph.id):
            yield Match(
                call,
                f"`{module.quote(call)}` keeps the graph for another backward pass",
                f"`{graph.id}` is created and differentiated only once, in the block at {module.path}:{block.lineno}",
                SUSPECTED,
                Severity.NOTE,
            )


def _differentiated(module: Module, call: ast.Call) -> ast.expr | None:
    """What a backward pass begins with: `y.backward(…)`, `torch.autograd.backward(y, …)`."""
    if module.qualified(call.func) == "torch.autograd.backward":
        return call.args[0] if call.args else None
    return call.func.value if isinstance(call.func, ast.Attribute) else None


def _records(module: Module, node: ast.With) -> bool:
    contexts = (each.context_expr for each in node.items)
    return any(module.qualified(each.func) in _ENABLING for each in contexts if isinstance(each, ast.Call))


_ENABLING = frozenset({"torch.enable_grad", "torch.autograd.enable_grad"})


def _is_differentiated_once(module: Module, block: ast.With, name: str) -> bool:
    """Whether a block makes a variable, and differentiates nothing else, nor anybody that variable behind it."""
    made = any(
        isinstance(each, ast.Assign) and any(ast.unparse(t) == name for t in each.targets) for each in block.body
    )
    function = module.function_of(block)
    inside = set(ast.walk(block))
    calls = [each for each in (*module.calls_named("backward"), *module.calls_named("grad"))
             if module.function_of(each) is function and (each in inside or name in module.names_in(each))]  # fmt: skip
    return made and len(calls) == 1


def _only_backward(project: Project, turns: Turns) -> Sequence[Site]:
    """The one call that differentiates in a turn, or those of which a turn runs one; none if there are several."""
    regions = project.loops.regions(turns)
    if not any("retain_graph" in region.module.source.text for region in regions):
        return ()
    found: list[Site] = []
    gradients: list[Site] = []
    for region in regions:
        for call in region.all(ast.Call):
            if region.module.qualified(call.func) == "torch.autograd.grad":
                gradients.append((region, call))
            elif Effect.BACKWARD in project.loops.effects.direct(region.module, call) or _hands_on(call):
                found.append((region, call))
    outer = [site for site in found if not {call for _, call in site[0].calls} & {call for _, call in found}]
    alone = all(_excludes(first, second) for first, second in combinations(outer, 2))
    plain = all(
        last_name(call) in {"backward", "manual_backward"} and not region.nesting(call) for region, call in outer
    )
    before = all(_comes_before(each, site) for each in gradients for site in outer)
    return [each for each in outer if not _is_of_callers(*each)] if alone and plain and before else ()


def _excludes(first: Site, second: Site) -> bool:
    """Whether the calls that lead to two places part in both arms of a condition."""
    parting = _parting(first, second)
    return parting is not None and is_exclusive(*parting)


def _comes_before(first: Site, second: Site) -> bool:
    """Whether a penalty's gradient is taken by a call that stands before: it keeps what it needs by itself."""
    parting = _parting(first, second)
    return parting is not None and bool(first[0].calls) and parting[1].lineno < parting[2].lineno


def _parting(first: Site, second: Site) -> tuple[Module, ast.Call, ast.Call] | None:
    """The two calls of one file by which the ways to two places part."""
    paths = [(*region.calls, (region.module, call)) for region, call in (first, second)]
    parting = next((pair for pair in zip(*paths, strict=False) if pair[0] != pair[1]), None)
    if parting is None:
        return None
    (module, here), (other, there) = parting
    return (module, here, there) if module is other else None


def _is_of_callers(region: Region, call: ast.Call) -> bool:
    """Whether the graph is that of an argument: who handed it over may differentiate it too."""
    function = region.root
    if not isinstance(function, Function):
        return False
    names_in = region.module.names_in
    known = set(names_in(call.func))
    for assigned in sorted(region.all(ast.Assign), key=lambda each: -each.lineno):
        if known & {name for target in assigned.targets for name in names_in(target)}:
            known |= names_in(assigned.value)
    handed = {each.arg for each in ast.walk(function.args) if isinstance(each, ast.arg)}
    return any(not _WITHOUT_HISTORY.search(each) for each in known & handed)


_WITHOUT_HISTORY = re.compile(
    r"^self$|model|(^|_)net(work)?$|optim|(^|_)opt$|scaler|criterion|loss_(fn|func\w*)$|accelerator|engine|fabric|config|^args$"
    r"|batch|(^|_)(data|inputs?|targets?|labels?|samples?|images?|mask)$|noise|(^|_)(depth|alpha|beta|gamma|lr|step|epoch)$",
    re.IGNORECASE,
)
"""Names of what is handed to a step and has no graph of its own: its batch, and what it is trained with."""


def _hands_on(call: ast.Call) -> bool:
    """Whether a call differentiates by the project's own ways: `optimizer.step(loss, retain_graph=True)`."""
    return any(each.arg == "retain_graph" for each in call.keywords)


RULE = Rule(
    id="retain-graph-every-step",
    severity=Severity.WARNING,
    summary="The graph is retained although it is differentiated only once.",
    cause="The activations stay until the loss is assigned again in the next forward pass, so the peak holds the "
    "activations of two steps.",
    change="Remove `retain_graph`. If PyTorch then reports a second backward pass, a tensor of the previous step is "
    "still in the graph: detach it there.",
    expected="up to half of the memory for activations, and so room for a larger batch",
    source="number of kept activations; PyTorch's documentation: in nearly all cases it is not needed, "
    "https://docs.pytorch.org/docs/stable/generated/torch.Tensor.backward.html",
    before="loss.backward(retain_graph=True)",
    after="loss.backward()",
    look=look,
    gain=Gain(Time.MEMORY, 1.0),
)
