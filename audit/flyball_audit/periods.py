"""Periods that a setting gives: `(step + 1) % args.n_critic == 0` is each step where that is one."""

import ast
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from flyball_audit.effects import Effect
from flyball_audit.given import argument
from flyball_audit.guards import Guard, Rarity, guards
from flyball_audit.index import nodes_below
from flyball_audit.module import Module
from flyball_audit.regions import Region

if TYPE_CHECKING:
    from flyball_audit.project import Project


def may_be_each_turn(project: "Project", regions: Sequence[Region], region: Region, node: ast.AST) -> bool:
    """Whether every period around a node is a setting that is one by default, or a period of training itself.

    `regions` are all that a turn runs.
    """
    seldom = [each for each in region.guards(node) if each.rarity in {Rarity.PERIODIC, Rarity.RARE}]
    return bool(seldom) and all(
        _may_be_each(project, region, each) or _thins_out_steps(project, regions, each) for each in seldom
    )


def _thins_out_steps(project: "Project", regions: Sequence[Region], guard: Guard) -> bool:
    """Whether all that trains where a condition stands is behind it: `if step % every: return`, and then the step.

    Where gradients are taken there, it is they that count: of several one step may be made behind them.
    """
    effects = project.loops.effects
    for region in regions:
        if region.holds(guard.test):
            found = {call: effects.of_call(region.module, call) for call in region.all(ast.Call)}
            passes = [call for call, does in found.items() if Effect.BACKWARD in does]
            steps = passes or [call for call, does in found.items() if does]
            around = [{each.test for each in guards(region.module, call, region.root)} for call in steps]
            return bool(steps) and all(guard.test in each for each in around)
    return False


def _may_be_each(project: "Project", region: Region, guard: Guard) -> bool:
    above = region.module.parent(guard.test)
    trains = isinstance(above, ast.If) and _trains(project, region.module, above)
    if _is_short(guard.test):
        return trains
    period = _period(region.module, guard.test)
    if period is None:
        return False
    known = (each for module in project.connected(region.module) for each in _defaults(module, period))
    return trains or 1 in known


_SHORT = 4


def _is_short(test: ast.AST) -> bool:
    """Whether every few turns are meant: two networks that take turns, `step % 2 == 0`."""
    left = test.left if isinstance(test, ast.Compare) else test.operand if isinstance(test, ast.UnaryOp) else test
    if not (isinstance(left, ast.BinOp) and isinstance(left.op, ast.Mod) and isinstance(left.right, ast.Constant)):
        return False
    return isinstance(left.right.value, int) and left.right.value <= _SHORT


def _period(module: Module, test: ast.AST) -> str | None:
    """The last part of the name that a condition takes a remainder by; None if it is no such condition."""
    said = (test, *_given(module, test)) if isinstance(test, ast.Name) else (test,)
    parts = (part for each in said for part in nodes_below(each))
    found = [each.right for each in parts if isinstance(each, ast.BinOp) and isinstance(each.op, ast.Mod)]
    if len(found) != 1:
        return None
    named = found[0]
    return named.attr if isinstance(named, ast.Attribute) else named.id if isinstance(named, ast.Name) else None


def _given(module: Module, test: ast.Name) -> Iterator[ast.expr]:
    """What a flag was given in its function: `due = not step % args.every`."""
    for each in module.within(module.scope_of(test), ast.Assign):
        if any(isinstance(target, ast.Name) and target.id == test.id for target in each.targets):
            yield each.value


def _defaults(module: Module, name: str) -> Iterator[object]:
    """The constants that a file gives a setting of that name: of a command line, a function, a class, a table."""
    if name not in module.source.text:
        return
    for call in module.calls_named("add_argument"):
        said = [each.value for each in call.args if isinstance(each, ast.Constant)]
        if any(str(each).lstrip("-").replace("-", "_") == name for each in said):
            yield from _constant(argument(call, "default"))
    for function in module.functions:
        for argued, default in _arguments(function.args):
            if argued.arg == name:
                yield from _constant(default)
    for targets, value in _assigned(module):
        if any(isinstance(each, ast.Name) and each.id == name for each in targets):
            yield from _constant(value)
    for keyword in module.all(ast.keyword):
        if keyword.arg == name:
            yield from _constant(keyword.value)


def _assigned(module: Module) -> Iterator[tuple[list[ast.expr], ast.expr | None]]:
    for plain in module.all(ast.Assign):
        yield plain.targets, plain.value
    for annotated in module.all(ast.AnnAssign):
        yield [annotated.target], annotated.value


def _arguments(given: ast.arguments) -> Iterator[tuple[ast.arg, ast.expr | None]]:
    plain = [*given.posonlyargs, *given.args]
    yield from zip(reversed(plain), reversed(given.defaults), strict=False)
    yield from zip(given.kwonlyargs, given.kw_defaults, strict=True)


def _constant(node: ast.expr | None) -> Iterator[object]:
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        yield node.value


def _trains(project: "Project", module: Module, block: ast.If) -> bool:
    """Whether what a condition guards differentiates, or steps: nobody reports there."""
    calls = (each for statement in block.body for each in ast.walk(statement) if isinstance(each, ast.Call))
    return any(project.loops.effects.direct(module, each) for each in calls)
