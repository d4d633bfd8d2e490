"""Find out whether a backward pass of the same iteration frees the graph of a value that is kept.

`backward()` frees the tensors that autograd saved for it. The graph's nodes stay as long as anything refers to them.
"""

import ast
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum

from flyball_audit.effects import Effect
from flyball_audit.flow.values import Tag
from flyball_audit.given import argument, handed_over, is_off
from flyball_audit.guards import Rarity
from flyball_audit.index import nodes_below
from flyball_audit.loops import Turns
from flyball_audit.module import Function, last_name
from flyball_audit.names import code_of
from flyball_audit.project import Project
from flyball_audit.regions import Region


class GraphState(Enum):
    """State of a kept value's graph at the end of an iteration."""

    FREED = "a backward pass has freed the saved tensors"
    KEPT = "no backward pass has freed the saved tensors"
    UNKNOWN = "no backward pass is among the files"


Names = dict[ast.AST, set[str]]
"""By the root of a region: the variables and attributes whose graphs a backward pass frees."""

_GRAPHS_OFTEN = frozenset({Rarity.CONFIG, Rarity.ALWAYS})
"""Conditions that hold in every iteration of a run, or in none."""

_MOST_ROUNDS = 10
"""Rounds of passing names between functions: one for each call on the longest way."""


def graph_of(project: Project, turns: Turns, region: Region, statement: ast.stmt, value: ast.expr) -> GraphState:
    """Return the state of the graph of a value that a statement keeps."""
    regions = project.loops.regions(turns)
    passes = [(each, call) for each in regions for call in _backward_passes(project, each)]
    automatic = turns.hook_of is not None and not passes  # the framework differentiates what the hook returns
    if not passes and not (automatic and next(turns.region.all(ast.Return), None) is not None):
        return GraphState.UNKNOWN
    names: Names = {each.root: set() for each in regions}
    for home, call in passes:
        if _frees(call) and _runs_as_often(home, call, region, statement):
            names[home.root] |= home.module.names_in(call)
    if automatic:
        for returned in turns.region.all(ast.Return):
            names[turns.node] |= turns.module.names_in(returned)
    _spread(regions, names)
    return GraphState.FREED if _is_freed(project, regions, names, region, value) else GraphState.KEPT


def _backward_passes(project: Project, region: Region) -> Iterator[ast.Call]:
    for call in region.all(ast.Call):
        by_name = region.module.qualified(call.func) == "torch.autograd.grad"
        if by_name or Effect.BACKWARD in project.loops.effects.direct(region.module, call):
            yield call


def _frees(call: ast.Call) -> bool:
    """Return True unless the call asks autograd to keep the graph."""
    given = [argument(call, name) for name in ("retain_graph", "create_graph")]
    return all(each is None or is_off(each) for each in given)


def _runs_as_often(home: Region, call: ast.Call, region: Region, statement: ast.stmt) -> bool:
    """Return True if every iteration that runs the statement runs the backward pass too."""
    around = {each.test for each in region.guards(statement)}
    return all(each.rarity in _GRAPHS_OFTEN or each.test in around for each in home.guards(call))


def _spread(regions: Iterable[Region], names: Names) -> None:
    """Add the names that share a graph with a freed one: through assignments, arguments and returned values."""
    regions = list(regions)
    flows = {each.root: list(_flows(each)) for each in regions}
    called = [each for each in regions if each.calls and isinstance(each.root, Function)]
    for _ in range(_MOST_ROUNDS):
        before = sum(map(len, names.values()))
        for each in regions:
            _spread_inside(flows[each.root], names[each.root])
        for each in called:
            _spread_over_call(regions, each, names)
        if sum(map(len, names.values())) == before:
            return


def _spread_inside(flows: Iterable[tuple[set[str], frozenset[str]]], names: set[str]) -> None:
    while True:
        more = {name for targets, given in flows if targets & names for name in given} - names
        if not more:
            return
        names |= more


