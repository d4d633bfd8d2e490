"""What a call gives: of a tensor's or a model's method, of a library's function, of the project's own code."""

import ast
import re
from collections.abc import Sequence
from typing import NamedTuple

from flyball_planner.audit.flow.expressions import attribute_of, combine, evaluate, iterated
from flyball_planner.audit.flow.frames import Frame
from flyball_planner.audit.flow.library import (
    CREATION,
    HOST_BUILTINS,
    HOST_FUNCTIONS,
    HOST_MODULES,
    HOST_PACKAGES,
    LOSSES,
    METADATA,
    PASSING,
    TENSOR_PACKAGES,
    TO_HOST,
    WRAPPERS,
    made,
)
from flyball_planner.audit.flow.values import (
    LOSS,
    MODEL,
    ON_CPU,
    ON_DEVICE,
    ON_HOST,
    OUTPUT,
    PARAMETER,
    TENSOR,
    UNKNOWN,
    Tag,
    Value,
    element_of,
    flat,
    join,
    join_all,
)


class Arguments(NamedTuple):
    """What a call hands over; `complete` is False where `*args` or `**kwargs` hide some."""

    positional: tuple[Value, ...]
    keywords: tuple[tuple[str, Value], ...]
    complete: bool

    @property
    def all(self) -> tuple[Value, ...]:
        """Every value handed over."""
        return self.positional + tuple(value for _, value in self.keywords)

    def keyword(self, name: str) -> Value | None:
        """A keyword's value."""
        return dict(self.keywords).get(name)


def call(frame: Frame, node: ast.Call) -> Value:
    """The value of a call."""
    called = evaluate(frame, node.func)
    given = _arguments(frame, node)
    value = _method(frame, node, given) if isinstance(node.func, ast.Attribute) else None
    if value is None:
        value = call_value(frame, node, called, given)
    if (
        value.made_at is None
        and value.made_by is None
        and called.name
        and (value.tags & _MADE_BY_CALLS or value == UNKNOWN)
    ):
        value = value._replace(made_by=called.name, made_at=(frame.module, node))
    return flat(value)


_MADE_BY_CALLS = frozenset(
    {Tag.LOADER, Tag.OPTIMIZER, Tag.SCHEDULER, Tag.SCALER, Tag.MODEL, Tag.TRAINER, Tag.DATASET, Tag.CPU}
)


def call_value(frame: Frame, node: ast.Call, called: Value, given: Arguments) -> Value:
    """What calling a value gives."""
    if called.definition is not None:
        return _own(frame, node, called, given)
    if called.name is not None:
        return _library(frame, called.name, given)
    if called.has(Tag.CRITERION):
        return _loss(frame, given)
    if called.has(Tag.MODEL):
        return OUTPUT if frame.grad else OUTPUT.without(Tag.GRAPH)
    if called.tags == _SOMETHING_ON_DEVICE:  # `net.cuda()` that is called is a module
        return OUTPUT if frame.grad else OUTPUT.without(Tag.GRAPH)
    return _unknown_with_tensors(frame, node, given)


_SOMETHING_ON_DEVICE = frozenset({Tag.DEVICE})


def _unknown_with_tensors(frame: Frame, node: ast.Call, given: Arguments) -> Value:
    """An argument or attribute that is called with tensors on the device: a module in all likelihood."""
    if not any(each.on_device for each in given.all):
        return UNKNOWN
    if isinstance(node.func, ast.Attribute) and frame.values.get(node.func.value, UNKNOWN).has(Tag.MODEL):
        return combine(given.all).tagged(Tag.GRAPH)
    own = (
        isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name) and node.func.value.id == "self"
    )
    if own or isinstance(node.func, ast.Name):
        return Value(frozenset({Tag.DEVICE, Tag.OUTPUT}))
    return UNKNOWN


def _arguments(frame: Frame, node: ast.Call) -> Arguments:
    values = [evaluate(frame, each) for each in node.args]
    keywords = [(each.arg or "", evaluate(frame, each.value)) for each in node.keywords]
    return handed(node, values, keywords)


