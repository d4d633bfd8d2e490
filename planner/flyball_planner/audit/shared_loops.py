"""Loops that train or only evaluate, as an argument of their function says, and the calls that have them evaluate."""

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from flyball_planner.audit.effects import Effect
from flyball_planner.audit.given import handed_over, hides_arguments
from flyball_planner.audit.loops import Turns
from flyball_planner.audit.module import Function, Module

if TYPE_CHECKING:
    from flyball_planner.audit.project import Project


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
    for caller, call in project.flow.callers(function.name, turns.module):
        if any(each.node is function for each in project.flow.callees(caller, call)) and not hides_arguments(call):
            bound = turns.module.class_of(function) is not None
            given = handed_over(function, call, name, bound=bound)
            if isinstance(given, ast.Constant) and not given.value:
                yield caller, call


def _switch_around(turns: Turns, function: Function, site: ast.AST) -> ast.If | None:
    names = {each.arg for each in _arguments(function)}
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


def _arguments(function: Function) -> list[ast.arg]:
    return [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