def _flows(region: Region) -> Iterator[tuple[set[str], frozenset[str]]]:
    """Yield which names receive which: of assignments, loops, context managers and lists that grow."""
    names_in = region.module.names_in
    for assigned in region.all(ast.Assign):
        yield {name for each in assigned.targets for name in _stored(each)}, names_in(assigned.value)
    for added in region.all(ast.AugAssign):
        yield _stored(added.target), names_in(added.value)
    for loop in region.all(ast.For):
        yield _stored(loop.target), names_in(loop.iter)
    for item in region.all(ast.withitem):
        if item.optional_vars is not None:
            yield _stored(item.optional_vars), names_in(item.context_expr)
    for call in region.all(ast.Call):
        if last_name(call) in {"append", "extend", "insert"} and isinstance(call.func, ast.Attribute):
            yield _stored(call.func.value), frozenset(name for each in call.args for name in names_in(each))


def _stored(target: ast.expr) -> set[str]:
    """Return the variables and attributes that an assignment's target changes."""
    parts = target.elts if isinstance(target, ast.Tuple | ast.List) else [target]
    return {name for each in parts if (name := _root(each)) is not None}


def _root(node: ast.expr) -> str | None:
    """Return the variable, or the attribute, that holds a value: `sums` of `sums["total"]`."""
    while isinstance(node, ast.Subscript | ast.Starred):
        node = node.value
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else None


def _spread_over_call(regions: Iterable[Region], callee: Region, names: Names) -> None:
    """Connect a function's arguments and returned values with the names of its caller."""
    module, call = callee.calls[-1]
    function = callee.root
    around = [*module.ancestors(call)]
    callers = [each for each in regions if each.module is module and each.root in around]
    caller = min(callers, key=lambda each: around.index(each.root), default=None)
    if caller is None or not isinstance(function, Function):
        return
    above, below = names[caller.root], names[function]
    bound = callee.module.class_of(function) is not None
    for each in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs):
        given = handed_over(function, call, each.arg, bound=bound)
        if given is None:
            continue
        if _root(given) in above:
            below.add(each.arg)
        if each.arg in below:
            above |= module.names_in(given)
    assigned = module.parent(call)
    if isinstance(assigned, ast.Assign) and len(assigned.targets) == 1:
        for target, returned in _returned(callee, assigned.targets[0]):
            if _root(returned) in below:
                above |= _stored(target)
            if _stored(target) & above:
                below |= callee.module.names_in(returned)


def _returned(callee: Region, target: ast.expr) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Yield each part of a target with what the function returns for it."""
    for each in callee.all(ast.Return):
        if isinstance(target, ast.Tuple) and isinstance(each.value, ast.Tuple):
            yield from zip(target.elts, each.value.elts, strict=False)
        elif each.value is not None:
            yield target, each.value


def _is_freed(
    project: Project, regions: Iterable[Region], names: Mapping[ast.AST, set[str]], region: Region, node: ast.expr
) -> bool:
    """Return True if all parts of an expression that carry history belong to graphs that a backward pass frees."""

    def all_freed(parts: Iterable[ast.expr]) -> bool:
        carrying = [each for each in parts if _carries(project, region, each)]
        return bool(carrying) and all(_is_freed(project, regions, names, region, each) for each in carrying)

    if isinstance(node, ast.Name | ast.Attribute | ast.Subscript):
        return _root(node) in names[region.root]
    if not isinstance(node, ast.Call):
        return all_freed(each for each in ast.iter_child_nodes(node) if isinstance(each, ast.expr))
    if project.flow.value(region.module, node.func).has(Tag.MODEL):
        return False  # a forward pass of its own
    parts = [*node.args, *(each.value for each in node.keywords)]
    if isinstance(node.func, ast.Attribute):
        parts.append(node.func.value)
    own = [each for each in regions if each.calls and each.calls[-1][1] is node]
    for callee in own:
        given = [each.value for each in callee.all(ast.Return) if each.value is not None]
        if given and all(_is_freed(project, regions, names, callee, each) for each in given):
            return True
    return all_freed(parts)


def _carries(project: Project, region: Region, node: ast.expr) -> bool:
    """Return True if a value, or a part of it, carries autograd's history."""
    if any(isinstance(each, ast.Attribute) and code_of(each).endswith(".detach") for each in nodes_below(node)):
        return False
    value = project.flow.value(region.module, node)
    parts = (value, *(value.items or ()), *(each for _, each in value.fields))
    return any(each.has(Tag.GRAPH) for each in parts)
