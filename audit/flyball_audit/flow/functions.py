"""What functions and classes of libraries give, by their full names."""

from flyball_audit.flow.derived import combine, iterated
from flyball_audit.flow.frames import Frame
from flyball_audit.flow.handed import Arguments
from flyball_audit.flow.library import (
    CREATION,
    HOST_BUILTINS,
    HOST_FUNCTIONS,
    HOST_MODULES,
    HOST_PACKAGES,
    LOSSES,
    PASSING,
    TENSOR_PACKAGES,
    WRAPPERS,
    made,
)
from flyball_audit.flow.members import attribute_of
from flyball_audit.flow.values import (
    LOSS,
    ON_CPU,
    ON_DEVICE,
    ON_HOST,
    TENSOR,
    UNKNOWN,
    Tag,
    Value,
    element_of,
    placed,
)


def loss_of(frame: Frame, given: Arguments) -> Value:
    """What a criterion gives: on the host where all that it is handed lies there, or was brought there."""
    brought = any(each.has(Tag.CPU, Tag.TENSOR) for each in given.all) and not any(map(_is_away, given.all))
    if brought or (given.all and all(each.tags & {Tag.CPU, Tag.HOST} for each in given.all)):
        return ON_CPU.tagged(Tag.LOSS)
    return LOSS if frame.grad else LOSS.without(Tag.GRAPH)


def _is_away(value: Value) -> bool:
    return Tag.DEVICE in value.tags


def of_library(frame: Frame, name: str, given: Arguments) -> Value:
    """A function or class of a library, by its full name."""
    if name in WRAPPERS:
        return given.positional[0] if given.positional else UNKNOWN
    if name in HOST_BUILTINS:  # of which most calls are
        return ON_HOST
    if name == "builtins.dict":
        return _dict_of(_passed(frame, given)) if given.positional else Value(fields=given.keywords)
    if name in PASSING:
        return _passed(frame, given)
    if name.partition(".")[0] in HOST_PACKAGES:
        return ON_HOST
    if name.startswith("builtins."):
        return _builtin(frame, name.removeprefix("builtins."), given)
    known = made(name)
    if known is not None:
        return known
    if LOSSES.match(name):
        return loss_of(frame, given)
    last = name.rpartition(".")[2]
    if name.startswith(TENSOR_PACKAGES) and (not last[:1].isupper() or last in CREATION):
        return _of_torch(name, given, frame)
    return Value(fields=given.keywords) if last[:1].isupper() and given.complete else UNKNOWN


def _dict_of(given: Value) -> Value:
    """A dict made of pairs holds the second of each."""
    each = given.element
    return Value(element=each.items[1]) if each is not None and each.items and len(each.items) == 2 else given


def _passed(frame: Frame, given: Arguments) -> Value:
    value = given.positional[0] if given.positional else given.keyword("iterable") or UNKNOWN
    if value.tags & {Tag.LOADER, Tag.DATASET} or value.items is not None:
        return value
    return _through(iterated(frame, value), value) if value != UNKNOWN else UNKNOWN


def _builtin(frame: Frame, name: str, given: Arguments) -> Value:
    each = [iterated(frame, value) for value in given.positional]
    if name == "enumerate":
        return _through(Value(items=(ON_HOST, each[0] if each else UNKNOWN)), *given.positional)
    if name == "zip":
        return _through(Value(items=tuple(each)), *given.positional)
    if name == "next":
        return each[0] if each else UNKNOWN
    if name in {"sum", "max", "min", "abs", "pow", "divmod"}:
        return combine(each if name == "sum" or len(given.positional) == 1 else given.positional)
    if name == "getattr" and len(given.positional) > 1 and given.positional[1].literal:
        return attribute_of(frame, given.positional[0], str(given.positional[1].literal.value))
    return UNKNOWN


def _through(element: Value, *over: Value) -> Value:
    """A stream of elements: where the loader was made that it goes through is known behind `enumerate`, too."""
    source = next((each for each in over if each.gives_batches), UNKNOWN)
    return Value(element=element, made_at=source.made_at, made_in=source.made_in)


def _of_torch(name: str, given: Arguments, frame: Frame) -> Value:
    last = name.rpartition(".")[2]
    if name.startswith("torch.") and name.count(".") == 1:
        if last in HOST_FUNCTIONS or name.startswith(HOST_MODULES):
            return _device_object(given) if last == "device" else ON_HOST
        if last in CREATION:
            return _created(frame, given)
    if name.startswith(HOST_MODULES) or last.startswith("is_"):  # PyTorch's own give truth values of Python
        return ON_HOST
    if last in {"load", "grad"}:
        return UNKNOWN if last == "load" else ON_DEVICE
    device = given.keyword("device")
    found = combine([_inside(each) for each in given.all])
    if found.tags & {Tag.DEVICE, Tag.CPU, Tag.TENSOR}:
        return found.without(Tag.LOSS, Tag.SUPPOSED) if device is None else placed(found, device)
    of_tensors = name.count(".") == 1 or name.startswith(_OF_TENSORS)
    return TENSOR if of_tensors and last.islower() else UNKNOWN


_OF_TENSORS = ("torch.nn.functional.", "torch.linalg.", "torch.fft.", "torch.special.")
"""Modules of `torch` whose functions give tensors, whatever they are handed."""


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
    return TENSOR if frame.flow.default_device_changes(frame.module) else ON_CPU
