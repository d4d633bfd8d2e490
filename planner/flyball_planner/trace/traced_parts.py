"""Converts the traced parts of a module to its cost. Similar consecutive parts become one block."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby

from msgspec import Struct

from flyball_planner.models.cost import ModelBlock, ModelCost, Operator

FAMILY = "traced module"
NUMBERED = re.compile(r"(?:^|.*?\.)\d+(?=\.|$)")


class TracedPart(Struct, frozen=True):
    """The work of one part of a module for one sample; a part is a layer of a list, or a module beside such layers."""

    path: str
    parameters: int
    operators: tuple[Operator, ...]
    kept_elements: float
    boundary_elements: float


def cost_of(
    parts: Iterable[TracedPart], *, model: str, implementation: str, assumptions: Sequence[str] = ()
) -> ModelCost:
    """Return the cost of a module made of these parts, in the order in which they ran."""
    blocks = tuple(_blocks(parts))
    return ModelCost(
        model=model,
        family=FAMILY,
        implementation=implementation,
        parameters=sum(block.repeats * block.parameters for block in blocks),
        samples=0,
        passes=1.0,
        blocks=blocks,
        assumptions=tuple(assumptions),
    )


def part_names(paths: Iterable[str]) -> Mapping[str, str]:
    """Return the part of each submodule: the layer that a number in its path identifies, or a module beside layers.

    `model.layers.3.mlp.up` belongs to `model.layers.3`; `model.norm` is a separate part, because `model` holds layers.
    """
    known = tuple(paths)
    layers = {layer[0] for path in known if (layer := NUMBERED.match(path))}
    holders = {holder for layer in layers for holder in _prefixes(layer)} - layers
    return {path: _part(path, holders) for path in known}


def _part(path: str, holders: set[str]) -> str:
    layer = NUMBERED.match(path)
    if layer:
        return layer[0]
    return next((prefix for prefix in _prefixes(path) if prefix not in holders), path)


def _prefixes(path: str) -> Iterator[str]:
    """Yield `a`, `a.b`, `a.b.c` for the path `a.b.c`."""
    names = path.split(".")
    for end in range(1, len(names) + 1):
        yield ".".join(names[:end])


def _blocks(parts: Iterable[TracedPart]) -> Iterator[ModelBlock]:
    for _, alike in groupby(parts, key=_likeness):
        same = list(alike)
        first = same[0]
        name = re.sub(r"\.?\d+$", "", first.path) if len(same) > 1 else first.path
        yield ModelBlock(
            name or "module",
            len(same),
            first.parameters,
            first.operators,
            first.kept_elements,
            first.boundary_elements,
        )


def _likeness(part: TracedPart) -> tuple[object, ...]:
    return (
        re.sub(r"\d+$", "", part.path), part.parameters, part.operators, part.kept_elements, part.boundary_elements,
    )  # fmt: skip
