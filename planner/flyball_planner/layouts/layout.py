"""Layouts as columns, so that memory and time are computed for many layouts at once; a plan has a single row."""

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
"""Columns hold indices into these."""


class ParallelLayout(Struct, frozen=True):
    """One way to distribute a training over devices. The data-parallel degree follows from the other degrees."""

    devices: int = 1
    devices_a_node: int = 8
    tensor: int = 1
    pipeline: int = 1
    interleave: int = 1  # model chunks per pipeline stage
    context: int = 1
    expert: int = 1
    micro_batch: int = 1  # samples per device and forward pass
    sharding: Sharding = Sharding.NONE
    shard_group: int = 0  # ranks that share the states; 0: all data-parallel ranks
    sequence_parallel: bool = False
    bidirectional: bool = False  # micro-batches enter a pipeline from both ends, whose ranks hold two stages (DualPipe)
    checkpointing: Checkpointing = Checkpointing.NONE
    offload: Offload = Offload.NONE

    @property
    def data(self) -> int:
        """Return the number of data-parallel replicas."""
        return self.devices // (self.tensor * self.pipeline * self.context)


class Layouts(Struct, frozen=True):
    """Columns of equal length with the fields of `ParallelLayout`. In a grid, each column varies along its own axis."""

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
    bidirectional: Column
    checkpointing: Column
    offload: Column
    batch: Column | None = None  # samples per step where rows differ; else the training's batch

    @classmethod
    def of(cls, *layouts: ParallelLayout) -> Self:
        """Return the columns of some layouts."""
        return cls(*(np.array([_number(getattr(each, name)) for each in layouts]) for name in NAMES))

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """Concatenate the rows of several tables."""
        columns = {name: np.concatenate([getattr(each, name) for each in parts]) for name in NAMES}
        batches = [each.batch for each in parts if each.batch is not None]
        return cls(**columns, batch=np.concatenate(batches) if batches else None)

    def __len__(self) -> int:
        return len(self.devices)

    def __getitem__(self, row: int) -> ParallelLayout:
        return ParallelLayout(
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
            bidirectional=bool(self.bidirectional[row]),
            checkpointing=CHECKPOINTING[int(self.checkpointing[row])],
            offload=OFFLOAD[int(self.offload[row])],
        )

    def where(self, rows: NDArray[np.bool_] | NDArray[np.intp] | slice) -> Self:
        """Select rows by a mask or by position."""
        batch = None if self.batch is None else self.batch[rows]
        return type(self)(**{name: getattr(self, name)[rows] for name in NAMES}, batch=batch)

    def rows(self, mask: NDArray[np.bool_]) -> Self:
        """Return the rows of a grid for which a mask is true."""
        places = np.nonzero(np.broadcast_to(mask, self.shape))
        return type(self)(*(_along(getattr(self, name), places) for name in NAMES))

    def distinct(self, *names: str) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return one row of each distinct combination of some columns, and each row's index into those."""
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
        """Return the number of values on each axis of a grid."""
        return np.broadcast_shapes(*(getattr(self, name).shape for name in NAMES))

    def count(self, mask: NDArray[np.bool_]) -> int:
        """Return the number of rows of a grid for which a mask is true; the mask may lack axes."""
        return int(mask.sum()) * (prod(self.shape) // mask.size)

    @property
    def data(self) -> Column:
        """Return the number of data-parallel replicas."""
        return np.floor(self.devices / (self.tensor * self.pipeline * self.context))

    def micro_batches(self, global_batch: float) -> Column:
        """Return the number of micro-batches per replica and optimizer step, at least one."""
        batch = global_batch if self.batch is None else self.batch
        step = np.maximum(1.0, self.data * self.micro_batch)  # some rows of a grid have no replica
        return np.maximum(1.0, np.ceil(batch / step))

    def sharded(self, stage: Sharding) -> NDArray[np.bool_]:
        """Return the rows whose states are sharded at least as far as this stage."""
        mask: NDArray[np.bool_] = self.sharding >= SHARDING.index(stage)
        return mask

    def checkpoints(self, kind: Checkpointing) -> NDArray[np.bool_]:
        """Return the rows that use exactly this kind of checkpointing."""
        mask: NDArray[np.bool_] = self.checkpointing == CHECKPOINTING.index(kind)
        return mask


NAMES = ParallelLayout.__struct_fields__
LARGEST_WHOLE = 2**53  # above it, floats do not hold every integer


def _along(column: Column, places: tuple[NDArray[np.intp], ...]) -> Column:
    """Return a grid's column at some places. The column varies along one axis or none."""
    for axis, size in enumerate(column.shape):
        if size != 1:
            return column.ravel()[places[axis]]
    return np.full(len(places[0]), column.item())


def _number(value: object) -> float:
    for kind, choices in ((Checkpointing, CHECKPOINTING), (Sharding, SHARDING), (Offload, OFFLOAD)):
        if isinstance(value, kind):
            return float(choices.index(value))
    return float(value)  # type: ignore[arg-type]  # anything but an enumeration is a number
