"""`blocking-transfer`: batches are pinned, and the host waits for their copies all the same."""

import ast
import re
from collections.abc import Iterator

from flyball_audit.finding import Action, Change, Edit, Severity
from flyball_audit.flow.values import Tag
from flyball_audit.given import argument, handed_over, hides_arguments, is_constant
from flyball_audit.loaders import Loader, behind, loaders, loops_over, named_for
from flyball_audit.loops import Kind, Turns
from flyball_audit.module import Function, last_name
from flyball_audit.names import code_of
from flyball_audit.project import Module, Project
from flyball_audit.regions import Region
from flyball_audit.rule import CERTAIN, SUSPECTED, Match, Rule
from flyball_audit.walks import EVALUATION


def look(module: Module, project: Project) -> Iterator[Match]:
    """Copies to the device, in turns that get pinned batches."""
    loops = project.loops
    seen = (*loops.training_of(module), *loops.evaluation_of(module), *_supposed(project, module))
    for turns in (*seen, *_others(project, module, {each.node for each in seen})):
        confidence = _pinned(project, turns)
        if confidence is None:
            continue
        safe = _gives_tensors(project, turns)
        for region in project.loops.regions(turns):
            for call in region.all(ast.Call):
                if _blocks(project, region, call):
                    tensor = safe or _is_asked_for_tensor(region, call)
                    yield _match(turns, region, call, confidence, "non_blocking", safe=tensor)
                elif _is_handed_batch(project, region, call):
                    for copy, name in (*_in_lambdas(call), *_in_helpers(project, region, call)):
                        yield _match(turns, region, copy, confidence, name, safe=safe)


def _supposed(project: Project, module: Module) -> Iterator[Turns]:
    """The loops that go through batches in all likelihood."""
    for kind in Kind:
        yield from (each for each in project.loops.supposed_of(module, kind) if isinstance(each.node, ast.For))


def _others(project: Project, module: Module, seen: set[ast.AST]) -> Iterator[Turns]:
    """The loops over loaders of the files that neither train nor evaluate: they predict, or gather what is needed."""
    for each in project.connected(module):
        for loader in loaders(each, project):
            for home, loop in loops_over(project, loader):
                if home is module and loop not in seen:
                    seen.add(loop)
                    yield Turns(module, loop, Kind.EVALUATION)


def _pinned(project: Project, turns: Turns) -> float | None:
    """How sure it is that each loader pins whose batches a turn is given, or fetches; None where one is seen not to.

    Where no loader is seen behind them, those for training in files that know this one are supposed to be it, or one
    that pins in files that know those.
    """
    found = [each for module, node in _sources(project, turns) for each in behind(project, module, node)]
    if found:
        return CERTAIN if all(_pins(each) for each in found) else None
    beside = (loader for each in project.beside(turns.module) for loader in loaders(each, project))
    training = [each for each in beside if not EVALUATION.search(named_for(each))]
    pinned = all(_pins(each) for each in training) if training else _speaks_of_pinning(project, turns.module)
    return SUSPECTED if pinned else None


def _gives_tensors(project: Project, turns: Turns) -> bool:
    """Whether all that can be moved of a batch are tensors: PyTorch collates nothing else that has such a method.

    A class of one's own, which a `collate_fn` may make, need not take `non_blocking`.
    """
    found = [each for module, node in _sources(project, turns) for each in behind(project, module, node)]
    return bool(found) and all(
        each.misses("collate_fn") and not is_constant(each.argument("batch_size"), None) for each in found
    )


def _is_asked_for_tensor(region: Region, call: ast.Call) -> bool:
    """Whether a condition around a copy asks if it is a tensor: `if torch.is_tensor(batch)`."""
    held = code_of(call.func.value) if isinstance(call.func, ast.Attribute) else ""
    tests = (code_of(each.test) for each in region.guards(call) if isinstance(each.test, ast.Call))
    return any(each in {f"torch.is_tensor({held})", f"isinstance({held}, torch.Tensor)"} for each in tests)


def _speaks_of_pinning(project: Project, module: Module) -> bool:
    return any(each.says(_PINNING) for each in project.connected(module))


_PINNING = re.compile(r"pin_memory=True")


def _pins(loader: Loader) -> bool:
    """Whether a loader pins; what an expression decides, such as whether there is a device, does where it matters."""
    said = loader.constant("pin_memory")
    given = loader.argument("pin_memory") is not None or "pin_memory" in loader.within
    return said is True or (said is ... and given)


