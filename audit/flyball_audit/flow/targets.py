"""Giving names, attributes and elements their values; what a name tells of a value of which nothing else is known."""

import ast

from flyball_audit.flow.derived import part
from flyball_audit.flow.expressions import evaluate
from flyball_audit.flow.frames import Frame
from flyball_audit.flow.library import COUNTS
from flyball_audit.flow.losses import ATTRIBUTE
from flyball_audit.flow.values import LOSS, MODEL, ON_HOST, UNKNOWN, Tag, Value, flat, join


def assign(frame: Frame, target: ast.expr, value: Value) -> None:
    """Give a name, an attribute, an element or several of them a value."""
    if isinstance(target, ast.Name):
        frame.env[target.id] = frame.values[target] = named(frame, target.id, flat(value))
    elif isinstance(target, ast.Attribute):
        held = evaluate(frame, target.value)
        value = named(frame, target.attr, value, f"{ATTRIBUTE}{target.attr}")
        frame.values[target] = value
        frame.flow.attributes.store(frame, held, target.attr, value)
    elif isinstance(target, ast.Starred):
        assign(frame, target.value, Value(element=value))
    elif isinstance(target, ast.Subscript):
        evaluate(frame, target.slice)
        put(frame, target, value)
    elif isinstance(target, ast.Tuple | ast.List):
        for number, each in enumerate(target.elts):
            assign(frame, each, _counted(each, part(value, number, len(target.elts))))


def _counted(target: ast.expr, value: Value) -> Value:
    """Of what a model gives, a part that is called a count is none of its tensors."""
    counts = value.has(Tag.OUTPUT) and isinstance(target, ast.Name) and COUNTS.search(target.id)
    return UNKNOWN if counts else value


def named(frame: Frame, name: str, value: Value, key: str | None = None) -> Value:
    """A value that a name tells something about, if nothing else is known of it; `key` is what losses know it by."""
    if (
        (key or name) in frame.backward
        and (not value.tags & _PLACED or (value.has(Tag.OUTPUT) and not value.is_brought_over))
        and value.literal is None
        and not value.is_instance
        and value.items is None
        and not _was_number(frame, name)
    ):
        return LOSS if frame.grad else LOSS.without(Tag.GRAPH)
    if (key or name) in frame.backward and value.tags == _OF_UNMOVED_BATCH:
        return LOSS.tagged(Tag.SUPPOSED)  # batches that nobody moves lie where the model does
    if value.tags == _MOVED and frame.flow.guesses.of(frame.module, name).has(Tag.MODEL):
        return MODEL._replace(made_by=value.made_by, made_at=value.made_at)
    if (value.is_unknown or _is_of_class(value)) and frame.flow.uses_torch(frame.module):
        guessed = frame.flow.guesses.of(frame.module, name)
        fields = () if guessed.tags else value.fields
        return guessed._replace(made_by=value.made_by, made_at=value.made_at, fields=fields)
    return value


def _is_of_class(value: Value) -> bool:
    """Whether it is an object of a class that is not at hand, made with keywords: a dict has no maker."""
    return value.made_by is not None and value.made_by != "builtins.dict" and value.is_plain


def _was_number(frame: Frame, name: str) -> bool:
    """Whether a variable held what was computed on the host: more of the same is no loss to be differentiated."""
    before = frame.env.get(name, UNKNOWN)
    return before.tags == ON_HOST.tags and before.literal is None


_PLACED = frozenset({Tag.DEVICE, Tag.HOST, Tag.CPU})
_OF_UNMOVED_BATCH = frozenset({Tag.BATCH, Tag.CPU})
"""What is computed from a batch as a loader gives it, and from what nobody knows."""

_MOVED = frozenset({Tag.DEVICE})
"""What nobody knows, moved to a device: a module, or a tensor."""


def put(frame: Frame, target: ast.Subscript, value: Value) -> None:
    """`holder[key] = value`: the holder's elements, and its field if the key is a text, become that too."""
    holder = evaluate(frame, target.value)
    if holder.tags & _PLACED or not isinstance(target.value, ast.Name | ast.Attribute):
        return
    key = target.slice.value if isinstance(target.slice, ast.Constant) else None
    if isinstance(key, str):
        fields = dict(holder.fields)
        fields[key] = value
        changed = holder._replace(fields=tuple(fields.items()), items=None)
    else:
        changed = holder._replace(element=value if holder.element is None else join(holder.element, value), items=None)
    rebind(frame, target.value, changed)


def rebind(frame: Frame, holder: ast.expr, value: Value) -> None:
    """What stands in a variable or attribute has changed inside."""
    if isinstance(holder, ast.Name):
        frame.env[holder.id] = value
    elif isinstance(holder, ast.Attribute):
        frame.flow.attributes.store(frame, evaluate(frame, holder.value), holder.attr, value)
