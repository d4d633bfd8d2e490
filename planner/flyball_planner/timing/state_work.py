"""The work on model states in a step: gathering, reducing, updating, and moving to the host."""

import numpy as np
from msgspec import Struct

from flyball_planner.layouts.layout import Layouts
from flyball_planner.precision import WIDTHS_BYTES
from flyball_planner.timing.collectives import Column, RankGroup
from flyball_planner.timing.frameworks import FUSED_ACCUMULATION, OVERLAPPING
from flyball_planner.timing.work import StateWork
from flyball_planner.training import Offload, Sharding, Training

STEP_GRADIENTS = 3.0  # passes per step: read for the norm, read for the update, set to zero
PASSES = 3.0  # weights are gathered for the forward and the backward pass, and gradients scattered
GATHERED_PARTS = {"deepspeed": 6.0}
"""Messages of a layer in one pass: DeepSpeed gathers the weights of each module when it is called, and a transformer's
layer has four products and two norms; FSDP gathers complete layers."""
GATHERED_BYTES = 2.0  # per weight that autocast shards in fp32 and gathers in 16 bits


class HeldWeights(Struct, frozen=True):
    """Weights of one device before sharding, and the ranks that hold the same ones."""

    weights: Column
    trained: Column
    layers: Column
    copies: RankGroup
    shards: Column  # ranks among the copies that share states if they are sharded


def dense_weights(layouts: Layouts, weights: Column, trained: Column, layers: Column) -> HeldWeights:
    """Return weights that every data-parallel and context-parallel rank holds.

    Context-parallel ranks see other tokens, so their gradients are summed too, and they share states (Megatron's
    groups with_context_parallel, torchtitan's dp_shard_cp). In a pipeline of both directions, two hold each stage.
    """
    copies = layouts.data * layouts.context * (1 + layouts.bidirectional)
    shards = np.where(layouts.shard_group > 0, layouts.shard_group, copies)
    return HeldWeights(weights, trained, layers, RankGroup(copies, layouts.tensor), shards)


def expert_weights(layouts: Layouts, weights: Column, trained: Column, layers: Column) -> HeldWeights:
    """Return weights of experts: all ranks of a stage are divided into groups that hold each expert once.

    So fewer ranks hold the same weights, and these are on different nodes if a group fills a node. Without expert
    parallelism, the group is that of the tensor-parallel ranks, which hold slices of all experts.
    """
    dense = dense_weights(layouts, weights, trained, layers)
    group = np.where(layouts.expert > 1, layouts.expert, layouts.tensor)
    copies, shards = (np.maximum(1.0, layouts.tensor * ranks / group) for ranks in (dense.copies.ranks, dense.shards))
    return HeldWeights(weights, trained, layers, RankGroup(copies, group), shards)


def states_of(training: Training, layouts: Layouts, held: HeldWeights) -> StateWork:
    """Return the work on the states of one device's weights."""
    precision, trained, ranks = training.precision, held.trained, held.copies.ranks
    weight = WIDTHS_BYTES[precision.weights]
    gradient = 4.0 if training.fp32_gradients else WIDTHS_BYTES[precision.gradients]
    whole = trained * (1 + layouts.bidirectional)  # a rank has two stages then, of which a micro-batch passes one
    stepped = whole / np.where(layouts.sharded(Sharding.ZERO1), held.shards, 1.0)
    several, stride = ranks > 1, held.copies.stride
    replicas = ranks / held.shards
    gathers, scatters = layouts.sharded(Sharding.ZERO3) & several, layouts.sharded(Sharding.ZERO2) & several
    again = layouts.micro_batches(training.global_batch) > 1
    hosted = layouts.offload >= list(Offload).index(Offload.OPTIMIZER)
    hosted &= layouts.offload < list(Offload).index(Offload.ACTIVATIONS)
    frozen = training.frozen_format
    sent = frozen.weight_bytes if frozen else GATHERED_BYTES if precision.autocast else weight
    return StateWork(
        accumulated_bytes=trained * (2 if training.framework in FUSED_ACCUMULATION else 3) * gradient * again,
        gathered_bytes=2 * held.weights * sent * gathers,
        scattered_bytes=trained * gradient * scatters,
        messages=PASSES * held.layers * GATHERED_PARTS.get(training.framework, 1.0) * gathers,
        mirrored_bytes=trained * gradient / held.shards * (gathers & (replicas > 1)),
        reduced_bytes=whole * gradient * ~scatters,
        returned_bytes=whole * np.where(layouts.sharded(Sharding.ZERO1), weight, gradient) * ~gathers,
        updated_bytes=stepped * _bytes_per_step(training, weight, gradient) * ~hosted,
        host_bytes=stepped * (gradient + weight) * hosted,
        group=held.copies,
        shards=RankGroup(np.where(gathers, held.shards, ranks), stride),
        replicas=RankGroup(replicas, stride * held.shards),
        overlapped=np.full(len(layouts), float(training.framework in OVERLAPPING)),
    )


def _bytes_per_step(training: Training, weight: float, gradient: float) -> float:
    """Return the bytes read and written for each parameter that a device updates."""
    master = 8.0 if training.precision.master else 0.0
    return 2 * training.optimizer.state_bytes + master + 2 * weight + STEP_GRADIENTS * gradient
