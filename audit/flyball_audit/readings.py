"""What a value is taken for where the host may read it: a tensor on the device, or in all likelihood one."""

import ast
import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from flyball_audit.flow.library import METADATA, TO_HOST
from flyball_audit.flow.values import ON_HOST, UNKNOWN, Tag, Value
from flyball_audit.given import is_constant
from flyball_audit.module import Module, last_name
from flyball_audit.names import code_of
from flyball_audit.regions import Region

if TYPE_CHECKING:
    from flyball_audit.project import Project


def held(project: "Project", region: Region, node: ast.expr) -> Value | None:
    """The value of an expression, if it is a tensor on the device."""
    value = project.flow.value(region.module, node)
    return value if value.on_device and not value.tags & {Tag.MODEL, Tag.LOADER} else None


def supposed(project: "Project", region: Region, call: ast.Call) -> Value | None:
    """What nobody knows, or where it lies, but is called a method of that only tensors have that may wait."""
    if not isinstance(call.func, ast.Attribute) or not _reads_tensor(call, call.func) or _is_brought(call.func.value):
        return None
    value = project.flow.value(region.module, call.func.value)
    unknown = value.is_unknown or value.is_plain
    if _is_somewhere(value) or (unknown and _has_tensors_alone(call.func)):
        return SUPPOSED
    moved = call.func.attr == "cpu" or (call.func.attr == "item" and _is_detached(call.func.value))
    was_number = moved and value.tags == ON_HOST.tags
    return SUPPOSED if was_number else None  # numbers are neither detached nor moved: it is one on other ways alone


def _reads_tensor(call: ast.Call, called: ast.Attribute) -> bool:
    if called.attr == "to":
        return moves_to_host(call)
    if call.args or call.keywords:
        return False
    return called.attr in _OF_TENSORS_ALONE or called.attr == "tolist"


def _has_tensors_alone(called: ast.Attribute) -> bool:
    """Whether what has such a method is a tensor, whatever else is known: arrays have `.tolist()` too."""
    return called.attr != "tolist" or _is_detached(called.value)


def _is_detached(node: ast.expr) -> bool:
    """Whether a chain of methods goes through `.detach()` or `.data`, which arrays have none of."""
    while isinstance(node, ast.Attribute | ast.Call | ast.Subscript):
        if isinstance(node, ast.Attribute) and node.attr in {"detach", "data"}:
            return True
        node = node.func if isinstance(node, ast.Call) else node.value
    return False


def _is_brought(node: ast.expr) -> bool:
    """Whether a chain of methods has brought it to the host already: `loss.detach().numpy()`."""
    while isinstance(node, ast.Attribute | ast.Call | ast.Subscript):
        if isinstance(node, ast.Call) and (last_name(node) in TO_HOST or moves_to_host(node)):
            return True
        node = node.func if isinstance(node, ast.Call) else node.value
    return False


def _is_somewhere(value: Value) -> bool:
    """Whether it is a tensor of which nothing tells where it lies."""
    return Tag.TENSOR in value.tags and not value.tags & _PLACES


_PLACES = frozenset({Tag.DEVICE, Tag.CPU, Tag.HOST, Tag.BATCH})


def somewhere(project: "Project", region: Region, node: ast.expr) -> Value:
    """What PyTorch computes of what nobody knows, or `.any()`, `.all()` of it: a tensor, wherever it lies."""
    value = project.flow.value(region.module, node)
    if _is_somewhere(value) or is_buffer(region, node) or _compares_loss(project, region, node):
        return SUPPOSED
    asks = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in {"any", "all"}
    if not asks or not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.args:
        return UNKNOWN
    return SUPPOSED if project.flow.value(region.module, node.func.value).is_unknown else UNKNOWN


