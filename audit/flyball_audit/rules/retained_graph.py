"""`retained-graph`: losses are summed or kept with their history, and each step's activations with them."""

import ast
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from flyball_audit.definition import Definition
from flyball_audit.doubts import is_trial
from flyball_audit.finding import Action, Change, Edit, Gain, Severity, Time
from flyball_audit.flow.callees import calls_to
from flyball_audit.flow.values import Tag, Value
from flyball_audit.freed_graphs import GraphState, graph_of
from flyball_audit.given import handed_over, is_constant, named_arguments
from flyball_audit.index import nodes_below
from flyball_audit.kept_buffers import written_with_history
from flyball_audit.loops import Turns
from flyball_audit.module import Function, last_name
from flyball_audit.names import code_of, is_name
from flyball_audit.project import Module, Project
from flyball_audit.regions import Region
from flyball_audit.rule import CERTAIN, SUSPECTED, Match, Rule
from flyball_audit.walks import OF_BATCHES


class Kept(NamedTuple):
    """A statement that puts a value with history where it stays."""

    statement: ast.stmt
    holder: ast.expr
    value: ast.expr


def look(module: Module, project: Project) -> Iterator[Match]:
    """Sums and lists, in training loops, of values that carry history; buffers that a pass writes into."""
    for turns in project.loops.training_of(module):
        yield from (_match(project, region, turns, kept) for region, kept in _in(project, turns))
    yield from (_of_buffer(module, each) for each in written_with_history(project, module))


def _in(project: Project, turns: Turns) -> Iterator[tuple[Region, Kept]]:
    """What each turn keeps with its history."""
    regions = project.loops.regions(turns)
    found = [(region, kept) for region in regions for kept in _kept(region)]
    wanted = {each.root: _differentiated(each) for each in regions} if found else {}
    for region, kept in found:
        sharing = _sharing(regions, region, kept)
        names = {name for each in sharing for name in wanted[each.root]}
        stays = _outlives(sharing, names, kept) and not _is_of_one_step(project, turns, kept)
        if stays and _keeps_history(project, region, kept):
            yield region, kept


def _of_buffer(module: Module, statement: ast.stmt) -> Match:
    return Match(
        statement,
        f"`{module.quote(statement)}` puts a tensor with autograd history into a buffer",
        "the argument of the forward pass may have history, and the buffer then keeps it from step to step",
        SUSPECTED,
        Severity.NOTE,
        change="Detach the tensor first, or run the statement within `torch.no_grad()`, as PyTorch's own layers do.",
    )


def _kept(region: Region) -> Iterator[Kept]:
    for added in region.all(ast.AugAssign):
        if isinstance(added.op, ast.Add | ast.Sub):
            yield Kept(added, added.target, added.value)
    for assigned in region.all(ast.Assign):
        target, other = assigned.targets[0], _added(region, assigned) if len(assigned.targets) == 1 else None
        if other is not None:
            yield Kept(assigned, target, other)
    for statement in region.all(ast.Expr):
        call = statement.value
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and last_name(call) in _ADDING:
            for given in call.args[-1:]:
                yield Kept(statement, call.func.value, given)


_ADDING = frozenset({"append", "appendleft", "extend", "insert", "add_"})
"""Methods of lists, queues and sums by which they grow by their last argument."""

_JOINING = frozenset({"cat", "concat", "concatenate", "stack", "hstack", "vstack"})


def _added(region: Region, assigned: ast.Assign) -> ast.expr | None:
    """What an assignment adds to the former value of its target, or puts in an entry of its own for each turn."""
    target = assigned.targets[0]
    for value in _ways(assigned.value):
        other = _other_side(target, value) if isinstance(value, ast.BinOp) else _joined(target, value)
        other = other or _summed(target, value)
        if other is not None:
            return other
    return assigned.value if _is_entry_of_turn(region, target) else None


def _ways(value: ast.expr) -> Iterator[ast.expr]:
    """What an assignment may give: `loss if total is None else total + loss`."""
    yield from (
        (part for each in (value.body, value.orelse) for part in _ways(each))
        if isinstance(value, ast.IfExp)
        else (value,)
    )


def _joined(target: ast.expr, value: ast.expr) -> ast.expr | None:
    """What `losses = torch.cat((losses, loss.view(1)))` puts behind the rest."""
    parts = value.args[0] if isinstance(value, ast.Call) and last_name(value) in _JOINING and value.args else None
    if not isinstance(parts, ast.Tuple | ast.List) or len(parts.elts) != 2:
        return None
    own = code_of(target)
    return parts.elts[1] if code_of(parts.elts[0]) == own else None


