"""`host-memory-growth`: what each step leaves in host memory is never let go."""

import ast
import re
from collections.abc import Iterable, Iterator

from flyball_audit.definition import Definition
from flyball_audit.finding import Gain, Severity, Time
from flyball_audit.flow.values import Tag
from flyball_audit.given import argument, is_constant
from flyball_audit.guards import Rarity
from flyball_audit.loops import Turns
from flyball_audit.module import Function, last_name
from flyball_audit.project import Module, Project
from flyball_audit.regions import Region
from flyball_audit.rule import LIKELY, SUSPECTED, Match, Rule

_TO_HOST = frozenset({"cpu", "numpy"})
_SMALL = frozenset({
    "item", "mean", "sum", "max", "min", "norm", "float", "int", "argmax", "argmin", "std", "var", "len", "round",
})  # fmt: skip
"""What makes a number, or a few, of a tensor."""

_MEANT_TO_GROW = re.compile(r"buffer|replay|memory|rollout|traject|queue|window|cache", re.IGNORECASE)
_LETTING_GO = frozenset({"clear", "pop", "popleft", "popitem", "remove"})
_OFTEN = frozenset({None, Rarity.ACCUMULATED, Rarity.CONFIG, Rarity.RANK})
_LOOPS = (ast.For, ast.AsyncFor, ast.While)


def look(module: Module, project: Project) -> Iterator[Match]:
    """Lists of tensors, or of models, in training loops, caches without an end in data sets, maps that stay open."""
    for turns in project.loops.training_of(module):
        for region in project.loops.regions(turns):
            yield from _appended(project, turns, region)
    yield from _models(module, project)
    yield from _cached(module, project)
    yield from _mapped(module, project)


def _appended(project: Project, turns: Turns, region: Region) -> Iterator[Match]:
    for call in region.all(ast.Call):
        held = call.func.value if isinstance(call.func, ast.Attribute) and call.args else None
        if held is None or last_name(call) not in {"append", "extend"} or region.rarity(call) not in _OFTEN:
            continue
        if _is_large(project, region, call.args[0]) and _is_plain_list(project, region, held):
            severity = _outlives(turns, region, held)
            if severity is not None:
                yield _match(turns, region, call, severity)


def _is_large(project: Project, region: Region, node: ast.expr) -> bool:
    """Whether a whole tensor in host memory is kept: brought there, or as the loader gave it."""
    calls = [each for each in ast.walk(node) if isinstance(each, ast.Call)]
    if any(last_name(each) in _SMALL for each in calls):
        return False
    value = project.flow.value(region.module, node)
    if value.has(Tag.BATCH) and not value.has(Tag.DEVICE):
        return True
    for each in calls:
        to_host = last_name(each) in _TO_HOST or (
            last_name(each) == "to" and each.args and is_constant(each.args[0], "cpu")
        )
        if to_host and isinstance(each.func, ast.Attribute):
            held = project.flow.value(region.module, each.func.value)
            if held.tags & {Tag.OUTPUT, Tag.DEVICE, Tag.TENSOR} and not held.tags & {Tag.LOSS, Tag.NORM}:
                return True
    return False


def _is_plain_list(project: Project, region: Region, held: ast.expr) -> bool:
    if _MEANT_TO_GROW.search(ast.unparse(held)) or project.flow.value(region.module, held).definition is not None:
        return False
    return not (project.origins.of(region.module, held) or "").startswith("collections.deque")


def _outlives(turns: Turns, region: Region, held: ast.expr) -> Severity | None:
    """How bad it is: kept over epochs, or for one; None where it is let go."""
    name = held.attr if isinstance(held, ast.Attribute) else held.id if isinstance(held, ast.Name) else None
    if name is None or _is_let_go(region.module, held, name):
        return None
    if isinstance(held, ast.Attribute):
        return Severity.WARNING
    function = turns.module.function_of(turns.node)
    if region.root is not turns.node or turns.hook_of is not None:
        return None  # a local list of a function that the loop calls goes with the call
    around = [each for each in turns.module.ancestors(turns.node) if isinstance(each, _LOOPS)]
    if any(_begins_in(turns.module, loop, name) for loop in around if turns.module.function_of(loop) is function):
        return None
    return Severity.WARNING if around else Severity.NOTE


