"""`slow-optimizer-loop`: parameters are updated one by one, each with kernels of its own."""

import ast
from collections.abc import Iterable, Iterator

from flyball_planner.audit.effects import Effect
from flyball_planner.audit.finding import Action, Change, Edit, Gain, Severity, Time
from flyball_planner.audit.flow.values import Tag
from flyball_planner.audit.given import argument, is_constant
from flyball_planner.audit.guards import Rarity
from flyball_planner.audit.module import last_name
from flyball_planner.audit.project import Module, Project
from flyball_planner.audit.regions import Region, Root, reached
from flyball_planner.audit.rule import CERTAIN, LIKELY, SUSPECTED, Match, Rule

_IN_PLACE = frozenset({
    "add_", "sub_", "mul_", "div_", "lerp_", "copy_", "addcmul_", "addcdiv_", "subtract_", "multiply_",
})  # fmt: skip
_SELDOM = Rarity.PERIODIC
"""Every few steps, as target networks and averages are: worth a note."""

_OFTEN = frozenset({None, Rarity.ACCUMULATED, Rarity.CONFIG, _SELDOM})


def look(module: Module, project: Project) -> Iterator[Match]:
    """Optimizers told to loop, and loops that update parameters by hand."""
    for call in module.all(ast.Call) if module.says_any(("foreach",)) else ():
        told = is_constant(argument(call, "foreach"), False) and not is_constant(argument(call, "fused"), True)
        if told and project.flow.value(module, call).has(Tag.OPTIMIZER):
            yield _told(module, call)
    for loop, regions in _training_loops(module, project):
        for region in regions:
            for update in _updates(project, region):
                yield _by_hand(module, region, loop, update)


def _told(module: Module, call: ast.Call) -> Match:
    return Match(
        call,
        f"`{module.quote(call.func)}` is told to loop over parameters",
        "`foreach=False` turns off the implementation that PyTorch chooses on a GPU",
        CERTAIN,
        edit=Edit((Change(Action.DROP_ARGUMENT, module.span(call), name="foreach"),)),
    )


def _by_hand(module: Module, region: Region, loop: Root, update: ast.stmt) -> Match:
    seldom = region.rarity(update) is _SELDOM
    return Match(
        update,
        f"`{region.module.quote(update)}` updates parameters one by one",
        f"each turn of the loop at {module.path}:{loop.lineno} launches kernels for each of them",
        SUSPECTED if seldom else LIKELY,
        module=region.module,
    )


def _training_loops(module: Module, project: Project) -> Iterator[tuple[Root, Iterable[Region]]]:
    """Loops with backward passes, and what they run; those that update by hand have no optimizer's step."""
    for turns in project.loops.training_of(module):
        yield turns.node, project.loops.regions(turns)
    for loop in module.loops:
        if project.loops.effects.inside(module, loop) == frozenset({Effect.BACKWARD}):
            yield loop, reached(project, Region(module, loop))


def _updates(project: Project, region: Region) -> Iterator[ast.stmt]:
    """The statements that change the variable of a loop over parameters, by another tensor."""
    for added in region.all(ast.AugAssign):
        if _root(added.target) in _parameters(project, region, added) and _has_tensor(added.value):
            yield added
    for assigned in region.all(ast.Assign):
        target = assigned.targets[0]
        written = isinstance(target, ast.Attribute) and target.attr == "data"
        if written and _root(target) in _parameters(project, region, assigned):
            yield assigned
    for statement in region.all(ast.Expr):
        call = statement.value
        if not isinstance(call, ast.Call) or last_name(call) not in _IN_PLACE:
            continue
        over = _parameters(project, region, statement)
        own = _root(call) in over or _is_entry(project, region, call)
        if own and any(_has_tensor(each) for each in call.args):
            yield statement


def _is_entry(project: Project, region: Region, call: ast.Call) -> bool:
    """Whether it changes an entry of a dict of parameters, of which a loop goes through the keys: `own[name]`."""
    held: ast.expr = call
    while isinstance(held, ast.Attribute | ast.Call):
        held = held.func if isinstance(held, ast.Call) else held.value
    if not isinstance(held, ast.Subscript) or region.rarity(call) not in _OFTEN:
        return False
    keys = {each.id for loop in region.loops(call) if isinstance(loop, ast.For) for each in ast.walk(loop.target)
            if isinstance(each, ast.Name)}  # fmt: skip
    named = isinstance(held.slice, ast.Name) and held.slice.id in keys
    return named and project.flow.value(region.module, held).has(Tag.PARAMETER)


def _parameters(project: Project, region: Region, node: ast.stmt) -> set[str]:
    """The variables of the loops over parameters around a statement, where they run in each turn."""
    found: set[str] = set()
    for loop in region.loops(node):
        if isinstance(loop, ast.For) and _is_over_parameters(project, region.module, loop.iter):
            found |= {each.id for each in ast.walk(loop.target) if isinstance(each, ast.Name)}
    return found if found and region.rarity(node) in _OFTEN else set()


def _is_over_parameters(project: Project, module: Module, over: ast.expr) -> bool:
    return project.loops.gives_parameters(module, over) or "parameters()" in ast.unparse(over)


def _has_tensor(node: ast.expr) -> bool:
    """Whether an operand is more than a number of the code."""
    return any(isinstance(each, ast.Name | ast.Attribute) for each in ast.walk(node))


def _root(node: ast.expr) -> str:
    """The variable that a chain of attributes, calls and indices begins with."""
    while isinstance(node, ast.Attribute | ast.Call | ast.Subscript):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


RULE = Rule(
    id="slow-optimizer-loop",
    severity=Severity.NOTE,
    summary="Parameters are updated one by one.",
    cause="Each parameter costs several small kernels: with thousands of them the host cannot launch as fast as the "
    "device could run.",
    change="Leave `foreach` to the default, or give `fused=True`; by hand, use `torch._foreach_add_`, "
    "`torch._foreach_lerp_` and their like "
    "over the whole list (`torch.optim.swa_utils.AveragedModel` for averages).",
    expected="up to 4.2 times shorter optimizer steps (ResNet-101: Adam 42.7 to 10.2 ms, AdamW 51.4 to 15.6, SGD 6.3 "
    "to 4.4)",
    source="for-loop against foreach, https://github.com/pytorch/pytorch/pull/45299",
    before="optimizer = torch.optim.AdamW(model.parameters(), foreach=False)",
    after="optimizer = torch.optim.AdamW(model.parameters(), fused=True)",
    look=look,
    gain=Gain(Time.OPTIMIZER, 4.2),
)
