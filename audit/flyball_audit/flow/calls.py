"""What a call gives: of the project's own functions, classes and instances, or of what is handed over."""

import ast
import re

from flyball_audit.definition import Definition
from flyball_audit.flow.derived import combine
from flyball_audit.flow.expressions import evaluate
from flyball_audit.flow.frames import Frame
from flyball_audit.flow.functions import loss_of, of_library
from flyball_audit.flow.handed import NOTHING, Arguments, handed, with_model
from flyball_audit.flow.methods import SOMETHING_ON_DEVICE, of_method
from flyball_audit.flow.values import (
    NORM,
    OUTPUT,
    UNKNOWN,
    Tag,
    Value,
    flat,
    join_all,
)
from flyball_audit.module import Function


def call(frame: Frame, node: ast.Call) -> Value:
    """The value of a call."""
    called = evaluate(frame, node.func)
    given = _arguments(frame, node)
    value = of_method(frame, node, given) if isinstance(node.func, ast.Attribute) else None
    if value is None:
        value = call_value(frame, node, called, given)
    if (
        value.made_at is None
        and value.made_by is None
        and called.name
        and (value.tags & _MADE_BY_CALLS or value == UNKNOWN or value.gives_batches or value.is_plain)
    ):
        value = Value(value.tags, value.name, called.name, (frame.module, node), *value[4:])
    return flat(value)


_MADE_BY_CALLS = frozenset(
    {Tag.LOADER, Tag.OPTIMIZER, Tag.SCHEDULER, Tag.SCALER, Tag.MODEL, Tag.TRAINER, Tag.DATASET, Tag.CPU}
)


def call_value(frame: Frame, node: ast.Call, called: Value, given: Arguments) -> Value:
    """What calling a value gives."""
    if called.definition is not None:
        return _own(frame, node, called, given)
    if called.choices:
        return join_all([_one_of(frame, node, each, given) for each in called.choices])
    if called.name is not None:
        return of_library(frame, called.name, given)
    if called.has(Tag.CRITERION):
        return loss_of(frame, given)
    if called.has(Tag.MODEL):
        return OUTPUT if frame.grad and not _adds_no_history(called, given) else OUTPUT.without(Tag.GRAPH)
    if called.tags == SOMETHING_ON_DEVICE:  # `net.cuda()` that is called is a module
        return OUTPUT if frame.grad else OUTPUT.without(Tag.GRAPH)
    return _unknown_with_tensors(frame, node, given)


_NOTHING_TO_LEARN = re.compile(
    r"^torch\.nn\.(\w*Pool\w*|\w*Pad\d?d?|\w*Dropout\w*|\w*Upsampl\w*|Fold|Unfold|Flatten|Unflatten|Identity|ReLU6?|GELU|SiLU"
    r"|Sigmoid|Tanh|Softmax\w*|Pixel\w*huffle)$"
)
"""Layers without parameters."""


def _adds_no_history(called: Value, given: Arguments) -> bool:
    """Whether a layer without parameters is handed a tensor without history: it gives one without, too."""
    first = given.positional[0] if given.positional else UNKNOWN
    plain = bool(first.tags & _OF_TENSORS) and not first.has(Tag.GRAPH)
    return plain and _NOTHING_TO_LEARN.search(called.made_by or "") is not None


_OF_TENSORS = frozenset({Tag.TENSOR, Tag.OUTPUT})


def _unknown_with_tensors(frame: Frame, node: ast.Call, given: Arguments) -> Value:
    """An argument or attribute that is called with tensors on the device: a module in all likelihood."""
    if isinstance(node.func, ast.Attribute) and node.func.attr in _CLIPPING:
        return NORM
    if not any(Tag.DEVICE in each.tags for each in given.all):
        return UNKNOWN
    if isinstance(node.func, ast.Attribute) and frame.values.get(node.func.value, UNKNOWN).has(Tag.MODEL):
        return combine(given.all).tagged(Tag.GRAPH, Tag.SUPPOSED)
    own = (
        isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name) and node.func.value.id == "self"
    )
    if own or isinstance(node.func, ast.Name):
        return Value(frozenset({Tag.DEVICE, Tag.OUTPUT, Tag.SUPPOSED}))
    return UNKNOWN


_CLIPPING = frozenset({"clip_grad_norm", "clip_grad_norm_"})
"""Methods of models and optimizers that wrap others: they give the norm, as PyTorch's function does."""


def _arguments(frame: Frame, node: ast.Call) -> Arguments:
    if not node.args and not node.keywords:  # a third of all calls
        return NOTHING
    values = tuple([evaluate(frame, each) for each in node.args])
    keywords = tuple([(each.arg or "", evaluate(frame, each.value)) for each in node.keywords]) if node.keywords else ()
    return handed(node, values, keywords)


def _own(frame: Frame, node: ast.Call, called: Value, given: Arguments) -> Value:
    """A function, a class, or an instance of the project's."""
    flow = frame.flow
    assert called.definition is not None  # noqa: S101  the caller asked
    if node is frame.unused and (called.is_instance or not isinstance(called.definition.node, ast.ClassDef)):
        return UNKNOWN
    if not isinstance(called.definition.node, ast.ClassDef):
        return flow.run(frame, called.definition, called.element, given)
    if not called.is_instance:
        return flow.instance(frame, node, called, given)
    given = with_model(given) if called.has(Tag.MODEL) else given
    result = flow.call_method(frame, called, "forward" if called.has(Tag.MODEL) else "__call__", given)
    if called.has(Tag.CRITERION):
        return loss_of(frame, given)
    if called.has(Tag.MODEL):
        return _as_output(frame, result or UNKNOWN)
    return result or UNKNOWN


def _one_of(frame: Frame, node: ast.Call, choice: Definition, given: Arguments) -> Value:
    """What a call gives if this is the function that is called."""
    owner = frame.flow.owner(choice.module, choice.node) if isinstance(choice.node, Function) else None
    return _own(frame, node, Value(definition=choice, element=owner), given)


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
