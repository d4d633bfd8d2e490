"""Pipeline stages: how many layers the first, a middle and the last one hold. Memory and time use the same numbers."""

import numpy as np
from numpy.typing import NDArray

from flyball_planner.layouts.layout import Column, Layouts

ENDS = 2  # embedding and output, each of which counts as a layer


def stage_layers(layers: int, layouts: Layouts) -> tuple[Column, Column, Column]:
    """Return the layers of the first, the fullest middle and the last stage.

    If they cannot be equal, the embedding and the output count as one layer each, and the first parts hold one more.
    So do Llama 3 (126 layers in 16 stages of 7, 8 … 8, 7; Dubey et al. 2024, §3.3.2), torchtitan, DeepSpeed's uniform
    partition, Megatron if the ends are accounted for, and NeMo's recipe of DeepSeek-V3 (61 layers: 3, 4 … 4, 2).
    """
    stages, chunks = layouts.pipeline, layouts.interleave
    parts = stages * chunks
    least, extra = np.floor((layers + ENDS) / parts), (layers + ENDS) % parts
    ended = np.where(stages > 1, 1, ENDS)
    first = chunks * least + np.ceil(extra / stages) - ended
    middle = chunks * least + np.ceil(np.maximum(0, extra - 1) / stages)  # the second stage, if there are three
    last = chunks * least + np.floor(extra / stages) - ended
    held = (first, np.where(stages > 2, middle, first), last)
    even = layers % parts == 0
    first, middle, last = (np.where(even, layers / stages, each) for each in held)
    return first, middle, last


def idle_share(layers: int, parts: Column | float) -> Column:
    """Return the share of a pipeline that waits for its fullest part."""
    share: Column = 1 - layers / (parts * np.ceil(layers / np.asarray(parts)))
    return share


def in_flight(layouts: Layouts, micro_batches: Column, rank: Column) -> Column:
    """Return the micro-batches whose activations the stage of a rank stores at once.

    With one chunk per stage, these are as many as there are stages from this one on (1F1B). With several, a stage
    first computes 2 · (stages − 1 − rank) + (chunks − 1) · round + 1 chunks (Narayanan et al., 2021; the same in
    Megatron-Core and torch).
    """
    stages, chunks = layouts.pipeline, layouts.interleave
    later = np.maximum(0, stages - 1 - rank)
    several = (2 * later + 1 + (chunks - 1) * round_size(stages, micro_batches)) / chunks
    flight = np.minimum(micro_batches, np.where(chunks > 1, several, later + 1))
    # Both stages of a rank together store those of one micro-batch more than there are stages (DeepSeek-V3, table 2).
    found: Column = np.where(layouts.bidirectional > 0, (stages + 1) / 2, flight)
    return found


def filling_slots(layouts: Layouts) -> Column:
    """Return the idle time of filling and draining a pipeline, in forward and backward passes of a stage.

    From both ends, half of the stages wait for a backward pass without that of the weights (DeepSeek-V3, table 2, if
    a backward pass takes twice a forward pass, half of it for the weights).
    """
    stages = layouts.pipeline
    one_way = (stages - 1) / layouts.interleave
    slots: Column = np.where(layouts.bidirectional > 0, np.maximum(0.0, stages / 2 - 1) * 2 / 3, one_way)
    return slots


def round_size(stages: Column, micro_batches: Column) -> Column:
    """Return the micro-batches that pass through a chunk before the next chunk follows, at least one per stage."""
    size: Column = np.ceil(micro_batches / np.maximum(1, np.floor(micro_batches / stages)))
    return size


def uneven_rounds(stages: Column, micro_batches: Column) -> NDArray[np.bool_]:
    """Return where rounds of about as many micro-batches as there are stages cannot be equal."""
    uneven: NDArray[np.bool_] = micro_batches % np.maximum(1, np.floor(micro_batches / stages)) > 0
    return uneven
