"""What methods give whose meaning follows from what they are called on: tensors, mappings, models, accelerators."""

import ast
import re

from flyball_audit.flow.derived import combine
from flyball_audit.flow.frames import Frame
from flyball_audit.flow.handed import NOTHING, Arguments
from flyball_audit.flow.library import METADATA, REGISTERING, TO_HOST
from flyball_audit.flow.values import (
    MODEL,
    ON_DEVICE,
    ON_HOST,
    OUTPUT,
    PARAMETER,
    PLACED,
    UNKNOWN,
    Tag,
    Value,
    element_of,
    placed,
)
from flyball_audit.names import code_of

SOMETHING_ON_DEVICE = frozenset({Tag.DEVICE})


def of_method(frame: Frame, node: ast.Call, given: Arguments) -> Value | None:
    """A method whose meaning follows from what it is called on; None if it is the project's, or not known."""
    assert isinstance(node.func, ast.Attribute)  # noqa: S101  the caller asked
    held, name = frame.values.get(node.func.value, UNKNOWN), node.func.attr
    tags = held.tags
    if held.name is not None and not tags and not held.fields and held.element is None:
        return None  # a function of a library, most of the time
    if name in REGISTERING:
        return ON_HOST
    placed_somewhere = tags == SOMETHING_ON_DEVICE and name in _MODEL_ONLY
    if placed_somewhere or (name in _PARAMETERS and held.is_unknown):
        return _of_model(frame, MODEL, name)
    if tags & PLACED and not tags & _NO_TENSORS:
        return held if _is_cast(node) else _of_tensor(held, name, given)
    if name in _OF_MAPPINGS and (held.fields or held.element) and not held.is_instance:
        return _of_mapping(held, name, given)
    return _of_thing(frame, node, held, given) if tags else _of_unknown(node, held, given)


def _of_thing(frame: Frame, node: ast.Call, held: Value, given: Arguments) -> Value | None:
    """A method of what is known to be no tensor."""
    assert isinstance(node.func, ast.Attribute)  # noqa: S101  the caller asked
    if held.has(Tag.ACCELERATOR):
        return _of_accelerator(node.func.attr, given)
    if held.has(Tag.MODEL):
        return _of_model(frame, held, node.func.attr)
    return ON_HOST if held.has(Tag.HOST) and held.definition is None else None


def _of_unknown(node: ast.Call, held: Value, given: Arguments) -> Value | None:
    if held.is_unknown and _moves_to_device(node, given):
        return Value(SOMETHING_ON_DEVICE, made_by=held.made_by)
    assert isinstance(node.func, ast.Attribute)  # noqa: S101  the caller asked
    if held.is_unknown and (node.func.attr in _OF_TENSORS_ALONE or _reduces(node)):
        return Value(frozenset({Tag.TENSOR}))
    return ON_HOST if held.is_unknown and node.func.attr in _OF_SHAPES else None


_OF_TENSORS_ALONE = frozenset({
    "view_as", "expand_as", "type_as", "unsqueeze", "unsqueeze_", "squeeze_", "masked_fill", "masked_fill_",
    "masked_select", "contiguous", "add_", "mul_", "div_", "sub_", "clamp_", "zero_", "fill_", "scatter_",
    "scatter_add_", "index_select", "index_add_", "index_fill_", "topk", "log_softmax", "permute", "new_zeros",
    "new_ones", "new_tensor", "new_full", "logsumexp", "bmm", "repeat_interleave", "long",
})  # fmt: skip
"""Methods that nothing else has: wherever it lies, it is a tensor."""


def _reduces(node: ast.Call) -> bool:
    """Whether an axis is named as PyTorch does, `labels.sum(dim=2)`: NumPy says `axis`, xarray hands a name over."""
    assert isinstance(node.func, ast.Attribute)  # noqa: S101  the caller asked
    axes = [each.value for each in node.keywords if each.arg == "dim"] if node.func.attr in _REDUCING else []
    return bool(axes) and not any(isinstance(each, ast.Constant) and isinstance(each.value, str) for each in axes)


_REDUCING = frozenset({
    "sum", "mean", "max", "min", "argmax", "argmin", "all", "any", "norm", "std", "var", "softmax", "cumsum", "prod",
    "amax", "amin",
})  # fmt: skip


def _is_cast(node: ast.Call) -> bool:
    """Whether `.to(x.dtype)` changes the type alone."""
    assert isinstance(node.func, ast.Attribute)  # noqa: S101  the caller asked
    if node.func.attr != "to" or len(node.args) != 1 or node.keywords:
        return False
    return isinstance(node.args[0], ast.Attribute) and node.args[0].attr == "dtype"


_OF_SHAPES = frozenset({"size", "numel", "nelement", "dim"})
"""Of a tensor, or of what is like one, the methods that give a number."""

_NO_TENSORS = frozenset({Tag.LOADER, Tag.MODEL})
_PARAMETERS = frozenset({"parameters", "named_parameters"})
_OF_MAPPINGS = frozenset({"items", "values", "keys", "get", "pop", "copy"})

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
    return target.made_by == "torch.device" or bool(_DEVICE_WORDS.search(code_of(node.args[0])))


def _of_tensor(held: Value, name: str, given: Arguments) -> Value:
    if name in TO_HOST or name in METADATA or name.startswith("is_") or (name == "type" and given == NOTHING):
        return ON_HOST
    if name == "cpu":
        return Value((held.tags - {Tag.DEVICE}) | {Tag.CPU})
    if name in {"cuda", "to", "xpu", "npu"}:
        return _moved(held, name, given)
    if name in {"items", "keys", "get"} or (name == "values" and not held.has(Tag.TENSOR)):  # no tensor has the others
        return _of_mapping(Value(element=Value(held.tags)), name, given)
    if name in {"detach", "detach_"}:
        return held.without(Tag.GRAPH)
    if name == "backward":
        return ON_HOST
    if name in _SHAPED_LIKE:
        return Value(held.tags - {Tag.PARAMETER, Tag.SUPPOSED})
    found = combine((Value(held.tags - {Tag.PARAMETER}), *given.positional)).without(Tag.SUPPOSED)
    if held.has(Tag.GRADIENT) and name == "norm":
        found = found.tagged(Tag.NORM)
    return Value(found.tags, element=Value(found.tags)) if name in {"split", "chunk", "unbind"} else found


_SHAPED_LIKE = frozenset({"expand_as", "view_as", "reshape_as"})
"""Methods of a tensor that ask another for its size alone."""


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
