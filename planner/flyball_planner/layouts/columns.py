"""Many layouts at once, as columns: memory and time are computed for all of them in one pass, and a plan is a search
with a single candidate."""

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
    """Columns of equal length; the fields are those of `Layout`."""

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

    @classmethod
    def of(cls, *layouts: Layout) -> Self:
        """The columns of some layouts."""
        return cls(*(np.array([_number(getattr(each, name)) for each in layouts]) for name in NAMES))

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

    def where(self, rows: NDArray[np.bool_] | NDArray[np.intp]) -> Self:
        """Some of the rows, by a mask or by position."""
        return type(self)(*(getattr(self, name)[rows] for name in NAMES))

    @property
    def data(self) -> Column:
        """Data-parallel replicas."""
        return np.floor(self.devices / (self.tensor * self.pipeline * self.context))

    def micro_batches(self, global_batch: float) -> Column:
        """How many micro-batches a replica takes for an optimizer step; at least one."""
        return np.maximum(1.0, np.ceil(global_batch / (self.data * self.micro_batch)))

    def sharded(self, stage: Sharding) -> NDArray[np.bool_]:
        """Where states are divided at least as far as this stage says."""
        mask: NDArray[np.bool_] = self.sharding >= SHARDING.index(stage)
        return mask

    def checkpoints(self, kind: Checkpointing) -> NDArray[np.bool_]:
        """Where exactly this is computed again."""
        mask: NDArray[np.bool_] = self.checkpointing == CHECKPOINTING.index(kind)
        return mask


NAMES = Layout.__struct_fields__


def _number(value: object) -> float:
    for kind, choices in ((Checkpointing, CHECKPOINTING), (Sharding, SHARDING), (Offload, OFFLOAD)):
        if isinstance(value, kind):
            return float(choices.index(value))
    return float(value)  # type: ignore[arg-type]  # what is no choice is a number