def handed(node: ast.Call, values: Sequence[Value], keywords: Sequence[tuple[str, Value]]) -> Arguments:
    """What a call hands over, as far as its place among the arguments is known: up to the first `*`."""
    star = next((number for number, each in enumerate(node.args) if isinstance(each, ast.Starred)), None)
    complete = star is None and all(name for name, _ in keywords)
    return Arguments(tuple(values[:star]), tuple(keywords), complete)


def _own(frame: Frame, node: ast.Call, called: Value, given: Arguments) -> Value:
    """A function, a class, or an instance of the project's."""
    flow = frame.flow
    assert called.definition is not None  # noqa: S101  the caller asked
    if not isinstance(called.definition.node, ast.ClassDef):
        return flow.run(frame, called.definition, called.element, given)
    if not called.is_instance:
        return flow.instance(frame, node, called, given)
    result = flow.call_method(frame, called, "forward" if called.has(Tag.MODEL) else "__call__", given)
    if called.has(Tag.CRITERION):
        return _loss(frame, given)
    if called.has(Tag.MODEL):
        return _as_output(frame, result or UNKNOWN)
    return result or UNKNOWN


def _as_output(frame: Frame, value: Value) -> Value:
    """What a module's forward gives is on the device, unless it is seen to be something else."""
    if value.tags & {Tag.HOST, Tag.CPU} or value.is_instance:
        return value
    if value.items is not None:
        return value._replace(items=tuple(_as_output(frame, each) for each in value.items))
    if value.fields:
        return value._replace(fields=tuple((name, _as_output(frame, each)) for name, each in value.fields))
    if value.element is not None and not value.tags:
        return value._replace(element=_as_output(frame, value.element))
    tags = {Tag.DEVICE, Tag.OUTPUT, Tag.GRAPH} if frame.grad else {Tag.DEVICE, Tag.OUTPUT}
    return Value(value.tags | tags)


def _loss(frame: Frame, given: Arguments) -> Value:
    if given.all and all(each.tags & {Tag.CPU, Tag.HOST} for each in given.all):
        return ON_CPU.tagged(Tag.LOSS)
    return LOSS if frame.grad else LOSS.without(Tag.GRAPH)


def _library(frame: Frame, name: str, given: Arguments) -> Value:
    """A function or class of a library, by its full name."""
    if name in WRAPPERS:
        return given.positional[0] if given.positional else UNKNOWN
    if name in PASSING:
        return _passed(frame, given)
    if name in HOST_BUILTINS or name.partition(".")[0] in HOST_PACKAGES:
        return ON_HOST
    if name.startswith("builtins."):
        return _builtin(frame, name.removeprefix("builtins."), given)
    known = made(name)
    if known is not None:
        return known
    if LOSSES.match(name):
        return _loss(frame, given)
    last = name.rpartition(".")[2]
    if name.startswith(TENSOR_PACKAGES) and (not last[:1].isupper() or last in CREATION):
        return _of_torch(name, given, frame)
    return Value(fields=given.keywords) if last[:1].isupper() and given.complete else UNKNOWN


def _passed(frame: Frame, given: Arguments) -> Value:
    value = given.positional[0] if given.positional else given.keyword("iterable") or UNKNOWN
    if value.tags & {Tag.LOADER, Tag.DATASET} or value.items is not None:
        return value
    return Value(element=iterated(frame, value)) if value != UNKNOWN else UNKNOWN


def _builtin(frame: Frame, name: str, given: Arguments) -> Value:
    each = [iterated(frame, value) for value in given.positional]
    if name == "enumerate":
        return Value(element=Value(items=(ON_HOST, each[0] if each else UNKNOWN)))
    if name == "zip":
        return Value(element=Value(items=tuple(each)))
    if name == "next":
        return each[0] if each else UNKNOWN
    if name in {"sum", "max", "min", "abs", "pow", "divmod"}:
        return combine(each if name == "sum" or len(given.positional) == 1 else given.positional)
    if name == "getattr" and len(given.positional) > 1 and given.positional[1].literal:
        return attribute_of(frame, given.positional[0], str(given.positional[1].literal.value))
    return UNKNOWN


