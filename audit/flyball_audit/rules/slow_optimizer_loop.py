"""`slow-optimizer-loop`: parameters are updated one by one, each with kernels of its own."""

import ast
import re
from collections.abc import Iterable, Iterator

from flyball_audit.effects import Effect
from flyball_audit.finding import Action, Change, Edit, Gain, Severity, Time
from flyball_audit.flow.values import Tag
from flyball_audit.given import argument, is_constant
from flyball_audit.guards import Rarity
from flyball_audit.index import nodes_below
from flyball_audit.loops import Kind
from flyball_audit.module import Function, last_name
from flyball_audit.project import Module, Project
from flyball_audit.regions import Region, Root, reached
from flyball_audit.rule import CERTAIN, LIKELY, SUSPECTED, Match, Rule
from flyball_audit.unseen import CALLED

_IN_PLACE = frozenset({
    "add_", "sub_", "mul_", "div_", "lerp_", "copy_", "addcmul_", "addcdiv_", "subtract_", "multiply_",
})  # fmt: skip
_LIMITING = frozenset({"clamp_", "clip_", "clamp_min_", "clamp_max_"})
"""Of gradients, or of weights: `clip_grad_value_` and `torch._foreach_clamp_min_` take all at once."""

_RARELY = frozenset({Rarity.RARE, Rarity.RANK})
_NOT_EACH = frozenset({Rarity.PERIODIC, Rarity.OTHER})
"""Every few steps, as target networks and averages are, or from some step on: worth a note."""

_ASKING = ("autograd",)

_UPDATES = re.compile(
    r"(^|_)(ema|soft|polyak|averag\w*|accumulat\w*|momentum|moving|target|track|shadow|steps?|update\w*|blend|teacher)(_|$)"
    r"|^on_\w*(batch|step)_end$|^after_\w*(iter|step|batch)$",
    re.IGNORECASE,
)
"""In names of functions that write weights again and again, whoever calls them."""

_ONCE = re.compile(
    r"(^|_)(hard|init\w*|load|reset|restore|store|register|swap|apply|copy_to|interpolat\w*|merge|checkpoints?|epoch|swa"
    r"|test|perturb\w*|noise)(_|$)",
    re.IGNORECASE,
)
"""… and of those that do so once, or now and then."""


def look(module: Module, project: Project) -> Iterator[Match]:
    """Optimizers told to loop, and loops that update parameters by hand."""
    for call in module.all(ast.Call) if module.says_any(("foreach",)) else ():
        told = is_constant(argument(call, "foreach"), False) and not is_constant(argument(call, "fused"), True)
        if told and project.flow.value(module, call).has(Tag.OPTIMIZER):
            yield _told(module, call)
    for loop, regions in _training_loops(module, project):
        for region in regions:
            for update in _updates(project, region):
                seldom = _rarity(project, region, update) in _NOT_EACH
                because = f"each iteration of the loop at {module.path}:{loop.lineno} launches kernels for each of them"
                yield _by_hand(region, update, because, SUSPECTED if seldom else LIKELY)
    for region in _by_name(module, project):
        because = f"`{getattr(region.root, 'name', 'the loop')}` {CALLED}"
        mixing = sorted((each for each in _updates(project, region) if _mixes(each)), key=lambda each: -each.lineno)
        first = {region.loops(each)[-1:]: each for each in mixing}  # of each loop over parameters
        yield from (_by_hand(region, each, because, SUSPECTED) for each in first.values())


def _by_name(module: Module, project: Project) -> Iterator[Region]:
    """Functions that update weights again and again, as their names say, or that some unseen loop calls."""
    if not project.flow.uses_torch(module) or not module.says(_OVER_PARAMETERS):
        return
    supposed = {each.node for each in project.loops.supposed_of(module, Kind.STEP)}
    for function in module.functions:
        named = not _ONCE.search(function.name) and (_UPDATES.search(function.name) or _blends(module, function))
        if (named or function in supposed) and any(isinstance(each, ast.For) for each in nodes_below(function)):
            yield Region(module, function)


def _blends(module: Module, function: Function) -> bool:
    """Whether a function mixes old and new, as averages and target networks do: `a * old + (1 - a) * new`."""
    sums = (each for each in module.within(function, ast.BinOp) if isinstance(each.op, ast.Add))
    return any(isinstance(each.left, ast.BinOp) and isinstance(each.right, ast.BinOp)
               and isinstance(each.left.op, ast.Mult) and isinstance(each.right.op, ast.Mult)
               and "1" in _numbers(each) for each in sums)  # fmt: skip


