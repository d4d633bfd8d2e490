"""`cpu-tensor-then-move`: tensors are made in host memory and copied, where the device could make them."""

import ast
import re
from collections.abc import Iterator
from dataclasses import replace

from flyball_audit.computing import has_own_gradient
from flyball_audit.creation import FILLED, TAKES_DEVICE, is_copied_numpy, is_few_numbers, made_on_host
from flyball_audit.doubts import is_aside
from flyball_audit.files import is_test_code
from flyball_audit.finding import Action, Change, Edit, Gain, Severity, Time
from flyball_audit.flow.values import Tag
from flyball_audit.given import argument
from flyball_audit.guards import Rarity
from flyball_audit.index import nodes_below
from flyball_audit.loops import Kind
from flyball_audit.module import Function, Loop, last_name
from flyball_audit.names import code_of
from flyball_audit.project import Module, Project
from flyball_audit.regions import Region, reached
from flyball_audit.rule import LIKELY, SUSPECTED, Match, Rule
from flyball_audit.unseen import noted

_BOUND = frozenset({"pin_memory", "requires_grad", "out"})
"""Arguments that mean something else for a tensor on a device, or for the one that is moved there."""

_MOVING = frozenset({"to", "cuda", "type_as"})
_OFTEN = frozenset({None, Rarity.ACCUMULATED, Rarity.CONFIG})
_NOW_AND_THEN = frozenset({Rarity.OTHER, Rarity.EVALUATED})
"""Behind a condition on the data, or in evaluations alone: worth a note."""


def look(module: Module, project: Project) -> Iterator[Match]:
    """Moves of tensors just made, in training turns and in modules' forward; less surely, elsewhere."""
    told: set[ast.AST] = set()
    for region in _regions(module, project):
        for match in _in(project, region):
            told.add(match.node)
            yield match
    for match in _less_surely(module, project):
        if match.node not in told:
            told.add(match.node)
            yield match


def _less_surely(module: Module, project: Project) -> Iterator[Match]:
    """In what runs for each batch in all likelihood, in evaluations, modules' methods and helpers."""
    for turns in project.loops.supposed_of(module, Kind.STEP):
        for region in project.loops.regions(turns):
            yield from (noted(match, turns.module, turns.node) for match in _in(project, region))
    for turns in project.loops.evaluation_of(module):
        for region in project.loops.regions(turns):
            for match in _in(project, region):
                yield replace(match, severity=Severity.NOTE, confidence=SUSPECTED)
    yield from _of_kept(module, project)
    once = _holding_loops(module, project)
    for function in module.functions:
        repeated = function not in once and _is_repeated(function.name)
        if repeated and _works_on_batches(project, module, function):
            yield from (noted(match, module, function) for match in _in(project, Region(module, function)))
    for loop in module.loops if not is_test_code(module) else ():
        if not _goes_through_few(module, loop):
            for match in _in(project, Region(module, loop)):
                yield replace(
                    match, severity=Severity.NOTE, confidence=SUSPECTED, because="each iteration " + _EACH_TIME
                )


def _of_kept(module: Module, project: Project) -> Iterator[Match]:
    """Tensors that a module made in host memory and keeps there: each pass moves them anew."""
    for call in module.calls_named("to", "cuda"):
        function = module.function_of(call)
        held = call.func.value if isinstance(call.func, ast.Attribute) else None
        if function is None or not isinstance(held, ast.Attribute) or code_of(held.value) != "self":
            continue
        value = project.flow.value(module, held)
        made = value.has(Tag.TENSOR, Tag.CPU) and not value.has(Tag.DEVICE) and not value.has(Tag.BATCH)
        moved = made and project.flow.value(module, call).on_device and not _is_kept_again(module, call, held)
        if moved and _is_repeated(function.name) and _works_on_batches(project, module, function):
            yield Match(
                call,
                f"`{module.quote(call)}` moves the same tensor in each forward pass",
                f"`{code_of(held)}` is created in host memory and stays there, so each forward pass waits for a copy "
                "of it",
                SUSPECTED,
                Severity.NOTE,
                change="Register it as a buffer, so that it moves with its module: `self.register_buffer(name, "
                "tensor, persistent=False)`.",
            )