def _of_torch(name: str, given: Arguments, frame: Frame) -> Value:
    last = name.rpartition(".")[2]
    if name.startswith("torch.") and name.count(".") == 1:
        if last in HOST_FUNCTIONS or name.startswith(HOST_MODULES):
            return _device_object(given) if last == "device" else ON_HOST
        if last in CREATION:
            return _created(frame, given)
    if name.startswith(HOST_MODULES):
        return ON_HOST
    if last in {"load", "grad"}:
        return UNKNOWN if last == "load" else ON_DEVICE
    device = given.keyword("device")
    found = combine([_inside(each) for each in given.all])
    if found.tags & {Tag.DEVICE, Tag.CPU, Tag.TENSOR}:
        return found.without(Tag.LOSS) if device is None else placed(found, device)
    return TENSOR if name.count(".") == 1 and last.islower() else UNKNOWN


def _inside(value: Value) -> Value:
    """A container's contents, for functions that take lists of tensors."""
    held = element_of(value) if not value.tags else None
    return value if held is None else held


def _device_object(given: Arguments) -> Value:
    named = given.positional[0].literal if given.positional else None
    return Value(made_by="torch.device", literal=named if named and named.value == "cpu" else None)


def _created(frame: Frame, given: Arguments) -> Value:
    device = given.keyword("device")
    if device is not None:
        return placed(TENSOR, device)
    if any(each.on_device for each in given.all):
        return TENSOR
    return TENSOR if frame.flow.default_device_changes else ON_CPU


def placed(value: Value, device: Value) -> Value:
    """A tensor after a move: on the device, unless that is the host."""
    on_cpu = device.literal is not None and device.literal.value in {"cpu", None}
    tags = value.tags - {Tag.CPU, Tag.DEVICE}
    return Value(tags | {Tag.TENSOR, Tag.CPU if on_cpu or device.has(Tag.CPU) else Tag.DEVICE})


def _method(frame: Frame, node: ast.Call, given: Arguments) -> Value | None:
    """A method whose meaning follows from what it is called on; None if it is the project's, or not known."""
    assert isinstance(node.func, ast.Attribute)  # noqa: S101  the caller asked
    held, name = frame.values.get(node.func.value, UNKNOWN), node.func.attr
    placed_somewhere = held.tags == _SOMETHING_ON_DEVICE and name in _MODEL_ONLY
    if placed_somewhere or (held.is_unknown and name in {"parameters", "named_parameters"}):
        return _of_model(frame, MODEL, name)
    if (
        held.tags & {Tag.TENSOR, Tag.DEVICE, Tag.CPU, Tag.BATCH}
        and not held.has(Tag.LOADER)
        and not held.has(Tag.MODEL)
    ):
        return _of_tensor(held, name, given)
    if (
        name in {"items", "values", "keys", "get", "pop", "copy"}
        and (held.fields or held.element)
        and not held.is_instance
    ):
        return _of_mapping(held, name, given)
    if held.has(Tag.ACCELERATOR):
        return _of_accelerator(name, given)
    if held.has(Tag.MODEL):
        return _of_model(frame, held, name)
    if held.has(Tag.HOST) and held.definition is None:
        return ON_HOST
    if held.is_unknown and _moves_to_device(node, given):
        return Value(_SOMETHING_ON_DEVICE, made_by=held.made_by)
    return None


_MODEL_ONLY = frozenset({
    "parameters", "named_parameters", "buffers", "modules", "named_modules", "children", "state_dict", "train",
    "eval", "named_children",
})  # fmt: skip

_DEVICE_WORDS = re.compile(r"(^|[._])(device|dev|cuda|gpu|(local_)?rank)(_?id)?$", re.IGNORECASE)


def _moves_to_device(node: ast.Call, given: Arguments) -> bool:
    """`.cuda()`, or `.to()` of what is a device by its making, its text or its name."""
    assert isinstance(node.func, ast.Attribute)  # noqa: S101  the caller asked
    if node.func.attr != "to" or not given.positional:
        return node.func.attr == "cuda"
    target = given.positional[0]
    if target.literal is not None:
        return isinstance(target.literal.value, str | int) and target.literal.value != "cpu"
    return target.made_by == "torch.device" or bool(_DEVICE_WORDS.search(ast.unparse(node.args[0])))