def _numbers(node: ast.AST) -> set[str]:
    """The numbers from which something is taken off: 1 of `1.0 - tau`."""
    taken = (each.left for each in nodes_below(node) if isinstance(each, ast.BinOp) and isinstance(each.op, ast.Sub))
    values = (each.value for each in taken if isinstance(each, ast.Constant))
    return {f"{each:g}" for each in values if isinstance(each, int | float)}


def _told(module: Module, call: ast.Call) -> Match:
    return Match(
        call,
        f"`{module.quote(call.func)}` is set to loop over parameters",
        "`foreach=False` turns off the implementation that PyTorch chooses on a GPU",
        CERTAIN,
        edit=Edit((Change(Action.DROP_ARGUMENT, module.span(call), name="foreach"),)),
    )


def _by_hand(region: Region, update: ast.stmt, because: str, confidence: float) -> Match:
    message = f"`{region.module.quote(update)}` updates parameters one at a time"
    return Match(update, message, because, confidence, module=region.module)


def _training_loops(module: Module, project: Project) -> Iterator[tuple[Root, Iterable[Region]]]:
    """Loops with backward passes, and what they run; those that update by hand have no optimizer's step."""
    for turns in project.loops.training_of(module):
        yield turns.node, project.loops.regions(turns)
    for loop in module.loops:
        if project.loops.effects.inside(module, loop) == frozenset({Effect.BACKWARD}):
            yield loop, reached(project, Region(module, loop))
        elif module.says_any(_ASKING):
            regions = [*reached(project, Region(module, loop))]
            if any(_asks_for_gradients(each) for each in regions):
                yield loop, regions


def _asks_for_gradients(region: Region) -> bool:
    """Whether code takes gradients as a result: whoever does so in a loop updates by hand."""
    return any(region.module.qualified(each.func) == "torch.autograd.grad" for each in region.all(ast.Call))


def _updates(project: Project, region: Region) -> Iterator[ast.stmt]:
    """The statements that change the variable of a loop over parameters, by another tensor."""
    for statement in (*region.all(ast.AugAssign), *region.all(ast.Assign), *region.all(ast.Expr)):
        changed = _changed(region.module, statement)
        if changed is None:
            continue
        over = _loop_variables(project, region, statement)
        own = bool(over) and (_root(changed) in over or _is_keyed(changed, over))
        seldom = _RARELY | _NOT_EACH if _limits(changed) else _RARELY
        if (own or _is_entry(project, region, changed)) and _rarity(project, region, statement) not in seldom:
            yield statement


def _changed(module: Module, statement: ast.stmt) -> ast.expr | None:
    """What a statement writes in place, or puts in its place, if that is made of another tensor."""
    if isinstance(statement, ast.AugAssign):
        return statement.target if _has_tensor(statement.value) else None
    if isinstance(statement, ast.Assign):
        target = statement.targets[0]
        if _is_rate(target):
            return None
        data = isinstance(target, ast.Attribute) and (target.attr == "data" or _is_limited(target, statement.value))
        return target if data or (isinstance(target, ast.Subscript) and _is_mixed(module, statement)) else None
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(call, ast.Call):
        return None
    if _limits(call):
        return call
    return call if last_name(call) in _IN_PLACE and any(_has_tensor(each) for each in call.args) else None


def _is_rate(target: ast.expr) -> bool:
    """Whether it is a setting of a group of parameters: `group["lr"]`."""
    key = target.slice if isinstance(target, ast.Subscript) else None
    return isinstance(key, ast.Constant) and key.value in _RATES


_RATES = frozenset({"lr", "momentum", "weight_decay", "betas", "eps", "initial_lr", "step"})


def _limits(changed: ast.expr) -> bool:
    """Whether values are only put into limits, which is little if it is done now and then."""
    return isinstance(changed, ast.Call) and last_name(changed) in _LIMITING


def _is_limited(target: ast.Attribute, value: ast.expr) -> bool:
    """Whether a gradient is put into limits: `p.grad = p.grad.clamp(-1, 1)`, `p.grad.data = torch.clamp(p.grad, …)`."""
    limits = any(isinstance(each, ast.Call) and last_name(each) in {"clamp", "clip"} for each in nodes_below(value))
    return target.attr == "grad" and limits


def _mixes(statement: ast.stmt) -> bool:
    """Whether a statement does more than to copy: who copies weights may do so once."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    copies = isinstance(call, ast.Call) and last_name(call) == "copy_"
    if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Attribute):
        copies = isinstance(statement.value, ast.Subscript)  # `each.data = kept[name]`
    return not copies or any(isinstance(each, ast.BinOp) for each in nodes_below(statement))


def _is_mixed(module: Module, statement: ast.Assign) -> bool:
    """Whether a product takes part in what is assigned, be it a line above: `self.shadow[name] = average.clone()`."""
    parts = (part for each in (statement.value, *_made_of(module, statement.value)) for part in nodes_below(each))
    return any(isinstance(each, ast.BinOp) and isinstance(each.op, ast.Mult) for each in parts)


def _is_keyed(node: ast.expr, names: set[str]) -> bool:
    """Whether it is an entry under a loop's key: `self.shadow[name]`."""
    held = _entry(node)
    return held is not None and isinstance(held.slice, ast.Name) and held.slice.id in names