def _is_kept_again(module: Module, call: ast.Call, held: ast.Attribute) -> bool:
    """Whether what was moved is kept in its place: `self.table = self.table.to(device)`."""
    statement = module.statement(call)
    return isinstance(statement, ast.Assign) and any(code_of(each) == code_of(held) for each in statement.targets)


def _goes_through_few(module: Module, loop: Loop) -> bool:
    """Whether a loop's turns are few, as what it goes through tells, or where it stands."""
    function = module.function_of(loop)
    if function is not None and not _is_repeated(function.name):
        return True
    return isinstance(loop, ast.For) and _FEW.search(f"{code_of(loop.target)} {code_of(loop.iter)}") is not None


_FEW = re.compile(
    r"epoch|model|fold|layer|seed|device|rank|param|config|(?<![a-z])(net|key|arg|dim)|state_dict|block|path|sizes"
    r"|checkpoint|loaders\b|datasets\b"
)
"""In what loops go through that have few turns."""


def _holding_loops(module: Module, project: Project) -> set[ast.AST]:
    """The functions in which loops train or evaluate: what they make before is made once."""
    loops = (*project.loops.training_of(module), *project.loops.evaluation_of(module))
    return {above for each in loops if isinstance(each.node, Loop) for above in module.ancestors(each.node)}


def _is_repeated(name: str) -> bool:
    return _RUN_ONCE.search(name) is None or _MADE_EACH_TIME.search(name) is not None


def _works_on_batches(project: Project, module: Module, function: Function) -> bool:
    """Whether it is a module's method, an operation with its own gradient, or code that is handed tensors."""
    holder = module.class_of(function)
    if holder is not None and _is_module(project, module, function):
        return True
    if holder is not None and has_own_gradient(module, holder):
        return True
    if is_test_code(module):
        return False
    return _asks_sizes(module, function) or _OF_STEPS.search(function.name) is not None


_OF_STEPS = re.compile(
    r"loss|forward|(?<![a-z])acts?(ions?)?(?![a-z])|values?(?![a-z])|log_?prob|sampl|nois[ey]|mask|encod|decod|(?<![a-z])step"
    r"|updat|train|learn|penalty|interpol|reconstruct|predict|generat|(?<![a-z])batch|mix_?up|cut_?mix|perturb|attack"
    r"|regulari[sz]|diffus|one_?hot|position|(?<![a-z])infer|jacobian|gradient|hessian|kernel|distance|score|similar"
    r"|embed|attention|warp|grid|coord|rotary",
    re.IGNORECASE,
)
"""In names of functions that are run again and again."""

_MADE_EACH_TIME = re.compile(r"_(hidden|states?|masks?|noise|batch|inputs?|labels?|targets?|positions?|latents?)$")
"""In names of functions that make a part of each step, though their names begin otherwise: `init_hidden`."""


def _asks_sizes(module: Module, function: Function) -> bool:
    """Whether an argument is asked for what tensors alone have."""
    asked = [each.value for each in module.within(function, ast.Attribute) if each.attr in _OF_TENSORS]
    names = {each.arg for each in nodes_below(function.args) if isinstance(each, ast.arg)} if asked else set[str]()
    return any(isinstance(each, ast.Name) and each.id in names for each in asked)


_OF_TENSORS = frozenset({"shape", "size", "device", "is_cuda", "requires_grad"})


_RUN_ONCE = re.compile(
    r"init|reset|build|setup|load|save|export|^_?from_|test|configure|register|make|set_|create|^__(?!call__)"
)
"""In names of methods that no step runs."""


