"""Pipeline stages: how many layers of each kind the first, a middle and the last stage hold."""

import numpy as np
from msgspec import Struct

from flyball_planner.layouts.layout import Column, Layouts
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
    waves = 1 + (stages - 1) / (stages * layouts.interleave) * (layouts.interleave > 1)  # Narayanan et al., 2021
    flights = (
        np.minimum(micro_batches, stages) * waves,
        np.minimum(micro_batches, np.maximum(1, stages - 1)) * waves,
        np.ones(len(layouts)),
    )
    entrances = (np.ones(len(layouts)), np.zeros(len(layouts)), np.zeros(len(layouts)))
    exits = (1 - piped, np.zeros(len(layouts)), piped)
    found = tuple(
        PipelineStage(name, _overlaps(model, start, start + held), entrance, leaving, piped, flight)
        for name, start, held, entrance, leaving, flight in zip(
            STAGES, starts, shares, entrances, exits, flights, strict=True
        )
    )
    return found if piped.any() else found[:1]


def stage_layers(layers: int, layouts: Layouts) -> tuple[Column, Column, Column]:
    """Return the layers of the first, a middle and the last stage.

    If they cannot be equal, the embedding and the output count as one layer each, as in Llama 3 (126 layers in 16
    stages of 7, 8 … 8, 7; Dubey et al. 2024, §3.3.2), in torchtitan, and in Megatron if the ends are accounted for.
    """
    stages, chunks = layouts.pipeline, layouts.interleave
    equal, even = layers / stages, layers % (stages * chunks) == 0
    share = (layers + 2) / (stages * chunks)
    least, extra = chunks * np.floor(share), (layers + 2) % (stages * chunks)  # the first stages take the extra layers
    first = np.where(even, equal, least + chunks * (extra > 0) - 1)
    middle = np.where(even, equal, np.where(stages > 2, least + chunks * (extra > 1), first))
    return first, middle, np.where(even, equal, np.maximum(1.0, least - 1))


def _overlaps(model: Anatomy, start: Column, end: Column) -> tuple[Column, ...]:
    found = []
    before = 0
    for group in model.groups:
        after = before + group.repeats
        found.append(np.clip(np.minimum(end, after) - np.maximum(start, before), 0, None))
        before = after
    return tuple(found)
