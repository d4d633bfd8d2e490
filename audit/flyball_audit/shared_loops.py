"""Loops that train or only evaluate, as an argument of their function says, and the calls that have them evaluate."""

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from flyball_audit.branches import blocks
from flyball_audit.effects import Effect
from flyball_audit.flow.callees import calls_to, is_static
from flyball_audit.given import default_of, handed_over, hides_arguments, is_off, named_arguments
from flyball_audit.index import nodes_below
from flyball_audit.loops import Kind, Turns
from flyball_audit.module import Function, Module, last_name
from flyball_audit.regions import Region

if TYPE_CHECKING:
    from flyball_audit.project import Project


def switch_of(project: "Project", turns: Turns) -> ast.If | None:
    """The condition on an argument alone around all backward passes of a loop: `if train:`."""
    function = turns.module.function_of(turns.node)
    if function is None or not isinstance(turns.node, ast.For):
        return None
    sites = {
        region.calls[0][1] if region.calls else call
        for region in project.loops.regions(turns)
        for call in region.all(ast.Call)
        if Effect.BACKWARD in project.loops.effects.direct(region.module, call)
    }
    switches = {_switch_around(turns, function, site) for site in sites}
    return switches.pop() if len(switches) == 1 else None


def evaluating_calls(project: "Project", turns: Turns, switch: ast.If) -> Iterator[tuple[Module, ast.Call]]:
    """The project's calls of the loop's function in which the argument says not to train."""
    function, name = turns.module.function_of(turns.node), _asked(switch.test)
    assert function is not None  # noqa: S101  a switch is an argument of it
    assert name is not None  # noqa: S101  as above
    for caller, call in calls_to(project.flow, turns.module, function):
        if name in _named(call) or not hides_arguments(call):
            given = handed_over(function, call, name, bound=_is_bound(turns.module, function))
            if is_off(given):
                yield caller, call


def calls_behind_eval(project: "Project", module: Module) -> Iterator[tuple[ast.Call, Region]]:
    """The calls behind a `model.eval()` of functions that train elsewhere, each with the loop over batches it runs."""
    for switch in module.calls_named("eval"):
        statement = module.statement(switch)
        block = next(blocks(module, statement), []) if isinstance(statement, ast.Expr) and not switch.args else []
        for each in block[block.index(statement) + 1 :] if block else ():
            calls = [part for part in nodes_below(each) if isinstance(part, ast.Call)]
            if any(last_name(call) == "train" for call in calls):
                break
            yield from ((call, loop) for call in calls for loop in _shared_loops(project, module, call))


def _shared_loops(project: "Project", module: Module, call: ast.Call) -> Iterator[Region]:
    """The loops over batches of a function that a call runs, and a training turn too."""
    for each in project.flow.callees(module, call):
        if isinstance(each.node, Function) and each.node in project.loops.trained:
            for loop in each.module.loops:
                turns = Turns(each.module, loop, Kind.EVALUATION)
                if each.module.function_of(loop) is each.node and project.loops.goes_through_batches(turns):
                    yield Region(each.module, loop, calls=((module, call),))


def is_left_to_default(region: Region, call: ast.Call) -> bool:
    """Whether only an argument leads to a region that the call does not hand over: `backprop=lambda loss: None`."""
    inner = next(iter(region.calls[1:]), None)
    if inner is None or not isinstance(inner[1].func, ast.Name):
        return False
    function = inner[0].function_of(inner[1])
    name = inner[1].func.id
    return function is not None and default_of(function, name) is not None and name not in _named(call)


def is_of_evaluation(project: "Project", turns: Turns, node: ast.AST) -> bool:
    """Whether an argument leads to a node of a loop for both that no call which trains hands over, but another does."""
    function, switch = turns.module.function_of(turns.node), switch_of(project, turns)
    trains = _asked(switch.test) if switch is not None else None
    if function is None or trains is None:
        return False
    asked = {*_arguments_around(turns, function, node)} - {trains}
    sites = calls_to(project.flow, turns.module, function) if asked else ()
    calls = [_named(call) for _, call in sites]
    training = [each for each in calls if trains in each and not is_off(each[trains])]
    wanted = {name for name in asked if not any(name in each for each in training)}
    return bool(training) and any(not wanted.isdisjoint(each) for each in calls)


def _arguments_around(turns: Turns, function: Function, node: ast.AST) -> Iterator[str]:
    """The arguments that are off by default of which a node's conditions ask, inside the loop."""
    below = node
    for above in turns.module.ancestors(node):
        if above is turns.node:
            return
        name = _asked(above.test) if isinstance(above, ast.If) and below in above.body else None
        default = default_of(function, name) if name is not None else None
        if name is not None and is_off(default):
            yield name
        below = above


def _named(call: ast.Call) -> dict[str, ast.expr]:
    return {each.arg: each.value for each in call.keywords if each.arg is not None}


def _is_bound(module: Module, function: Function) -> bool:
    return module.class_of(function) is not None and not is_static(function)


def _switch_around(turns: Turns, function: Function, site: ast.AST) -> ast.If | None:
    names = {each.arg for each in named_arguments(function)}
    below = site
    for above in turns.module.ancestors(site):
        if above is turns.node:
            return None
        if isinstance(above, ast.If) and below in above.body and _asked(above.test) in names:
            return above
        below = above
    return None


def _asked(test: ast.expr) -> str | None:
    """The name whose truth, or presence, a condition asks for."""
    if isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.IsNot):
        test = test.left
    return test.id if isinstance(test, ast.Name) else None