def _in(project: Project, region: Region) -> Iterator[Match]:
    for call in region.all(ast.Call):
        made = _made(project, region, call)
        rarity = region.rarity(call) if made is not None else Rarity.RARE
        if made is not None and rarity in _OFTEN | _NOW_AND_THEN and not _is_kept(region, call):
            often = rarity in _OFTEN and not is_aside(region) and not _stands_in(region, call)
            often = often and last_name(call) != "type_as" and not _goes_to_batch(project, region, call)
            yield _match(project, region.module, call, made, often=often)


def _stands_in(region: Region, call: ast.Call) -> bool:
    """Whether it is made only where an argument was not handed over: `if noise is None`."""
    tests = [each.test for each in region.guards(call)]
    asked = {code_of(each.left) for each in tests if isinstance(each, ast.Compare) and isinstance(each.ops[0], ast.Is)}
    return bool(asked) and any(isinstance(each, ast.arg) and each.arg in asked for each in nodes_below(region.root))


def _regions(module: Module, project: Project) -> Iterator[Region]:
    for turns in project.loops.training_of(module):
        yield from project.loops.regions(turns)
    for function in module.functions:
        if function.name == "forward" and _is_module(project, module, function):
            yield from reached(project, Region(module, function))


def _is_module(project: Project, module: Module, function: Function) -> bool:
    owner = project.flow.owner(module, function)
    return owner is not None and owner.has(Tag.MODEL)


def _made(project: Project, region: Region, call: ast.Call) -> ast.Call | None:
    """The call that made the tensor in host memory which a call moves to a device."""
    if is_copied_numpy(region.module, call):
        return call.args[0] if isinstance(call.args[0], ast.Call) else None
    if last_name(call) not in _MOVING or not isinstance(call.func, ast.Attribute):
        return None
    moved = project.flow.value(region.module, call).on_device or _goes_to_batch(project, region, call)
    if not (moved or _is_as_brought(project, region, call)) or _is_cast(call):
        return None
    if project.flow.value(region.module, call.func.value).has(Tag.DEVICE):
        return None
    made = made_on_host(project, region.module, call.func.value)
    return made if made is not None and _runs_in(region, made) else None


def _goes_to_batch(project: Project, region: Region, call: ast.Call) -> bool:
    """Whether it is moved to where a batch is, which somebody brought to a device: `.to(lengths)`."""
    to = call.args[0] if last_name(call) == "to" and len(call.args) == 1 else None
    return to is not None and project.flow.value(region.module, to).has(Tag.BATCH)


def _is_as_brought(project: Project, region: Region, call: ast.Call) -> bool:
    """Whether it becomes like something that was brought to the device: `.type_as(x)`, of a batch's `x`."""
    if last_name(call) != "type_as" or len(call.args) != 1:
        return False
    like = project.flow.value(region.module, call.args[0])
    return not like.has(Tag.CPU) and ("lightning" in region.module.frameworks or not like.has(Tag.HOST))


def _is_cast(call: ast.Call) -> bool:
    """Whether `.to(dtype)` names a type by an argument or an attribute: nothing is moved."""
    first = call.args[0] if last_name(call) == "to" and call.args else None
    return first is not None and len(call.args) == 1 and _TYPES.search(code_of(first)) is not None


_TYPES = re.compile(r"(^|[._])d?type$|_dtype\b")


def _runs_in(region: Region, made: ast.Call) -> bool:
    """Whether it is made in the same turn, not once before the loop."""
    return region.holds(made)


def _is_kept(region: Region, call: ast.Call) -> bool:
    """Whether the tensor is put where the next turn finds it: then a condition asks for it first."""
    holder = region.module.parent(call)
    targets = holder.targets if isinstance(holder, ast.Assign) else []
    tests = [ast.unparse(each.test) for each in region.guards(call)]
    if any(isinstance(each, ast.Attribute) for each in targets):
        return any(_ASKED_FIRST.search(each) or _COMPARED.search(each) for each in tests)
    return any(isinstance(each, ast.Subscript) for each in targets) and any(map(_ASKED_FIRST.search, tests))


