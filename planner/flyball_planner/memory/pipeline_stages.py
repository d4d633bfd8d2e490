"""Pipeline stages: how many layers of each kind the first, a middle and the last stage hold."""

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from flyball_planner.layouts.layout import Column, Layouts
from flyball_planner.layouts.stages import in_flight, stage_layers
from flyball_planner.models.transformer.counts import LayerCounts, parameters
from flyball_planner.models.transformer.layers import LayerGroup, layer_groups
from flyball_planner.models.transformer.shape import TransformerShape

STAGES = ("first", "middle", "last")


class Anatomy(Struct, frozen=True):
    """A transformer as the memory model sees it."""

    shape: TransformerShape
    groups: tuple[LayerGroup, ...]
    counts: tuple[LayerCounts, ...]
    entrance: float  # parameters before the layers
    exit: float  # after them
    shared: float  # part of the entrance that the exit also uses, stored at both ends of a pipeline

    @property
    def layers(self) -> int:
        """Return the number of layers of all kinds."""
        return sum(group.repeats for group in self.groups)


class PipelineStage(Struct, frozen=True):
    """One stage of each layout's pipeline."""

    name: str
    layers: tuple[Column, ...]  # number of layers of each kind
    entrance: Column  # 1 if the stage holds it
    exit: Column
    split: Column  # 1 if entrance and exit are on different stages
    in_flight: Column  # micro-batches whose activations are stored at once


def anatomy(shape: TransformerShape) -> Anatomy:
    """Count the parameters of a transformer by place."""
    counted = parameters(shape)
    repeated = sum(each.total * each.repeats for each in counted.layers)
    return Anatomy(
        shape=shape,
        groups=layer_groups(shape),
        counts=counted.layers,
        entrance=counted.total - repeated - counted.final_norm - counted.output,
        exit=counted.final_norm + counted.output,
        shared=counted.embedding if counted.tied and shape.vocab else 0,
    )


def pipeline_stages(model: Anatomy, layouts: Layouts, micro_batches: Column) -> tuple[PipelineStage, ...]:
    """Return the stages that may hold the peak; without a pipeline, a single stage with the complete model."""
    stages = layouts.pipeline
    piped = (stages > 1).astype(float)
    shares = stage_layers(model.layers, layouts)
    first, _, last = shares
    starts = (np.zeros(len(layouts)), first, np.where(stages > 1, model.layers - last, model.layers))
    flights = tuple(in_flight(layouts, micro_batches, rank) for rank in (0 * stages, 0 * stages + 1, stages - 1))
    entrances = (np.ones(len(layouts)), np.zeros(len(layouts)), np.zeros(len(layouts)))
    exits = (1 - piped, np.zeros(len(layouts)), piped)
    held = [_overlaps(model, start, start + share) for start, share in zip(starts, shares, strict=True)]
    ends: list[tuple[Column, ...]] = [*zip(entrances, exits, strict=True)]
    if (layouts.bidirectional > 0).any():
        held, ends = _of_both_ends(layouts, held), _of_both_ends(layouts, ends)
    found = tuple(
        PipelineStage(name, layers, entrance, leaving, piped, flight)
        for name, layers, (entrance, leaving), flight in zip(STAGES, held, ends, flights, strict=True)
    )
    return found if piped.any() else found[:1]


def _of_both_ends(layouts: Layouts, held: Sequence[tuple[Column, ...]]) -> list[tuple[Column, ...]]:
    """Return what ranks hold if each has the stage of the opposite rank too."""
    both = layouts.bidirectional
    return [
        tuple(own + both * other for own, other in zip(stage, opposite, strict=True))
        for stage, opposite in zip(held, reversed(held), strict=True)
    ]


def _overlaps(model: Anatomy, start: Column, end: Column) -> tuple[Column, ...]:
    found = []
    before = 0
    for group in model.groups:
        after = before + group.repeats
        found.append(np.clip(np.minimum(end, after) - np.maximum(start, before), 0, None))
        before = after
    return tuple(found)
