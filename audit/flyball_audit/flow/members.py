"""What `held.name` is: of a library, of an instance, of a tensor, a model or another thing of training."""

from flyball_audit.flow.frames import Frame
from flyball_audit.flow.library import METADATA, NAMES_OF_PARTS, TEXTS
from flyball_audit.flow.values import LOSS, ON_DEVICE, ON_HOST, PARAMETER, PLACED, UNKNOWN, Tag, Value


def attribute_of(frame: Frame, held: Value, name: str) -> Value:
    """What `held.name` is."""
    if held.name is not None and not held.is_instance:
        return frame.flow.named(frame.module, f"{held.name}.{name}")
    known = held.field(name)
    if known is not None:
        return known
    if held.is_instance and held.definition is not None:
        found = frame.flow.attributes.load(held, name)
        nothing = found.literal is not None and found.literal.value is None
        if found != UNKNOWN and not nothing:
            return found
        if frame.flow.uses_torch(frame.module):
            if nothing:
                return _kept_by_heirs(frame, name) or found
            if not frame.flow.attributes.may_hold(held.definition, name):
                return frame.flow.guesses.of(frame.module, name)  # a base class that is not at hand stores it
    return _attribute_by_tags(held, name)


def _kept_by_heirs(frame: Frame, name: str) -> Value | None:
    """What an attribute holds that a class leaves empty for whoever derives from it: `self.model = None`."""
    guessed = frame.flow.guesses.of(frame.module, name)
    return guessed if guessed.has(Tag.MODEL) else None


def _attribute_by_tags(held: Value, name: str) -> Value:
    tags = held.tags
    if not tags:
        return ON_HOST if name in _OF_SHAPES else UNKNOWN
    if _is_made_by_class(held):
        return UNKNOWN
    if tags & _OF_TENSORS:
        return attribute_of_tensor(held, name)
    if Tag.ENGINE in tags and name == "optimizer":  # an engine is a model too
        return Value(frozenset({Tag.OPTIMIZER}))
    if Tag.MODEL in tags:
        return _attribute_of_model(held, name)
    if Tag.LOADER in tags:
        return Value(frozenset({Tag.DATASET})) if name == "dataset" else UNKNOWN
    if Tag.ACCELERATOR in tags or Tag.HOST in tags:
        return ON_HOST
    if Tag.OPTIMIZER in tags and name == "param_groups":
        return Value(element=Value(fields=(("params", Value(element=PARAMETER)), ("lr", ON_HOST))))
    return UNKNOWN


_OF_TENSORS = PLACED | {Tag.OUTPUT}
_OF_SHAPES = frozenset({"shape", "ndim", "dtype"})
"""Known on the host of whatever has them."""


def _is_made_by_class(held: Value) -> bool:
    """Whether a class that is not at hand made it, and it was moved to a device: a module, with numbers of its own."""
    return held.tags == {Tag.DEVICE} and (held.made_by or "").rpartition(".")[2][:1].isupper()


def attribute_of_tensor(held: Value, name: str) -> Value:
    """What an attribute of a tensor, or of what a model gives, is."""
    if name in METADATA and not (held.has(Tag.OUTPUT) and name in NAMES_OF_PARTS):
        return ON_HOST
    if TEXTS.search(name):
        return UNKNOWN
    if name == "loss" or (name.endswith("_loss") and held.has(Tag.OUTPUT)):
        return LOSS if held.has(Tag.GRAPH) else LOSS.without(Tag.GRAPH)
    if name == "grad":
        return ON_DEVICE.tagged(Tag.GRADIENT) if held.has(Tag.DEVICE) else UNKNOWN
    if name == "data":
        return held.without(Tag.GRAPH)
    if held.has(Tag.TENSOR):
        kept = held.tags - {Tag.LOSS, Tag.PARAMETER}
        return Value(kept if name in _OWN_PARTS else kept | {Tag.SUPPOSED})
    return supposed_part(Value(held.tags))


_OWN_PARTS = frozenset({"T", "mT", "H", "mH", "real", "imag"})
"""Attributes of a tensor that are tensors; another one is that of an object which was moved to the device."""


def supposed_part(value: Value) -> Value:
    """A part of what a model gives, or of a batch, may be a number, a text or a list."""
    whole = value.has(Tag.TENSOR) or not value.tags & {Tag.OUTPUT, Tag.BATCH}
    return value if whole else value.tagged(Tag.SUPPOSED)


def _attribute_of_model(held: Value, name: str) -> Value:
    if name in {"module", "model"} and held.definition is None:
        return held
    if name in {"weight", "bias"}:
        return PARAMETER
    if name in {"training", "device", "dtype", "config"}:
        return UNKNOWN if name == "config" else ON_HOST
    return UNKNOWN