def _summed(target: ast.expr, value: ast.expr) -> ast.expr | None:
    """What `total = torch.add(total, loss)`, or `total.add(loss)`, adds."""
    if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Attribute) or last_name(value) != "add":
        return None
    parts = [*value.args[:2]] if len(value.args) > 1 else [value.func.value, *value.args]
    same = len(parts) == 2 and code_of(parts[0]) == code_of(target)
    return parts[1] if same else None


def _is_entry_of_turn(region: Region, target: ast.expr) -> bool:
    """Whether it is an entry under the number of the turn: `losses[step]`."""
    root = region.root
    if not isinstance(target, ast.Subscript) or not isinstance(target.slice, ast.Name):
        return False
    counted = (each.target for each in region.all(ast.AugAssign) if isinstance(each.op, ast.Add))
    if any(isinstance(each, ast.Name) and each.id == target.slice.id for each in counted):
        return True
    if not isinstance(root, ast.For):
        return False
    counts = isinstance(root.iter, ast.Call) and last_name(root.iter) in {"range", "trange", "enumerate"}
    first = root.target.elts[0] if isinstance(root.target, ast.Tuple) else root.target
    return counts and isinstance(first, ast.Name) and first.id == target.slice.id


def _other_side(target: ast.expr, value: ast.BinOp) -> ast.expr | None:
    """What `total = total + loss`, or `average = 0.9 * average + 0.1 * loss`, adds."""
    own = code_of(target)
    if isinstance(value.op, ast.Add | ast.Sub):
        for side, other in ((value.left, value.right), (value.right, value.left)):
            held = any(
                isinstance(each, ast.Name | ast.Attribute | ast.Subscript) and code_of(each) == own
                for each in nodes_below(side)
            )
            if held or _asks_for(side, target):
                return other
    return None


def _asks_for(side: ast.expr, target: ast.expr) -> bool:
    """`sums.get("loss", 0)`, of a target `sums["loss"]`."""
    if not isinstance(target, ast.Subscript) or not isinstance(side, ast.Call) or last_name(side) != "get":
        return False
    holder = side.func.value if isinstance(side.func, ast.Attribute) else side
    asked = code_of(side.args[0]) if side.args else None
    return code_of(holder) == code_of(target.value) and asked == code_of(target.slice)


def _keeps_history(project: Project, region: Region, kept: Kept) -> bool:
    value = project.flow.value(region.module, kept.value)
    if _is_differentiated_by_key(region, kept):
        return True
    if _is_of_itself(kept) or not any(each.has(Tag.GRAPH) and each.on_device for each in _inside(value)):
        return False
    call = kept.statement.value if isinstance(kept.statement, ast.Expr) else None
    listed = isinstance(call, ast.Call) and last_name(call) != "add_"
    return listed or project.flow.records_history(region.module, kept.statement)


def _is_differentiated_by_key(region: Region, kept: Kept) -> bool:
    """Whether a dict of losses is kept, of which one entry is differentiated: `loss["total"].backward()`."""
    if not isinstance(kept.value, ast.Name) or not isinstance(kept.statement, ast.Expr):
        return False
    own = (each for each in region.all(ast.Call) if last_name(each) == "backward")
    parts = (each.func.value for each in own if isinstance(each.func, ast.Attribute))
    held = (each.value for each in parts if isinstance(each, ast.Subscript) and isinstance(each.slice, ast.Constant))
    changed = (
        target for each in region.all(ast.Assign) for target in each.targets if isinstance(target, ast.Subscript)
    )
    by_name = any(is_name(each.value, kept.value.id) and isinstance(each.slice, ast.Name) for each in changed)
    return not by_name and any(is_name(each, kept.value.id) for each in held)


def _is_of_itself(kept: Kept) -> bool:
    """Whether nothing but the sum is added to it, or taken off: `total -= total`, `total += total / steps`."""
    value = kept.value.left if isinstance(kept.value, ast.BinOp) else kept.value
    return isinstance(kept.statement, ast.AugAssign) and code_of(value) == code_of(kept.holder)


def _inside(value: Value) -> tuple[Value, ...]:
    parts = (*(value.items or ()), *(each for _, each in value.fields))
    return (value, *parts, *(inner for each in parts for _, inner in each.fields))


def _sharing(regions: Sequence[Region], own: Region, kept: Kept) -> list[Region]:
    """The regions in which a name means the same: of a variable, the function that binds it, and those inside."""
    held = _held_by(kept.holder)
    if not isinstance(held, ast.Name):
        return list(regions)
    owner = _owner(own, held.id)
    return [each for each in regions if owner in _scopes(each)]


def _owner(region: Region, name: str) -> ast.AST:
    """The function whose variable a name is, or the module."""
    inside = (each for each in _scopes(region) if isinstance(each, Function) and region.module.binds(each, name))
    return next(inside, region.module.tree)