def _sources(project: Project, turns: Turns) -> Iterator[tuple[Module, ast.expr]]:
    """What a turn gets batches from: the loop's own iterable, or what it asks for the next."""
    if isinstance(turns.node, ast.For):
        yield turns.module, turns.node.iter
    for region in project.loops.regions(turns):
        for call in region.all(ast.Call):
            if last_name(call) == "next" and call.args:
                yield region.module, call.args[0]


def _blocks(project: Project, region: Region, call: ast.Call) -> bool:
    if not _is_copy(call) or not isinstance(call.func, ast.Attribute) or hides_arguments(call):
        return False
    said = argument(call, "non_blocking")
    if (said is not None and not is_constant(said, False)) or any(is_constant(each, True) for each in call.args):
        return False
    return _is_batch(project, region, call.func.value) and project.flow.value(region.module, call).on_device


def _is_copy(call: ast.Call) -> bool:
    return last_name(call) in {"to", "cuda"} and isinstance(call.func, ast.Attribute)


def _is_batch(project: Project, region: Region, node: ast.expr) -> bool:
    held = project.flow.value(region.module, node)
    return held.has(Tag.BATCH) and not held.has(Tag.DEVICE)


def _is_handed_batch(project: Project, region: Region, call: ast.Call) -> bool:
    return any(_is_batch(project, region, each) for each in call.args)


def _in_lambdas(call: ast.Call) -> Iterator[tuple[ast.Call, str]]:
    """The copies that a call is to make of each part of a batch: `tree_map(lambda x: x.to(device), batch)`."""
    for each in (given for given in call.args if isinstance(given, ast.Lambda)):
        names = {own.arg for own in each.args.args}
        copies = (copy for copy in ast.walk(each.body) if isinstance(copy, ast.Call) and _is_copy(copy))
        yield from ((copy, "non_blocking") for copy in copies if _waits_for_own(copy, names))


def _waits_for_own(copy: ast.Call, names: set[str]) -> bool:
    held = copy.func.value if isinstance(copy.func, ast.Attribute) else None
    own = isinstance(held, ast.Name) and held.id in names
    to_device = last_name(copy) == "cuda" or (len(copy.args) == 1 and _DEVICES.search(ast.unparse(copy.args[0])))
    return own and bool(to_device) and argument(copy, "non_blocking") is None and not hides_arguments(copy)


def _in_helpers(project: Project, region: Region, call: ast.Call) -> Iterator[tuple[ast.Call, str]]:
    """The call itself, where it leaves it at a helper's own default to wait for the copy."""
    for home, function in project.flow.callees(region.module, call):
        waiting = [] if isinstance(function, ast.ClassDef | ast.Lambda) else _left_to_callers(home, function)
        for name in waiting:
            bound = home.class_of(function) is not None
            said = handed_over(function, call, name, bound=bound) if isinstance(function, Function) else None
            if is_constant(said, False) and not hides_arguments(call):
                yield call, name


def _left_to_callers(home: Module, function: ast.AST) -> set[str]:
    """The arguments of a function that tell its copies whether to wait."""
    said = (argument(each, "non_blocking") for each in home.calls_of(function) if _is_copy(each))
    return {each.id for each in said if isinstance(each, ast.Name)}


_DEVICES = re.compile(r"(^|[._\[])(device|dev|gpu|cuda|rank)|^['\"]cuda")


def _match(turns: Turns, region: Region, call: ast.Call, confidence: float, name: str, *, safe: bool) -> Match:
    module = region.module
    seen = (
        "pins its batches"
        if confidence == CERTAIN
        else "seems to pin its batches, as another loader in these files does"
    )
    return Match(
        call,
        f"`{module.quote(call)}` waits until the copy is done",
        f"the loader behind the loop at {turns.module.path}:{turns.node.lineno} {seen}, so the copy could overlap "
        "with kernels",
        confidence,
        module=module,
        edit=Edit((Change(Action.SET_ARGUMENT, module.span(call), "True", name),), safe=safe),
    )


RULE = Rule(
    id="blocking-transfer",
    severity=Severity.NOTE,
    summary="Pinned batches are copied while the host waits.",
    cause="Without `non_blocking=True` the host waits for the copy and for all kernels queued before it. With "
    "pinned memory, this wait is not necessary.",
    change="Use `.to(device, non_blocking=True)`. Kernels queued after the copy still see the whole batch.",
    expected="up to the time of the copy and the wait before it, in each step; no published figure for this change "
    "alone",
    source="PyTorch's “A guide on good usage of non_blocking and pin_memory()”: "
    "https://docs.pytorch.org/tutorials/intermediate/pinmem_nonblock.html",
    before="x = x.to(device)",
    after="x = x.to(device, non_blocking=True)",
    look=look,
    safe_fix=True,
)
