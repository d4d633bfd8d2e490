"""What values give that are computed with, unpacked or gone through."""

from collections.abc import Sequence

from flyball_audit.flow.frames import Frame
from flyball_audit.flow.members import supposed_part
from flyball_audit.flow.values import BATCH, MODEL, NO_TAGS, ON_HOST, PLACED, UNKNOWN, Tag, Value, element_of

_KEPT = frozenset({
    Tag.TENSOR, Tag.DEVICE, Tag.CPU, Tag.GRAPH, Tag.BATCH, Tag.LOSS, Tag.NORM, Tag.GRADIENT, Tag.OUTPUT, Tag.SUPPOSED,
})  # fmt: skip
"""What a computation with tensors hands on to its result."""


def combine(values: Sequence[Value]) -> Value:
    """What arithmetic and most functions of tensors give: a tensor where any of them is."""
    tags = NO_TAGS.union(*[each.tags for each in values])
    if not tags & PLACED:
        return ON_HOST if tags == {Tag.HOST} and all(each.tags for each in values) else UNKNOWN
    kept = tags & _KEPT
    if Tag.DEVICE in kept:  # a number, or a tensor without dimensions, takes part on the device
        kept -= {Tag.CPU}
    if Tag.SUPPOSED in kept and any(each.is_seen_tensor for each in values):
        kept -= {Tag.SUPPOSED}
    return Value(kept)


def part(value: Value, index: int, length: int) -> Value:
    """What unpacking into `length` names gives the one at `index`."""
    if value.items is not None and len(value.items) == length:
        return value.items[index]
    return iterated_value(value)


def iterated_value(value: Value) -> Value:
    """What iterating over a value gives each time."""
    held = element_of(value)
    if held is not None:
        return held
    if value.has(Tag.LOADER):
        return BATCH.without(Tag.CPU).tagged(Tag.DEVICE) if value.has(Tag.DEVICE) else BATCH
    if value.tags & PLACED:
        return supposed_part(Value(value.tags - {Tag.LOSS}))
    if value.has(Tag.MODEL):
        return MODEL
    return ON_HOST if value.has(Tag.HOST) else UNKNOWN


def iterated(frame: Frame, value: Value) -> Value:
    """The same, through the project's own iterators: `__iter__`, `__getitem__` and generators."""
    if value.is_instance and value.definition is not None and element_of(value) is None:
        for name in ("__iter__", "__next__", "__getitem__"):
            given = frame.flow.method_result(value, name)
            if given is not None:
                return iterated_value(given) if name == "__iter__" and given != UNKNOWN else given
    return iterated_value(value)