def _scopes(region: Region) -> Iterator[ast.AST]:
    """The functions around a region, itself first, and the module."""
    yield from (each for each in (region.root, *region.module.ancestors(region.root)) if isinstance(each, Function))
    yield region.module.tree


def _outlives(regions: Sequence[Region], wanted: set[str], kept: Kept) -> bool:
    """Whether what is kept is neither begun anew in the loop nor differentiated: then its history is wanted."""
    name = _root(kept.holder)
    if name is None or name in wanted:
        return False
    return not any(_begins_anew(region, name, kept) for region in regions)


def _is_of_one_step(project: Project, turns: Turns, kept: Kept) -> bool:
    """Whether the loop is a part of a function that is one step, and the variable is that function's."""
    function = turns.module.function_of(turns.node)
    if not isinstance(kept.holder, ast.Name):
        return False
    if _is_of_one_batch(turns, kept.holder.id):
        return True
    if function is None:
        return False
    steps = {each.node for each in project.loops.training_of(turns.module)}
    return function in steps and turns.module.binds(function, kept.holder.id)


def _is_of_one_batch(turns: Turns, name: str) -> bool:
    """Whether a loop over batches stands around, and begins the variable anew for each: a sum over a few updates."""
    for around in turns.module.ancestors(turns.node):
        if isinstance(around, Function):
            break
        if isinstance(around, ast.For) and OF_BATCHES.search(code_of(around.iter)):
            given = (each for each in turns.module.repeated(around, ast.Assign) if each.lineno < turns.node.lineno)
            return any(name in turns.module.names_in(target) for each in given for target in each.targets)
    return False


def _root(holder: ast.expr) -> str | None:
    """The variable or attribute that holds: `sums` of `sums["total"]`, `history` of `self.history`."""
    held = _held_by(holder)
    if isinstance(held, ast.Attribute):
        return held.attr
    return held.id if isinstance(held, ast.Name) else None


def _held_by(holder: ast.expr) -> ast.expr:
    while isinstance(holder, _HOLDING):
        holder = holder.value if isinstance(holder, ast.Subscript) else getattr(holder.func, "value", holder.func)
    return holder


_HOLDING = (ast.Subscript, ast.Call)


def _begins_anew(region: Region, name: str, kept: Kept) -> bool:
    assignments: list[ast.Assign | ast.AnnAssign] = [*region.all(ast.Assign), *region.all(ast.AnnAssign)]
    for assigned in assignments:
        given = assigned.targets if isinstance(assigned, ast.Assign) else [assigned.target]
        targets = [part for each in given for part in (each.elts if isinstance(each, ast.Tuple) else [each])]
        if assigned is not kept.statement and name in {
            _root(each) for each in targets if not isinstance(each, ast.Subscript)
        }:
            return True
    for loop in (*region.all(ast.For), *((region.root,) if isinstance(region.root, ast.For) else ())):
        if name in {each.id for each in nodes_below(loop.target) if isinstance(each, ast.Name)}:
            return True
    return any(
        last_name(call) in {"clear", "pop", "popleft"}
        and isinstance(call.func, ast.Attribute)
        and _root(call.func.value) == name
        for call in region.all(ast.Call)
    )


def _differentiated(region: Region) -> set[str]:
    """The names whose values lead to a backward pass, through assignments."""
    names_in = region.module.names_in
    names: set[str] = set()
    for call in region.all(ast.Call):
        if last_name(call) in {"backward", "manual_backward", "grad"}:
            names |= names_in(call)
    for returned in region.all(ast.Return):
        names |= names_in(returned)
    assignments: list[ast.Assign | ast.AugAssign] = [*region.all(ast.Assign), *region.all(ast.AugAssign)]
    flows = [(_targets(each), names_in(each.value)) for each in assignments]
    while True:
        more = {name for targets, given in flows if targets & names for name in given}
        if more <= names:
            return names
        names |= more


def _targets(assigned: ast.Assign | ast.AugAssign) -> set[str]:
    targets = assigned.targets if isinstance(assigned, ast.Assign) else [assigned.target]
    return {name for each in targets if (name := _root(each)) is not None}


