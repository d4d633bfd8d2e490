"""The work of a training step on one device, in columns of layouts and independent of the coefficients.

It is separate from the seconds so that a fit can try many coefficients on the work of many runs at once.
"""

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from flyball_planner.timing.collectives import Fabric, RankGroup, Routing
from flyball_planner.timing.products import TABLES, Products, Table, Unit

Column = NDArray[np.float64]

FLASH, BATCHED, SIMPLE = 0.0, 1.0, 2.0
"""Kinds of attention: one kernel that never writes scores; batched products; batched products without matrix units,
whose speed does not depend on the size of a head."""


class Pass(Struct, frozen=True):
    """One forward pass of one micro-batch through one pipeline stage, with its backward pass as a multiple."""

    products: Products
    attention_flops: Column  # without what causality skips
    attention_rate: Column  # FLOP/s
    attention_backward: Column  # FLOPs of the backward pass as a multiple of the forward pass
    attention_kind: Column  # one of the kinds above
    score_bytes: Column  # that attention's products move at least
    moved_bytes: Column  # moved by memory-bound operators
    softmax_bytes: Column  # moved by those between attention's products, if scores are written
    copied_bytes: Column  # copies of tokens for experts, each counted once
    cast_bytes: Column  # moved by conversions to narrow formats, per direction
    launches: Column  # kernels


class Exchange(Struct, frozen=True):
    """Messages of one forward pass in a group: `times` messages of `size` bytes."""

    size: Column
    times: Column
    group: RankGroup
    overlapped: Column  # 1 if it overlaps with products


class StateWork(Struct, frozen=True):
    """The work on model states: gathering, reducing and updating."""

    accumulated_bytes: Column  # moved to add up the gradients of micro-batches
    gathered_bytes: Column  # complete weights gathered in each pass (ZeRO-3)
    scattered_bytes: Column  # complete gradients reduced after each micro-batch
    messages: Column  # in which weights are gathered and gradients scattered for each micro-batch
    mirrored_bytes: Column  # shards of gradients summed over replicas that each have all shards (hybrid sharding)
    reduced_bytes: Column  # complete gradients reduced once per step
    returned_bytes: Column  # what every rank gets back: gradients, or weights that one rank updated
    updated_bytes: Column  # moved by the optimizer
    host_bytes: Column  # to and from the host per step if states are offloaded
    group: RankGroup  # data-parallel ranks
    shards: RankGroup  # those that share states
    replicas: RankGroup  # those with the same shard
    overlapped: Column  # 1 if communication overlaps with computation


class Schedule(Struct, frozen=True):
    """The way of micro-batches through the pipeline."""

    micro_batches: Column
    stages: Column
    interleave: Column
    filling: Column  # idle passes of a stage while the pipeline fills and drains
    recomputed: Column  # share of the forward pass that is recomputed
    recomputed_attention: Column  # the same for attention
    recomputed_moves: Column  # the same for memory-bound operators outside of attention
    recomputed_exchanges: Column  # the same for exchanges between ranks
    nodes: Column
    lacking: Column  # by how much the last stage holds less than the fullest, as a share of that


class Work(Struct, frozen=True):
    """The work of one step on one device."""

    body: Pass
    head: Pass  # only on the last stage
    tensor: Exchange
    expert: Exchange
    routing: Routing  # of tokens to experts
    context: Exchange
    transfer: Exchange  # to the next pipeline stage
    states: StateWork  # of weights that every data-parallel rank holds
    expert_states: StateWork
    schedule: Schedule
    unit: Unit
    fabric: Fabric
    host_bytes_per_second: Column
    overhead: Column  # of the host's work once a step, as a multiple of a usual language model's

    def __len__(self) -> int:
        return len(self.schedule.nodes)


def join(works: Sequence[Work]) -> Work:
    """Concatenate the columns of several works."""
    return cast("Work", _join(works))


def repeat(work: Work, times: int) -> Work:
    """Repeat the columns several times."""
    return cast("Work", _changed(work, lambda column: np.concatenate([column] * times, axis=-1)))


def select_rows(work: Work, rows: NDArray[np.intp]) -> Work:
    """Select rows."""
    return cast("Work", _changed(work, lambda column: column[..., rows]))


def _changed(part: Struct | Table, change: Callable[[NDArray[Any]], NDArray[Any]]) -> Struct | Table:
    if isinstance(part, np.ndarray):
        return change(part)
    if isinstance(part, Products):
        return part.at(change(part.place))
    return type(part)(*(_changed(getattr(part, name), change) for name in part.__struct_fields__))


def _join(parts: Sequence[Struct | Table]) -> Struct | Table:
    first = parts[0]
    if isinstance(first, Products):
        return _join_products([each for each in parts if isinstance(each, Products)])
    if not isinstance(first, np.ndarray):
        return type(first)(*(_join([getattr(part, name) for part in parts]) for name in first.__struct_fields__))
    return _join_arrays([part for part in parts if isinstance(part, np.ndarray)])


def _join_products(parts: Sequence[Products]) -> Products:
    expanded = [each.at(each.place) for each in parts]
    tables = {name: _join_arrays([getattr(each, name) for each in expanded]) for name in TABLES}
    return Products(**tables, place=np.arange(sum(len(each.place) for each in expanded)))


def _join_arrays(arrays: Sequence[Table]) -> Table:
    if arrays[0].ndim == 1:
        return np.concatenate(arrays)
    height = max(len(each) for each in arrays)
    padded = [np.pad(each, ((0, height - len(each)), (0, 0)), constant_values=0.0) for each in arrays]
    return np.concatenate(padded, axis=1)