def _entry(node: ast.expr) -> ast.Subscript | None:
    held = node
    while isinstance(held, ast.Attribute | ast.Call):
        held = held.func if isinstance(held, ast.Call) else held.value
    return held if isinstance(held, ast.Subscript) else None


def _is_entry(project: Project, region: Region, changed: ast.expr) -> bool:
    """Whether it is an entry of a dict of parameters, of which a loop goes through the keys: `own[name]`."""
    held = _entry(changed)
    loops = [each for each in region.loops(changed) if isinstance(each, ast.For)]
    keys = {each.id for loop in loops for each in nodes_below(loop.target) if isinstance(each, ast.Name)}
    if held is None or not _is_keyed(held, keys):
        return False
    return project.flow.value(region.module, held).has(Tag.PARAMETER) or _is_over_parameters(
        project, region.module, held.value
    )


def _rarity(project: Project, region: Region, statement: ast.stmt) -> Rarity | None:
    """How seldom the loop over parameters runs: a condition inside it chooses among them."""
    over = [each for each in region.loops(statement) if isinstance(each, ast.For)]
    around = [each for each in over if _is_over_parameters(project, region.module, each.iter)]
    return region.rarity(around[-1] if around else statement)


def _loop_variables(project: Project, region: Region, node: ast.stmt) -> set[str]:
    """The variables of the loops over parameters around a statement."""
    found: set[str] = set()
    for loop in region.loops(node):
        if isinstance(loop, ast.For) and _is_over_parameters(project, region.module, loop.iter):
            found |= {each.id for each in nodes_below(loop.target) if isinstance(each, ast.Name)}
    return found


_OVER_PARAMETERS = re.compile(
    r"parameters\(\)|state_dict\(\)|\[['\"]params['\"]\]|\w+_params\b(?!\[['\"])|\b_?params\b(?!\s*=|\[['\"])"
)
"""In the text of what is gone through: parameters."""


def _is_over_parameters(project: Project, module: Module, over: ast.expr) -> bool:
    if project.loops.gives_parameters(module, over):
        return True
    return any(_OVER_PARAMETERS.search(ast.unparse(each)) for each in (over, *_made_of(module, over)))


def _made_of(module: Module, over: ast.expr) -> Iterator[ast.expr]:
    """What the variables in an expression were given in the same function: `kept` of `kept = net.state_dict()`."""
    function = module.function_of(over)
    if function is None:
        return
    names = {each.id for each in nodes_below(over) if isinstance(each, ast.Name)}
    for assigned in module.within(function, ast.Assign):
        target, value = assigned.targets[0], assigned.value
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
            pairs = [*zip(target.elts, value.elts, strict=True)]
        else:
            pairs = [(each, value) for each in assigned.targets]
        yield from (given for each, given in pairs if isinstance(each, ast.Name) and each.id in names)


def _has_tensor(node: ast.expr) -> bool:
    """Whether an operand is more than a number of the code."""
    return any(isinstance(each, ast.Name | ast.Attribute) for each in nodes_below(node))


def _root(node: ast.expr) -> str:
    """The variable that a chain of attributes, calls and indices begins with."""
    while isinstance(node, ast.Attribute | ast.Call | ast.Subscript):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


RULE = Rule(
    id="slow-optimizer-loop",
    severity=Severity.NOTE,
    summary="Parameters are updated one at a time.",
    cause="Each parameter takes several small kernels. With thousands of parameters the host cannot launch kernels "
    "as fast as the device could run them.",
    change="Leave `foreach` at its default, or pass `fused=True`. In your own code, use `torch._foreach_add_`, "
    "`torch._foreach_lerp_` and similar functions on the whole list (`torch.optim.swa_utils.AveragedModel` "
    "for averages).",
    expected="up to 4.2 times shorter optimizer steps (ResNet-101: Adam 42.7 to 10.2 ms, AdamW 51.4 to 15.6, SGD 6.3 "
    "to 4.4)",
    source="for loop compared with foreach, https://github.com/pytorch/pytorch/pull/45299",
    before="optimizer = torch.optim.AdamW(model.parameters(), foreach=False)",
    after="optimizer = torch.optim.AdamW(model.parameters(), fused=True)",
    look=look,
    gain=Gain(Time.OPTIMIZER, 4.2),
)