def _match(project: Project, region: Region, turns: Turns, kept: Kept) -> Match:
    module = region.module
    value = project.flow.value(module, kept.value)
    seen = any(each.has(Tag.GRAPH) and each.is_seen_tensor for each in _inside(value))
    trains = not is_trial(turns) and not _only_gathers(project, turns)
    certain = bool(seen or value.tags & {Tag.OUTPUT, Tag.LOSS}) and trains
    loop = f"each iteration of the loop at {turns.module.path}:{turns.node.lineno}"
    graph = graph_of(project, turns, region, kept.statement, kept.value)
    if graph is GraphState.FREED:
        whole = _is_whole_output(value, kept)
        because = (
            (
                f"`backward()` frees the activations, but {loop} keeps one more output on the device, and the nodes of "
                "its graph"
            )
            if whole
            else (
                f"`backward()` frees the activations, but {loop} leaves the nodes of the graph in host memory: a "
                "slow leak"
            )
        )
    elif graph is GraphState.KEPT:
        whole = True
        because = f"{loop} keeps a graph with all its activations, because no `backward()` frees it"
    else:
        whole = False
        because = f"{loop} keeps a graph, and these files contain no `backward()` that would free its activations"
    return Match(
        kept.statement,
        f"`{module.quote(kept.holder)}` keeps `{module.quote(kept.value)}` with its autograd graph",
        because,
        CERTAIN if certain and graph is not GraphState.UNKNOWN else SUSPECTED,
        Severity.WARNING if certain and whole else Severity.NOTE,
        module=module,
        edit=_edit(project, region, kept),
        change=_OF_OUTPUTS if graph is GraphState.FREED and whole else None,
    )


_OF_OUTPUTS = "Detach it and move it to the host with `.detach().cpu()`, or keep only the numbers that are needed."


def _is_whole_output(value: Value, kept: Kept) -> bool:
    """Whether a list or table gets a model's whole output, which stays on the device with or without its graph."""
    grows = isinstance(kept.statement, ast.Expr) or isinstance(kept.holder, ast.Subscript)
    return grows and value.has(Tag.OUTPUT) and not value.tags & {Tag.LOSS, Tag.NORM}


def _only_gathers(project: Project, turns: Turns) -> bool:
    """Whether a framework's hook belongs to a module without optimizers: it gathers what frozen networks give, once."""
    function = turns.module.function_of(turns.node) if not isinstance(turns.node, Function) else turns.node
    holder = turns.module.class_of(function) if turns.hook_of == "lightning" and function is not None else None
    made = project.flow.method(Definition(turns.module, holder), "configure_optimizers") if holder is not None else None
    if made is None:
        return False
    given = (each.value for each in made.module.within(made.node, ast.Return))
    return all(each is None or is_constant(each, None) for each in given)


def _edit(project: Project, region: Region, kept: Kept) -> Edit | None:
    """`.detach()` behind a tensor; what is appended may be a model's whole output, which has no such method."""
    value = project.flow.value(region.module, kept.value)
    if value.items or value.fields or _is_differentiated_by_key(region, kept):
        return None
    text = code_of(kept.value)
    plain = isinstance(kept.value, ast.Name | ast.Attribute | ast.Call | ast.Subscript)
    change = Change(Action.REPLACE, region.module.span(kept.value), f"{text if plain else f'({text})'}.detach()")
    tensor = value.is_seen_tensor and (value.has(Tag.LOSS) or not isinstance(kept.statement, ast.Expr))
    return Edit((change,), safe=tensor and not _may_be_number(project, region, kept))


def _may_be_number(project: Project, region: Region, kept: Kept) -> bool:
    """Whether a call somewhere passes a number of the code for what is kept: a meter's `update(0.5)`."""
    function = region.root
    if not isinstance(function, Function):
        return False
    carrying = {each.id for each in nodes_below(kept.value) if isinstance(each, ast.Name)
                and project.flow.value(region.module, each).has(Tag.GRAPH)}  # fmt: skip
    bound = region.module.class_of(function) is not None
    return any(
        isinstance(handed_over(function, call, name, bound=bound), ast.Constant)
        for _, call in calls_to(project.flow, region.module, function)
        for name in carrying & {each.arg for each in named_arguments(function)}
    )


RULE = Rule(
    id="retained-graph",
    severity=Severity.NOTE,
    summary="A loss or output is summed or stored with its autograd graph.",
    cause="The graph stays in memory as long as the value. If `backward()` runs through it, this frees the "
    "activations and leaves only small nodes in host memory: a slow leak. If not, all activations of each "
    "step stay on the device until it runs out of memory.",
    change="Detach it: `total += loss.detach()`.",
    expected="memory stays constant, and a larger batch may fit; no time by itself; after `backward()` 0.4 MB of "
    "host memory a step for 300 small layers, without it 20.6 MB of activations",
    source="our measurement on a CPU with PyTorch 2.13; PyTorch's FAQ, “My model reports CUDA out of memory”: "
    "https://docs.pytorch.org/docs/stable/notes/faq.html",
    before="total += loss",
    after="total += loss.detach()",
    look=look,
    gain=Gain(Time.MEMORY, 1.0),
    safe_fix=True,
)