def _begins_in(module: Module, loop: ast.AST, name: str) -> bool:
    """Whether an outer loop gives a variable a new list in each of its turns."""
    for assigned in module.all(ast.Assign):
        names = {each.id for target in assigned.targets for each in ast.walk(target) if isinstance(each, ast.Name)}
        if name in names and loop in module.ancestors(assigned):
            return True
    return False


def _is_let_go(module: Module, held: ast.expr, name: str) -> bool:
    """Whether anything in the file empties it: a call, a deletion, a new list outside `__init__`."""
    if _is_emptied(module.all(ast.Call), module.all(ast.Delete), name):
        return True
    if not isinstance(held, ast.Attribute):
        return False
    for assigned in module.all(ast.Assign):
        function = module.function_of(assigned)
        if (
            any(_last(each) == name for each in assigned.targets)
            and function is not None
            and function.name != "__init__"
        ):
            return True
    return False


def _is_emptied(calls: Iterable[ast.Call], deletions: Iterable[ast.Delete], name: str) -> bool:
    """Whether a call or a deletion takes something out of what has that name."""
    asked = (each.func for each in calls if last_name(each) in _LETTING_GO)
    held: list[ast.expr] = [each.value for each in asked if isinstance(each, ast.Attribute)]
    for deleted in deletions:
        held += [each.value if isinstance(each, ast.Subscript) else each for each in deleted.targets]
    return any(_last(each) == name for each in held)


def _last(node: ast.expr) -> str | None:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else None


def _match(turns: Turns, region: Region, call: ast.Call, severity: Severity) -> Match:
    module = region.module
    where = f"the loop at {turns.module.path}:{turns.node.lineno}"
    return Match(
        call,
        f"`{module.quote(call)}` keeps a tensor of each step in host memory",
        f"each iteration of {where} adds a tensor, and nothing in the file frees it",
        LIKELY if severity is Severity.WARNING else SUSPECTED,
        severity,
        module=module,
    )


def _models(module: Module, project: Project) -> Iterator[Match]:
    """Lists in which loops around training keep the whole model, again and again."""
    training = [each.node for each in project.loops.training_of(module)]
    for call in module.calls_named("append"):
        held = call.func.value if isinstance(call.func, ast.Attribute) and len(call.args) == 1 else None
        around = [each for each in module.ancestors(call) if isinstance(each, _LOOPS)]
        if not isinstance(held, ast.Name) or not around or not _is_weights(call.args[0]):
            continue
        turns = around[-1]
        trains = any(each is turns or turns in module.ancestors(each) for each in training)
        begins = any(_begins_in(module, each, held.id) for each in around)
        thinned = _is_emptied(module.repeated(turns, ast.Call), module.repeated(turns, ast.Delete), held.id)
        if trains and not begins and not thinned:
            yield Match(
                call,
                f"`{module.quote(call)}` keeps a copy of the whole model",
                f"each iteration of the loop at {module.path}:{turns.lineno} adds a copy, and none is freed before "
                "the loop ends",
                SUSPECTED,
                Severity.NOTE,
                change="Keep only the best one, or write each copy to disk.",
            )


def _is_weights(kept: ast.expr) -> bool:
    """Whether it is a copy of a model, or of its weights."""
    calls = [last_name(each) for each in ast.walk(kept) if isinstance(each, ast.Call)]
    return "state_dict" in calls and bool(_COPYING.intersection(calls))


_COPYING = frozenset({"deepcopy", "clone"})


_FEW = re.compile(r"rate|freq|size|shape|class|label|lang|kind|type|mode|device|worker|split", re.IGNORECASE)
"""In keys of which there are a few, however many samples: one resampler for each rate."""


