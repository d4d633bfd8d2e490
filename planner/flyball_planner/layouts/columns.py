"""Many layouts at once, as columns: memory and time are computed for all of them in one pass, and a plan is a search
with a single candidate."""

from collections.abc import Sequence
from math import prod
from typing import Self

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from flyball_planner.training import Checkpointing, Offload, Sharding

Column = NDArray[np.float64]

CHECKPOINTING = tuple(Checkpointing)
SHARDING = tuple(Sharding)
OFFLOAD = tuple(Offload)
"""Columns hold positions in these."""


class Layout(Struct, frozen=True):
    """One way to spread a training. Data parallelism follows from the number of devices."""

    devices: int = 1
    devices_a_node: int = 8
    tensor: int = 1
    pipeline: int = 1
    interleave: int = 1  # model chunks a pipeline stage
    context: int = 1
    expert: int = 1
    micro_batch: int = 1  # samples a device takes at once
    sharding: Sharding = Sharding.NONE
    shard_group: int = 0  # ranks that divide states; 0: all data-parallel ones
    sequence_parallel: bool = False
    checkpointing: Checkpointing = Checkpointing.NONE
    offload: Offload = Offload.NONE

    @property
    def data(self) -> int:
        """Data-parallel replicas."""
        return self.devices // (self.tensor * self.pipeline * self.context)


class Layouts(Struct, frozen=True):
    """Columns of equal length; the fields are those of `Layout`. In a grid each varies along an axis of its own."""

    devices: Column
    devices_a_node: Column
    tensor: Column
    pipeline: Column
    interleave: Column
    context: Column
    expert: Column
    micro_batch: Column
    sharding: Column
    shard_group: Column
    sequence_parallel: Column
    checkpointing: Column
    offload: Column
    batch: Column | None = None  # samples of an optimizer step where rows differ in it; else the training says

    @classmethod
    def of(cls, *layouts: Layout) -> Self:
        """The columns of some layouts."""
        return cls(*(np.array([_number(getattr(each, name)) for each in layouts]) for name in NAMES))

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """The rows of several behind each other."""
        columns = {name: np.concatenate([getattr(each, name) for each in parts]) for name in NAMES}
        batches = [each.batch for each in parts if each.batch is not None]
        return cls(**columns, batch=np.concatenate(batches) if batches else None)

    def __len__(self) -> int:
        return len(self.devices)

    def __getitem__(self, row: int) -> Layout:
        return Layout(
            devices=int(self.devices[row]),
            devices_a_node=int(self.devices_a_node[row]),
            tensor=int(self.tensor[row]),
            pipeline=int(self.pipeline[row]),
            interleave=int(self.interleave[row]),
            context=int(self.context[row]),
            expert=int(self.expert[row]),
            micro_batch=int(self.micro_batch[row]),
            sharding=SHARDING[int(self.sharding[row])],
            shard_group=int(self.shard_group[row]),
            sequence_parallel=bool(self.sequence_parallel[row]),
            checkpointing=CHECKPOINTING[int(self.checkpointing[row])],
            offload=OFFLOAD[int(self.offload[row])],
        )

    def where(self, rows: NDArray[np.bool_] | NDArray[np.intp] | slice) -> Self:
        """Some of the rows, by a mask or by position."""
        batch = None if self.batch is None else self.batch[rows]
        return type(self)(**{name: getattr(self, name)[rows] for name in NAMES}, batch=batch)

    def rows(self, mask: NDArray[np.bool_]) -> Self:
        """Of a grid, the rows where a mask holds."""
        places = np.nonzero(np.broadcast_to(mask, self.shape))
        return type(self)(*(_along(getattr(self, name), places) for name in NAMES))

    def distinct(self, *names: str) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """One row of each combination of some columns, and for every row the place of its combination among these."""
        key, combinations = np.zeros(len(self)), 1
        for name in names:
            column = getattr(self, name)
            span = int(column.max(initial=0.0)) + 1
            key, combinations = key * span + column, combinations * span
        if combinations > LARGEST_WHOLE:
            return np.arange(len(self)), np.arange(len(self))
        _, first, place = np.unique(key, return_index=True, return_inverse=True)
        return first, place

    @property
    def shape(self) -> tuple[int, ...]:
        """Of a grid, how many values each axis has."""
        return np.broadcast_shapes(*(getattr(self, name).shape for name in NAMES))

    def count(self, mask: NDArray[np.bool_]) -> int:
        """How many rows of a grid a mask holds for, whichever axes it has."""
        return int(mask.sum()) * (prod(self.shape) // mask.size)

    @property
    def data(self) -> Column:
        """Data-parallel replicas."""
        return np.floor(self.devices / (self.tensor * self.pipeline * self.context))

    def micro_batches(self, global_batch: float) -> Column:
        """How many micro-batches a replica takes for an optimizer step; at least one."""
        batch = global_batch if self.batch is None else self.batch
        step = np.maximum(1.0, self.data * self.micro_batch)  # of a grid, some rows have no replica
        return np.maximum(1.0, np.ceil(batch / step))

    def sharded(self, stage: Sharding) -> NDArray[np.bool_]:
        """Where states are divided at least as far as this stage says."""
        mask: NDArray[np.bool_] = self.sharding >= SHARDING.index(stage)
        return mask

    def checkpoints(self, kind: Checkpointing) -> NDArray[np.bool_]:
        """Where exactly this is computed again."""
        mask: NDArray[np.bool_] = self.checkpointing == CHECKPOINTING.index(kind)
        return mask


NAMES = Layout.__struct_fields__
LARGEST_WHOLE = 2**53  # up to which every whole number is a float of its own


def _along(column: Column, places: tuple[NDArray[np.intp], ...]) -> Column:
    """A grid's column at some places; it varies along one axis, or not at all."""
    for axis, size in enumerate(column.shape):
        if size != 1:
            return column.ravel()[places[axis]]
    return np.full(len(places[0]), column.item())


def _number(value: object) -> float:
    for kind, choices in ((Checkpointing, CHECKPOINTING), (Sharding, SHARDING), (Offload, OFFLOAD)):
        if isinstance(value, kind):
            return float(choices.index(value))
    return float(value)  # type: ignore[arg-type]  # what is no choice is a number