def _of_tensor(held: Value, name: str, given: Arguments) -> Value:
    if name in TO_HOST or name in METADATA or (name == "type" and not given.positional):
        return ON_HOST
    if name == "cpu":
        return Value((held.tags - {Tag.DEVICE}) | {Tag.CPU})
    if name in {"cuda", "to", "xpu", "npu"}:
        return _moved(held, name, given)
    if name in {"items", "values", "keys", "get"} and not held.has(Tag.TENSOR):
        return _of_mapping(Value(element=Value(held.tags)), name, given)
    if name in {"detach", "detach_"}:
        return held.without(Tag.GRAPH)
    if name == "backward":
        return ON_HOST
    found = combine((Value(held.tags - {Tag.PARAMETER}), *given.positional))
    if held.has(Tag.GRADIENT) and name == "norm":
        found = found.tagged(Tag.NORM)
    return Value(found.tags, element=Value(found.tags)) if name in {"split", "chunk", "unbind"} else found


def _moved(held: Value, name: str, given: Arguments) -> Value:
    if name != "to":
        return placed(held, UNKNOWN)
    target = given.keyword("device") or (given.positional[0] if given.positional else None)
    if target is None or (target.name or "").startswith("torch.") or target.made_by == "torch.dtype":
        return held
    return placed(held, target)


def _of_mapping(held: Value, name: str, given: Arguments) -> Value:
    if name == "copy":
        return held
    element = element_of(held) or UNKNOWN
    if name == "items":
        return Value(element=Value(items=(ON_HOST, element)))
    if name == "values":
        return Value(element=element)
    if name == "keys":
        return Value(element=ON_HOST)
    key = given.positional[0].literal if given.positional else None
    known = held.field(key.value) if key is not None and isinstance(key.value, str) else None
    return known if known is not None else element


def _of_accelerator(name: str, given: Arguments) -> Value:
    if name in {"prepare", "setup", "setup_dataloaders", "setup_module", "setup_optimizers"}:
        ready = tuple(each.tagged(Tag.DEVICE) if each.has(Tag.LOADER) else each for each in given.positional)
        return ready[0] if len(ready) == 1 else Value(items=ready)
    if name in {"prepare_model", "prepare_optimizer", "prepare_scheduler", "unwrap_model", "prepare_data_loader"}:
        return given.positional[0] if given.positional else UNKNOWN
    if name in {
        "gather",
        "gather_for_metrics",
        "reduce",
        "pad_across_processes",
        "all_gather",
        "all_reduce",
        "to_device",
    }:
        return given.positional[0].without(Tag.LOSS) if given.positional else UNKNOWN
    if name in {"clip_grad_norm_", "clip_gradients"}:
        return Value(frozenset({Tag.DEVICE, Tag.TENSOR, Tag.NORM}))
    return UNKNOWN


_SELF_RETURNING = frozenset({
    "to", "cuda", "cpu", "train", "eval", "half", "float", "bfloat16", "double", "requires_grad_", "apply",
    "share_memory", "to_empty", "xpu", "type",
})  # fmt: skip


def _of_model(frame: Frame, held: Value, name: str) -> Value | None:
    if held.definition is not None and frame.flow.method(held.definition, name) is not None:
        return None
    if name in _SELF_RETURNING:
        return held
    if name in {"parameters", "buffers"}:
        return Value(element=PARAMETER)
    if name in {"named_parameters", "named_buffers"}:
        return Value(element=Value(items=(ON_HOST, PARAMETER)))
    if name in {"modules", "children"}:
        return Value(element=MODEL)
    if name in {"named_modules", "named_children"}:
        return Value(element=Value(items=(ON_HOST, MODEL)))
    if name == "state_dict":
        return Value(element=ON_DEVICE)
    if name in {"forward", "generate", "sample"} and held.definition is None:
        return OUTPUT if frame.grad else OUTPUT.without(Tag.GRAPH)
    return None


def joined_arguments(sites: Sequence[Arguments]) -> Arguments:
    """What all of several calls hand over, position by position, keyword by keyword."""
    longest = max((len(each.positional) for each in sites), default=0)
    positional = tuple(
        join_all(each.positional[index] for each in sites if index < len(each.positional)) for index in range(longest)
    )
    keywords: dict[str, Value] = {}
    for each in sites:
        for name, value in each.keywords:
            keywords[name] = join(keywords[name], value) if name in keywords else value
    return Arguments(positional, tuple(keywords.items()), all(each.complete for each in sites))
