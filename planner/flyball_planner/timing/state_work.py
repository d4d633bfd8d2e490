"""The work on model states in a step: gathering, reducing, updating, and moving to the host."""

import numpy as np

from flyball_planner.layouts.layout import Layouts
from flyball_planner.precision import WIDTHS_BYTES
from flyball_planner.timing.collectives import Column, RankGroup
from flyball_planner.timing.work import StateWork
from flyball_planner.training import Offload, Sharding, Training

OVERLAPPING = frozenset({"pytorch", "megatron", "llm.c"})
"""Frameworks that reduce gradients during the backward pass; DeepSpeed and old Megatron-LM wait for its end."""
FUSED_ACCUMULATION = frozenset({"megatron", "deepspeed"})
"""Frameworks whose products add to the accumulated gradient directly, so it is read and written once."""
STEP_GRADIENTS = 3.0  # passes per step: read for the norm, read for the update, set to zero
GATHERED_BYTES = 2.0  # per weight that autocast shards in fp32 and gathers in 16 bits


def states_of(training: Training, layouts: Layouts, weights: Column, trained: Column) -> StateWork:
    """Return the work, given one device's weights and trained weights before sharding over data-parallel ranks."""
    precision = training.precision
    weight = WIDTHS_BYTES[precision.weights]
    gradient = 4.0 if training.fp32_gradients else WIDTHS_BYTES[precision.gradients]
    group = np.where(layouts.shard_group > 0, layouts.shard_group, layouts.data)
    stepped = trained / np.where(layouts.sharded(Sharding.ZERO1), group, 1.0)
    several = layouts.data > 1
    gathers, scatters = layouts.sharded(Sharding.ZERO3) & several, layouts.sharded(Sharding.ZERO2) & several
    again = layouts.micro_batches(training.global_batch) > 1
    hosted = layouts.offload >= list(Offload).index(Offload.OPTIMIZER)
    hosted &= layouts.offload < list(Offload).index(Offload.ACTIVATIONS)
    sent = GATHERED_BYTES if precision.autocast and training.framework == "pytorch" else weight
    return StateWork(
        accumulated_bytes=trained * (2 if training.framework in FUSED_ACCUMULATION else 3) * gradient * again,
        gathered_bytes=2 * weights * sent * gathers,
        scattered_bytes=trained * gradient * scatters,
        reduced_bytes=trained * gradient * ~scatters,
        returned_bytes=trained * np.where(layouts.sharded(Sharding.ZERO1), weight, gradient) * ~scatters,
        updated_bytes=stepped * _bytes_per_step(training, weight, gradient) * ~hosted,
        host_bytes=stepped * (gradient + weight) * hosted,
        group=RankGroup(layouts.data, layouts.tensor * layouts.context),
        overlapped=np.full(len(layouts), float(training.framework in OVERLAPPING)),
    )


def _bytes_per_step(training: Training, weight: float, gradient: float) -> float:
    """Return the bytes read and written for each parameter that a device updates."""
    master = 8.0 if training.precision.master else 0.0
    return 2 * training.optimizer.state_bytes + master + 2 * weight + STEP_GRADIENTS * gradient
