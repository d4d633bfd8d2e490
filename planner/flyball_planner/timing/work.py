"""What a training step asks of one device, as columns of layouts and independent of how well the device does it.

Separate from the seconds, so that a fit may try many coefficients on the work of many runs at once.
"""

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from flyball_planner.timing.collectives import Fabric, Group
from flyball_planner.timing.products import TABLES, Products, Table, Unit

Column = NDArray[np.float64]

FLASH, BATCHED, SIMPLE = 0.0, 1.0, 2.0
"""Attention in one kernel that never writes its scores; as batched products; the same without matrix units, which are
slow enough to be kept busy by products as small as a head's."""


class Pass(Struct, frozen=True):
    """One forward pass of one micro-batch through one pipeline stage, and how its backward pass differs."""

    products: Products
    attention_flops: Column  # what is skipped for causality not counted
    attention_rate: Column  # FLOP/s
    attention_backward: Column  # FLOPs of the backward pass as a multiple
    attention_kind: Column  # one of the kinds below
    score_bytes: Column  # that attention's products move at least
    moved_bytes: Column  # by operators that are bound by memory
    cast_bytes: Column  # moved to make numbers narrow, in each direction alike
    launches: Column  # kernels


class Exchange(Struct, frozen=True):
    """Messages of one forward pass among a group; `times` of them, `size` bytes each."""

    size: Column
    times: Column
    group: Group
    overlapped: Column  # 1 where it runs beside products


class States(Struct, frozen=True):
    """What follows from weights: gathering, reducing and stepping them."""

    accumulated_bytes: Column  # moved to add a micro-batch's gradients to the others'
    gathered_bytes: Column  # weights that are gathered for each pass (ZeRO-3), whole
    scattered_bytes: Column  # gradients that are reduced after each micro-batch, whole
    reduced_bytes: Column  # gradients that are summed over ranks once a step, whole
    returned_bytes: Column  # what every rank gets back of the sum: gradients, or weights that one of them stepped
    stepped_bytes: Column  # moved by the optimizer
    host_bytes: Column  # to and from the host a step, where states are offloaded
    group: Group  # data-parallel ranks
    overlapped: Column  # 1 where exchange and computation run side by side


class Schedule(Struct, frozen=True):
    """How the micro-batches pass through the pipeline."""

    micro_batches: Column
    stages: Column
    interleave: Column
    recomputed: Column  # share of the forward pass that is computed again
    recomputed_attention: Column  # the same of attention
    nodes: Column


class Work(Struct, frozen=True):
    """One step on one device."""

    body: Pass
    head: Pass  # what only the last stage does
    tensor: Exchange
    expert: Exchange
    copies: Column  # of each token that go to experts
    context: Exchange
    transfer: Exchange  # to the next pipeline stage
    states: States
    schedule: Schedule
    unit: Unit
    fabric: Fabric
    host_bytes_per_second: Column

    def __len__(self) -> int:
        return len(self.schedule.nodes)


def join(works: Sequence[Work]) -> Work:
    """The columns of several works behind each other."""
    return cast("Work", _join(works))


def repeat(work: Work, times: int) -> Work:
    """The same columns behind each other so many times."""
    return cast("Work", _changed(work, lambda column: np.concatenate([column] * times, axis=-1)))


def taken(work: Work, rows: NDArray[np.intp]) -> Work:
    """Some of the rows."""
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
    whole = [each.at(each.place) for each in parts]
    tables = {name: _join_arrays([getattr(each, name) for each in whole]) for name in TABLES}
    return Products(**tables, place=np.arange(sum(len(each.place) for each in whole)))


def _join_arrays(arrays: Sequence[Table]) -> Table:
    if arrays[0].ndim == 1:
        return np.concatenate(arrays)
    height = max(len(each) for each in arrays)
    padded = [np.pad(each, ((0, height - len(each)), (0, 0)), constant_values=0.0) for each in arrays]
    return np.concatenate(padded, axis=1)
