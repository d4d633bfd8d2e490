"""What a call hands over, and what several calls of one function hand over together."""

import ast
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from flyball_audit.flow.values import UNKNOWN, Tag, Value, join, join_all


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
        for key, value in reversed(self.keywords):
            if key == name:
                return value
        return None


NOTHING = Arguments((), (), complete=True)


_UNMOVED = (Tag.BATCH, Tag.CPU)


def with_model(given: Arguments) -> Arguments:
    """What a model is handed, where it lies: batches that nobody is seen to move lie where the model does."""
    if not any(each.has(*_UNMOVED) and Tag.DEVICE not in each.tags for each in given.all):
        return given
    return Arguments(
        tuple(map(_beside, given.positional)),
        tuple((name, _beside(each)) for name, each in given.keywords),
        given.complete,
    )


def _beside(value: Value) -> Value:
    """A batch's part, supposed to lie on the device."""
    if not value.has(*_UNMOVED) or Tag.DEVICE in value.tags:
        return value
    return value.without(Tag.CPU).tagged(Tag.DEVICE, Tag.SUPPOSED)


def handed(node: ast.Call, values: tuple[Value, ...], keywords: tuple[tuple[str, Value], ...]) -> Arguments:
    """What a call hands over, as far as its place among the arguments is known: up to the first `*`."""
    for each in node.args:
        if type(each) is ast.Starred:
            return Arguments(values[: node.args.index(each)], keywords, complete=False)
    for name, _ in keywords:
        if not name:
            return Arguments(values, keywords, complete=False)
    return Arguments(values, keywords, complete=True)


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


def hands_over_loader(values: Mapping[ast.AST, Value], node: ast.expr) -> bool:
    """Whether a call is handed a loader, in a tuple too: `logger.every(10, loader)`, `mix(("train", loader))`."""
    if not isinstance(node, ast.Call):
        return False
    parts = [part for each in node.args for part in (each.elts if isinstance(each, ast.Tuple) else [each])]
    return any(values.get(each, UNKNOWN).has(Tag.LOADER) for each in parts)