def _compares_loss(project: "Project", region: Region, node: ast.expr) -> bool:
    """Whether what is called a loss, and nobody knows, is asked to be less or more: not one that was kept or summed."""
    if not isinstance(node, ast.Compare) or not isinstance(node.ops[0], ast.Lt | ast.LtE | ast.Gt | ast.GtE):
        return False
    named = [each for each in (node.left, *node.comparators) if isinstance(each, ast.Name | ast.Attribute)]
    losses = [each for each in named if _LOSS_NAMES.search(code_of(each))]
    kept = any(_KEPT_NAMES.search(code_of(each)) for each in named)
    return not kept and any(project.flow.value(region.module, each).is_unknown for each in losses)


_LOSS_NAMES = re.compile(r"(^|_)loss(_[a-z]+)?$")
_KEPT_NAMES = re.compile(
    r"best|min|max|lowest|avg|average|mean|prev|last|old|total|sum|running|ema|epoch|val|eval|test|thresh|patience|weight"
    r"|scale|type|fn|func|every|step",
    re.IGNORECASE,
)
"""In names of losses that are numbers by now, and of settings."""

_OF_TENSORS_ALONE = frozenset({"item", "cpu"})
SUPPOSED = Value(frozenset({Tag.TENSOR, Tag.SUPPOSED}))


def read(project: "Project", region: Region, node: ast.expr) -> Value | None:
    """The same where anything may be handed over: only what is seen to be a tensor, or to come of a computation."""
    value = held(project, region, node)
    return value if value is not None and value.tags & _OF_TENSORS else None


_OF_TENSORS = frozenset({Tag.TENSOR, Tag.LOSS, Tag.GRADIENT, Tag.NORM, Tag.OUTPUT, Tag.BATCH})


def number(project: "Project", region: Region, node: ast.expr) -> Value | None:
    """A tensor on the device, or what is called a loss or a norm and nobody knows: who converts it knows what it is."""
    value = held(project, region, node)
    if value is None and _may_be_tensor(project, region, node):
        return SUPPOSED
    if value is not None:
        return value
    if isinstance(node, ast.Subscript):
        return SUPPOSED if _is_one_of_losses(project, region, node) else None
    if not isinstance(node, ast.Name | ast.Attribute):
        return None
    called = _NUMBER_NAMES.search(node.id if isinstance(node, ast.Name) else node.attr)
    called_so = called is not None and project.flow.value(region.module, node).is_unknown
    return SUPPOSED if called_so or is_buffer(region, node) else None


def _is_one_of_losses(project: "Project", region: Region, entry: ast.Subscript) -> bool:
    """Whether it is a part of what is called losses, and nobody knows: not of a list that the code keeps itself."""
    known = (project.flow.value(region.module, each) for each in (entry, entry.value))
    called = isinstance(entry.value, ast.Name) and _SEVERAL_LOSSES.search(entry.value.id) is not None
    return called and all(each.is_unknown for each in known)


def _may_be_tensor(project: "Project", region: Region, node: ast.expr) -> bool:
    """Whether it is a tensor, wherever it lies, or what nobody knows and has been detached."""
    value = project.flow.value(region.module, node)
    return _is_somewhere(value) or (value.is_unknown and isinstance(node, ast.Call) and _is_detached(node))


_NUMBER_NAMES = re.compile(r"(^|_)(loss|norm)$")
_SEVERAL_LOSSES = re.compile(r"(^|_)loss(es)?(_(components|parts|items|dict|terms|list))?$")


def is_buffer(region: Region, node: ast.expr) -> bool:
    """Whether it is a buffer that its file registers with a module, or is compared with one: `self.steps % 10 == 0`."""
    if isinstance(node, ast.Compare) and not isinstance(node.ops[0], ast.Is | ast.IsNot | ast.In | ast.NotIn):
        return any(is_buffer(region, each) for each in (node.left, *node.comparators))
    if isinstance(node, ast.BinOp):
        return is_buffer(region, node.left) or is_buffer(region, node.right)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr not in METADATA | TO_HOST:
        return is_buffer(region, node.func.value)
    return isinstance(node, ast.Attribute) and node.attr in _buffers(region.module)