_ASKED_FIRST = re.compile(r"\bnot in\b|\bNone\b|hasattr|^not ")
_COMPARED = re.compile(r"[!=<>]")
"""In conditions on what is kept: whether it is there; large enough, where the batch is."""


_EACH_TIME = "allocates it, fills it and waits for the copy"


def _match(project: Project, module: Module, call: ast.Call, made: ast.Call, *, often: bool) -> Match:
    given = (*made.args, *(keyword.value for keyword in made.keywords))
    by_size = not is_few_numbers(module, made) and any(not isinstance(each, ast.Constant) for each in given)
    return Match(
        call,
        f"`{module.quote(made)}` is created in host memory and then copied to the device",
        f"each step {_EACH_TIME}",
        LIKELY if often else SUSPECTED,
        Severity.WARNING if by_size and often else Severity.NOTE,
        module=module,
        edit=_edit(project, module, call, made),
    )


def _edit(project: Project, module: Module, call: ast.Call, made: ast.Call) -> Edit | None:
    """The creating call with `device=`, in place of both; random numbers would be others."""
    device = _device(project, module, call)
    if device is None or not isinstance(call.func, ast.Attribute) or call.func.value is not made:
        return None
    if module.qualified(made.func) not in TAKES_DEVICE or any(each.arg in _BOUND for each in made.keywords):
        return None
    inside = ", ".join(
        [*map(ast.unparse, made.args), *(f"{each.arg}={ast.unparse(each.value)}" for each in made.keywords)]
    )
    text = f"{ast.unparse(made.func)}({inside}{', ' if inside else ''}device={device})"
    safe = last_name(made) in FILLED
    return Edit((Change(Action.REPLACE, module.span(call), text),), safe)


def _device(project: Project, module: Module, call: ast.Call) -> str | None:
    """The code of the device that a call moves a tensor to; None where it may be a tensor, a type or unknown."""
    others = {each.arg for each in call.keywords} - {"non_blocking", "device"}
    given = argument(call, "device", 0)
    if others or len(call.args) > 1:
        return None
    if last_name(call) == "cuda":
        return "'cuda'" if given is None else None
    known = last_name(call) == "to" and given is not None and _is_device(project, module, given)
    return ast.unparse(given) if known and given is not None else None


def _is_device(project: Project, module: Module, node: ast.expr) -> bool:
    """Whether an expression is a device for certain: `.to(x)` of a tensor `x` takes over its type as well."""
    value = project.flow.value(module, node)
    if value.tags - {Tag.HOST} and not value.has(Tag.SUPPOSED):
        return False
    named = node.func if isinstance(node, ast.Call) else node  # `get_device()`
    text = isinstance(node, ast.JoinedStr) or (value.literal is not None and isinstance(value.literal.value, str))
    return text or value.made_by == "torch.device" or _DEVICES.search(code_of(named)) is not None


_DEVICES = re.compile(r"(^|[._])device$", re.IGNORECASE)
"""What devices are called: `device`, `self.device`, `x.device`, `get_device()`."""


RULE = Rule(
    id="cpu-tensor-then-move",
    severity=Severity.WARNING,
    summary="A tensor is created in host memory and then moved to the device.",
    cause="The host fills the tensor, CUDA copies it to pinned memory and then to the device, and the host waits. "
    "The device could create it with a single kernel.",
    change="Pass `device=` to the call that creates the tensor, or use `zeros_like` or `randn_like` of a tensor on "
    "the device. Random numbers then come from the device's generator and differ.",
    expected="up to the whole copy, and one wait less in each step; 1.08× for a reinforcement learning library",
    source="https://github.com/DLR-RM/stable-baselines3/pull/1218; PyTorch's tuning guide, “Create tensors directly "
    "on the target device”: https://pytorch.org/tutorials/recipes/recipes/tuning_guide.html",
    before="noise = torch.randn(x.shape).to(device)",
    after="noise = torch.randn(x.shape, device=device)",
    look=look,
    gain=Gain(Time.HOST, 1.08),
    safe_fix=True,
)
