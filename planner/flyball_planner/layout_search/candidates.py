"""The candidates of a search: all ways to distribute a training over a number of devices."""

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from flyball_planner.layouts.layout import CHECKPOINTING, OFFLOAD, SHARDING, Layouts
from flyball_planner.layouts.rules import MOST_IDLE
from flyball_planner.layouts.stages import ENDS, idle_share
from flyball_planner.models.cost import ModelCost
from flyball_planner.models.transformer.shape import TransformerShape
from flyball_planner.training import Checkpointing, Offload, Sharding, Training

LARGEST_MICRO_BATCH = 512
LARGEST_INTERLEAVE = 8  # more chunks per stage cost more in messages than they save in the bubble
ODD_INTERLEAVE = frozenset({2, 4})  # chunks that an odd number of layers fills unequally
LONG_SEQUENCE = 16_384  # tokens; for shorter sequences a smaller micro-batch does the same


class Choices(Struct, frozen=True):
    """Restrictions of the search; an empty field allows all sensible values."""

    tensor: Sequence[int] = ()
    pipeline: Sequence[int] = ()
    interleave: Sequence[int] = ()
    context: Sequence[int] = ()
    expert: Sequence[int] = ()
    micro_batch: Sequence[int] = ()
    sharding: Sequence[Sharding] = ()
    checkpointing: Sequence[Checkpointing] = ()
    offload: Sequence[Offload] = (Offload.NONE,)
    shard_group: Sequence[int] = (0,)
    sequence_parallel: Sequence[bool] = ()  # empty: wherever there is tensor parallelism
    bidirectional: Sequence[bool] = (False,)


def candidates(
    subject: TransformerShape | ModelCost,
    training: Training,
    devices: int,
    devices_a_node: int,
    choices: Choices | None = None,
) -> Layouts:
    """Return every combination of the allowed values."""
    found = grid(subject, training, devices, devices_a_node, choices)
    return found.rows(found.data >= 1)


def grid(
    subject: TransformerShape | ModelCost,
    training: Training,
    devices: int,
    devices_a_node: int,
    choices: Choices | None = None,
) -> Layouts:
    """Return the same combinations as a grid, so that a rule only costs as much as the columns that it uses."""
    wanted = choices or Choices()
    axes = {
        "tensor": wanted.tensor or _tensor(subject, devices, devices_a_node),
        "pipeline": wanted.pipeline or _pipeline(subject, devices),
        "interleave": wanted.interleave or _interleave(subject),
        "context": wanted.context or _context(subject, training, devices),
        "expert": wanted.expert or _expert(subject, devices),
        "micro_batch": wanted.micro_batch or _micro_batches(training.global_batch),
        "sharding": [SHARDING.index(each) for each in wanted.sharding or SHARDING],
        "checkpointing": [CHECKPOINTING.index(each) for each in wanted.checkpointing or CHECKPOINTING],
        "offload": [OFFLOAD.index(each) for each in wanted.offload],
        "shard_group": wanted.shard_group,
        "sequence_parallel": wanted.sequence_parallel or (False,),
        "bidirectional": wanted.bidirectional,
    }
    columns = dict(zip(axes, np.ix_(*(np.array(axis, dtype=np.float64) for axis in axes.values())), strict=True))
    if not wanted.sequence_parallel:
        columns["sequence_parallel"] = (columns["tensor"] > 1).astype(np.float64)  # never slower, and saves memory
    same = np.ones((1,) * len(axes))
    return Layouts(
        devices=same * devices,
        devices_a_node=same * min(devices, devices_a_node),
        **columns,
    )


def _doubled(largest: int) -> list[int]:
    return [2**power for power in range(max(1, largest).bit_length())]


def _micro_batches(batch: int) -> list[int]:
    """Return powers of two, and three or five times these if the batch has such a factor (24 on 8 devices are 3)."""
    largest = min(LARGEST_MICRO_BATCH, batch)
    odd = (each for each in (1, 3, 5) if batch % each == 0 and each <= largest)
    return sorted(each * power for each in odd for power in _doubled(largest // each))


def _divisors(number: int, largest: int) -> list[int]:
    return [each for each in range(1, min(number, largest) + 1) if number % each == 0]


def _tensor(subject: TransformerShape | ModelCost, devices: int, devices_a_node: int) -> list[int]:
    if not isinstance(subject, TransformerShape):
        return [1]
    return [each for each in _doubled(min(devices, devices_a_node)) if subject.heads % each == 0]


def _pipeline(subject: TransformerShape | ModelCost, devices: int) -> list[int]:
    if not isinstance(subject, TransformerShape):
        return [1]
    layers = subject.layers + subject.decoder_layers
    # Unequal stages too: DeepSeek-V3 has 61 layers in 16, and 32 layers on 10 devices only divide into five.
    return [
        each
        for each in _divisors(devices, layers)
        if (layers + ENDS) % each == 0 or idle_share(layers, each) <= MOST_IDLE
    ]


def _interleave(subject: TransformerShape | ModelCost) -> list[int]:
    if not isinstance(subject, TransformerShape):
        return [1]
    layers = subject.layers + subject.decoder_layers
    usual = {chunks for number in (layers, layers + ENDS) for chunks in _divisors(number, LARGEST_INTERLEAVE)}
    return sorted(usual | (ODD_INTERLEAVE if layers % 2 else frozenset()))


def _context(subject: TransformerShape | ModelCost, training: Training, devices: int) -> list[int]:
    if not isinstance(subject, TransformerShape) or training.sequence < LONG_SEQUENCE:
        return [1]
    return _doubled(min(devices, training.sequence // (LONG_SEQUENCE // 4)))


def _expert(subject: TransformerShape | ModelCost, devices: int) -> list[int]:
    if not isinstance(subject, TransformerShape) or subject.experts is None:
        return [1]
    return [each for each in _doubled(devices) if subject.experts.count % each == 0]
