"""What is known of a value without running anything: tags, where it came from, and what it holds."""

import ast
from collections.abc import Iterable
from enum import Enum
from typing import NamedTuple

from flyball_audit.definition import Definition
from flyball_audit.module import Module


class Tag(Enum):
    """What a value may be; several tags say that it is several things, or that the ways to it differ."""

    TENSOR = "tensor"
    DEVICE = "device"  # on an accelerator: reading it on the host waits for all work queued before
    CPU = "cpu"  # a tensor in host memory
    HOST = "host"  # no tensor: numbers, texts, NumPy
    GRAPH = "graph"  # carries autograd's history: keeping it keeps the activations
    LOSS = "loss"
    GRADIENT = "gradient"
    PARAMETER = "parameter"
    NORM = "norm"  # of gradients
    BATCH = "batch"  # what a loader gives, or a part of it
    OUTPUT = "output"  # what a model's call gives
    MODEL = "model"  # any nn.Module
    CRITERION = "criterion"
    OPTIMIZER = "optimizer"
    SCHEDULER = "scheduler"
    SCALER = "scaler"
    LOADER = "loader"
    DATASET = "dataset"
    ACCELERATOR = "accelerator"  # Accelerate's Accelerator, Lightning's Fabric
    ENGINE = "engine"  # DeepSpeed's model engine (a MODEL too)
    TRAINER = "trainer"  # runs the loop itself: transformers, Lightning
    SUPPOSED = "supposed"  # a tensor in all likelihood, though a way to it is not known, or gives none

    __hash__ = object.__hash__  # members are single; an Enum hashes its name anew in each of millions of look-ups


Tags = frozenset[Tag]
NO_TAGS: Tags = frozenset()


PLACED: Tags = frozenset({Tag.TENSOR, Tag.DEVICE, Tag.CPU, Tag.BATCH})
"""What only tensors carry, wherever they lie."""


_made = tuple.__new__
"""Makes a value of all its parts: without the call in between that gives missing ones their defaults."""


class Literal(NamedTuple):
    """A constant of the code, wrapped, so that None is a value too."""

    value: object


class Value(NamedTuple):
    """What an expression may give; an empty one is unknown, which is never the same as missing."""

    tags: Tags = NO_TAGS
    name: str | None = None
    """The full name of what it is, if that has one: a library's function, a class, a dtype."""
    made_by: str | None = None
    """The full name of what was called to make it."""
    made_at: tuple[Module, ast.Call] | None = None
    """The call that made it."""
    definition: Definition | None = None
    """The project's function or class that it is, or whose instance it is."""
    is_instance: bool = False
    items: "tuple[Value, ...] | None" = None
    """Of a tuple or list of known length: each."""
    element: "Value | None" = None
    """What indexing and iterating give."""
    fields: "tuple[tuple[str, Value], ...]" = ()
    """Of a dict with constant keys, and of an object made with keywords: each."""
    literal: Literal | None = None
    choices: tuple[Definition, ...] = ()
    """The project's functions and classes of which it is one, if which is told while running."""
    made_in: "tuple[tuple[Module, ast.Call], ...]" = ()
    """The calls of which one made it, if it is a loader, or goes through one."""

    def has(self, *tags: Tag) -> bool:
        """Whether it carries all of these tags."""
        return self.tags.issuperset(tags)

    @property
    def is_unknown(self) -> bool:
        """Whether nothing is known of it, except perhaps which call made it."""
        if self.tags or self.fields or self.choices or self.is_instance or self.name is not None:
            return False
        return self.definition is None and self.items is None and self.element is None and self.literal is None

    @property
    def is_plain(self) -> bool:
        """Whether nothing is known of it, but the keywords that made it perhaps."""
        return not self.tags and self == Value(made_by=self.made_by, made_at=self.made_at, fields=self.fields)

    @property
    def makers(self) -> "tuple[tuple[Module, ast.Call], ...]":
        """The calls of which one made it, as far as they are known."""
        return self.made_in or (() if self.made_at is None else (self.made_at,))

    @property
    def gives_batches(self) -> bool:
        """Whether it is a loader, or goes through one."""
        return Tag.LOADER in self.tags or (self.element is not None and self.element.is_of_batch)

    @property
    def is_of_batch(self) -> bool:
        """Whether it is a batch, or a tuple that holds one: its number, say, and the batch."""
        return Tag.BATCH in self.tags or any(Tag.BATCH in each.tags for each in self.items or ())

    @property
    def on_device(self) -> bool:
        """Whether it is, on every way that is known, a value on an accelerator."""
        return Tag.DEVICE in self.tags and Tag.CPU not in self.tags

    @property
    def is_brought_over(self) -> bool:
        """Whether it lies on the host on every way: nothing there waits for a device."""
        return Tag.CPU in self.tags and Tag.DEVICE not in self.tags

    @property
    def is_seen_tensor(self) -> bool:
        """Whether it is a tensor on an accelerator on every way, and none of them is supposed."""
        return self.on_device and not self.tags & _NOT_SEEN

    def field(self, name: str) -> "Value | None":
        """A named part."""
        for key, value in self.fields:
            if key == name:
                return value
        return None

    def tagged(self, *tags: Tag) -> "Value":
        """Itself with more tags."""
        return _made(Value, (self.tags.union(tags), *self[1:]))

    def without(self, *tags: Tag) -> "Value":
        """Itself with fewer tags."""
        return _made(Value, (self.tags.difference(tags), *self[1:]))


_NOT_SEEN: Tags = frozenset({Tag.SUPPOSED, Tag.HOST})