def _buffers(module: Module) -> frozenset[str]:
    made = [each.args[0] for each in module.calls_named("register_buffer") if each.args]
    return frozenset(each.value for each in made if isinstance(each, ast.Constant) and isinstance(each.value, str))


def shown(project: "Project", region: Region, node: ast.expr) -> Value | None:
    """The same of a list or dict, too: its text is that of all that it holds."""
    inner = node.value if isinstance(node, ast.Starred) else node
    return read(project, region, inner) or _inside(project, region, inner, _OF_TENSORS)


def logged(project: "Project", region: Region, node: ast.expr) -> Value | None:
    """A tensor on the device, or a dict or list of such: a logger goes through it."""
    return held(project, region, node) or _inside(project, region, node, _OF_TENSORS)


def listed(project: "Project", region: Region, node: ast.expr) -> Value | None:
    """The first tensor on the device in a list of several; of a tensor itself nothing is said."""
    return _inside(project, region, node, _OF_TENSORS)


def _inside(project: "Project", region: Region, node: ast.expr, wanted: frozenset[Tag]) -> Value | None:
    """The first tensor on the device among what a container holds."""
    value = project.flow.value(region.module, node)
    if value.tags or value.is_instance:
        return None
    inner = (*(value.items or ()), *(each for _, each in value.fields), *((value.element,) if value.element else ()))
    found = (each for each in inner if each.on_device and each.tags & wanted)
    return next((each for each in found if not each.tags & {Tag.MODEL, Tag.LOADER}), None)


def stored(project: "Project", region: Region, given: ast.Assign) -> Value | None:
    """What lies on the device and is written into a part of a tensor on the host: `out[i:j] = model(x)`."""
    holders = [each.value for each in given.targets if isinstance(each, ast.Subscript)]
    on_host = any(_is_made_on_host(project, region, each) for each in holders if isinstance(each, ast.Name))
    return read(project, region, given.value) if on_host else None


def _is_made_on_host(project: "Project", region: Region, name: ast.Name) -> bool:
    """Whether PyTorch made what a variable holds, on the host: buffers move with their module, lists hold anything."""
    value = project.flow.value(region.module, name)
    made = value.has(Tag.TENSOR) and (value.made_by or "").startswith("torch.")
    return made and value.has(Tag.CPU) and not value.on_device


def each_read(project: "Project", region: Region, node: ast.expr) -> Value | None:
    """What going through a tensor, or through a generator or list of tensors, asks for a truth value, one by one."""
    if not isinstance(node, ast.GeneratorExp | ast.ListComp):
        return read(project, region, node)
    each = node.elt.values[-1] if isinstance(node.elt, ast.BoolOp) else node.elt
    value = held(project, region, each) or somewhere(project, region, each)
    return value if value.has(Tag.TENSOR) else None


Look = Callable[["Project", Region, ast.expr], Value | None]
"""How it is told whether an argument is a tensor on the device."""


def moves_to_host(call: ast.Call) -> bool:
    """Whether a call asks for a copy on the host: `.cpu()`, `.to("cpu")`."""
    name = last_name(call)
    return name == "cpu" or (name == "to" and any(map(_is_host, _destinations(call))))


def _destinations(call: ast.Call) -> Iterator[ast.expr]:
    """Where a transfer goes, if it says so."""
    yield from call.args[:1]
    yield from (each.value for each in call.keywords if each.arg == "device")


def _is_host(place: ast.expr) -> bool:
    """Whether a device is the host: `"cpu"`, `torch.device("cpu")`."""
    if isinstance(place, ast.Call) and last_name(place) == "device" and place.args:
        place = place.args[0]
    return isinstance(place, ast.Constant) and place.value == "cpu"


def is_non_blocking(call: ast.Call) -> bool:
    """Whether a transfer is told not to wait, or told so by what is known at run time alone."""
    return any(each.arg == "non_blocking" and not is_constant(each.value, False) for each in call.keywords)