def _cached(module: Module, project: Project) -> Iterator[Match]:
    """Dictionaries of a data set that each new sample makes longer."""
    for function in module.functions:
        holder = module.class_of(function) if function.name == "__getitem__" else None
        if holder is None or not _is_dataset(project, module, holder):
            continue
        for assigned in module.all(ast.Assign):
            target = assigned.targets[0]
            inside = isinstance(target, ast.Subscript) and isinstance(target.value, ast.Attribute)
            if inside and module.function_of(assigned) is function and isinstance(target, ast.Subscript):
                name = _last(target.value)
                few = _FEW.search(ast.unparse(target.slice))
                if name is not None and not few and not _is_let_go(module, ast.Name(name), name):
                    yield Match(
                        assigned,
                        f"`{module.quote(target.value)}` keeps every sample that was ever requested",
                        "it has no size limit, and each worker of the loader fills its own copy",
                        SUSPECTED,
                        Severity.NOTE,
                    )


def _is_dataset(project: Project, module: Module, holder: ast.ClassDef) -> bool:
    return any(each.startswith("torch.utils.data.") for each in project.flow.bases(Definition(module, holder)))


def _mapped(module: Module, project: Project) -> Iterator[Match]:
    """Maps of files that are opened once, and read in every step."""
    if "memmap" not in module.source.text and "mmap_mode" not in module.source.text:
        return
    for call in module.all(ast.Call):
        if not _is_map(module, call):
            continue
        function = module.function_of(call)
        holder = module.class_of(function) if function is not None else None
        statement = module.parent(call)
        if isinstance(statement, ast.Assign) and not (holder and _is_dataset(project, module, holder)):
            name = _last(statement.targets[0])
            if name is not None and _is_read_in_steps(project, module, function, statement.targets[0], name):
                yield Match(
                    call,
                    f"`{name}` is a memory map that stays open for the whole run",
                    "each step reads other parts of it, and every page that was read counts as memory of this process",
                    SUSPECTED,
                    Severity.NOTE,
                    change="Open the map again for each batch, which takes microseconds. The pages that were read "
                    "can then be freed.",
                )


def _is_map(module: Module, call: ast.Call) -> bool:
    name = module.qualified(call.func)
    if name == "numpy.load":
        mode = argument(call, "mmap_mode", 1)
        return mode is not None and not is_constant(mode, None)
    return name in {"numpy.memmap", "numpy.lib.format.open_memmap"}


def _is_read_in_steps(project: Project, module: Module, function: Function | None, target: ast.expr, name: str) -> bool:
    """Whether steps read a map that none of them opens."""
    known = project.connected(module)
    for turns in project.loops.training:
        regions = project.loops.regions(turns) if turns.module in known else ()
        if any(region.root is function or region.holds(target) for region in regions if region.module is module):
            continue
        if any(_reads(region, target, name, function) for region in regions if region.module is module):
            return True
    return False


def _reads(region: Region, target: ast.expr, name: str, function: Function | None) -> bool:
    module = region.module
    nodes: Iterable[ast.Attribute | ast.Name] = module.all(ast.Name)
    if isinstance(target, ast.Attribute):
        nodes = module.all(ast.Attribute)
    for node in nodes:
        if _last(node) != name or not isinstance(node.ctx, ast.Load) or not region.holds(node):
            continue
        here = module.function_of(node)
        own = (
            isinstance(node, ast.Attribute) or here is function or (function is None and not _binds(module, here, name))
        )
        if own and region.rarity(node) in _OFTEN:
            return True
    return False


def _binds(module: Module, function: Function | None, name: str) -> bool:
    return function is not None and module.binds(function, name)


RULE = Rule(
    id="host-memory-growth",
    severity=Severity.WARNING,
    summary="Host memory grows with each step.",
    cause="Tensors that are kept step after step, or more and more pages of a memory map, fill the host's memory "
    "until the kernel kills this process or another one.",
    change="Keep numbers instead of tensors, keep only the last N (`deque(maxlen=N)`), or write them out and clear "
    "the list.",
    expected="memory stays constant; no time by itself, but up to a whole run that would have been killed",
    source="nanoGPT opens its memory map again for each batch for this reason: "
    "https://github.com/karpathy/nanoGPT/blob/master/train.py",
    before="outputs.append(out.detach().cpu())",
    after="hits += (out.argmax(1) == y).sum()",
    look=look,
    gain=Gain(Time.MEMORY, 1.0),
)