UNKNOWN = Value()
ON_HOST = Value(frozenset({Tag.HOST}))
TENSOR = Value(frozenset({Tag.TENSOR}))
ON_DEVICE = Value(frozenset({Tag.DEVICE, Tag.TENSOR}))
ON_CPU = Value(frozenset({Tag.CPU, Tag.TENSOR}))
BATCH = Value(frozenset({Tag.BATCH, Tag.CPU}))
OUTPUT = Value(frozenset({Tag.DEVICE, Tag.OUTPUT, Tag.GRAPH}))
LOSS = Value(frozenset({Tag.DEVICE, Tag.TENSOR, Tag.LOSS, Tag.GRAPH}))
MODEL = Value(frozenset({Tag.MODEL}))
PARAMETER = Value(frozenset({Tag.DEVICE, Tag.TENSOR, Tag.PARAMETER}))
NORM = Value(frozenset({Tag.DEVICE, Tag.TENSOR, Tag.NORM}))

DEEPEST = 3
"""Containers in containers that are told apart; deeper ones are unknown."""


def flat(value: Value, depth: int = DEEPEST) -> Value:
    """A value without what it holds below a depth: what is handed from call to call must not grow without end."""
    if value.items is None and value.element is None and not value.fields:
        return value
    if depth == 0:
        return value._replace(items=None, element=None, fields=())
    return value._replace(
        items=None if value.items is None else tuple(flat(each, depth - 1) for each in value.items),
        element=None if value.element is None else flat(value.element, depth - 1),
        fields=tuple((name, flat(each, depth - 1)) for name, each in value.fields),
    )


def join(first: Value, second: Value, depth: int = 0) -> Value:
    """What either of two values may be."""
    if first is second or first == second:
        return first
    if depth > DEEPEST:
        return Value(first.tags | second.tags)
    for one, other in ((first, second), (second, first)):
        if one.literal is not None and one.literal.value is None:  # it stands for what is not there on that way
            return other._replace(literal=None)
    return Value(
        tags=_joined_tags(first, second),
        name=first.name if first.name == second.name else None,
        made_by=first.made_by if first.made_by == second.made_by else None,
        made_at=first.made_at if first.made_at == second.made_at else None,
        definition=first.definition if first.definition == second.definition else None,
        is_instance=first.is_instance and second.is_instance,
        items=_joined_items(first.items, second.items, depth),
        element=_joined_optional(element_of(first), element_of(second), depth),
        fields=_joined_fields(first, second, depth),
        literal=first.literal if first.literal == second.literal else None,
        choices=_choices(first, second),
        made_in=_made_in(first, second),
    )


def _joined_tags(first: Value, second: Value) -> Tags:
    """What is a tensor on one way alone is supposed to be one; a number in the code only stands for it at first."""
    tags = first.tags | second.tags
    if Tag.DEVICE not in tags or Tag.DEVICE in first.tags & second.tags:
        return tags
    other = second if Tag.DEVICE in first.tags else first
    return tags if other.literal is not None or other.tags & PLACED else tags | {Tag.SUPPOSED}


def join_all(values: Iterable[Value]) -> Value:
    """What any of several values may be; of none, unknown."""
    found: Value | None = None
    for each in values:
        found = each if found is None else join(found, each)
    return found or UNKNOWN


def placed(value: Value, device: Value) -> Value:
    """A tensor after a move: on the device, unless that is the host."""
    on_cpu = device.literal is not None and device.literal.value in {"cpu", None}
    tags = value.tags - {Tag.CPU, Tag.DEVICE, Tag.SUPPOSED}
    return Value(tags | {Tag.TENSOR, Tag.CPU if on_cpu or device.has(Tag.CPU) else Tag.DEVICE})


def element_of(value: Value) -> Value | None:
    """What indexing with an unknown index gives, if the value is known to hold anything."""
    if value.element is not None:
        return value.element
    if value.items:
        return join_all(value.items)
    if value.fields and not value.is_instance and value.made_by in _DICTS:
        return join_all(each for _, each in value.fields)
    return None


_DICTS = frozenset({None, "builtins.dict"})
"""What makes a dict; of an object that something else made with keywords these say nothing of what it goes through."""

MOST_CHOICES = 4
"""Functions of which one is called that are all followed; of more, none."""


def _choices(first: Value, second: Value) -> tuple[Definition, ...]:
    """What may be called, where two ways give different functions."""
    if first.definition == second.definition:
        return () if first.choices == second.choices == () else tuple(dict.fromkeys(first.choices + second.choices))
    own = (each.definition for each in (first, second) if each.definition is not None and not each.is_instance)
    found = tuple(dict.fromkeys((*first.choices, *own, *second.choices)))
    return found if len(found) <= MOST_CHOICES else ()


def _made_in(first: Value, second: Value) -> tuple[tuple[Module, ast.Call], ...]:
    """Where two loaders were made, of which one is gone through."""
    if first.makers == second.makers or not (first.gives_batches and second.gives_batches):
        return first.made_in if first.made_in == second.made_in else ()
    found = tuple(dict.fromkeys(first.makers + second.makers))
    return found if len(found) <= MOST_CHOICES else ()


def _joined_items(
    first: tuple[Value, ...] | None, second: tuple[Value, ...] | None, depth: int
) -> tuple[Value, ...] | None:
    if first is None or second is None or len(first) != len(second):
        return None
    return tuple(join(ours, theirs, depth + 1) for ours, theirs in zip(first, second, strict=True))


def _joined_optional(first: Value | None, second: Value | None, depth: int) -> Value | None:
    if first is None or second is None:
        return first or second
    return join(first, second, depth + 1)


def _joined_fields(first: Value, second: Value, depth: int) -> tuple[tuple[str, Value], ...]:
    if not first.fields or not second.fields:
        return first.fields or second.fields
    found = dict(first.fields)
    for name, value in second.fields:
        found[name] = join(found[name], value, depth + 1) if name in found else value
    return tuple(found.items())
