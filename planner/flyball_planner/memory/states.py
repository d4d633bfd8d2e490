"""Weights, gradients and optimizer states: what a training holds from its first step to its last."""

import numpy as np
from msgspec import Struct

from flyball_planner.layouts.columns import OFFLOAD, Column, Layouts
from flyball_planner.memory.constants import Constants
from flyball_planner.precision import WIDTHS_BYTES, Format
from flyball_planner.training import Method, Offload, Optimizer, Sharding, Training

SIXTEEN_BIT = frozenset({Format.FP16, Format.BF16})


class Held(Struct, frozen=True):
    """Parameters that one device of a stage would hold if data-parallel ranks divided nothing."""

    dense: Column  # in layers and ends
    experts: Column  # of them each rank holds its own share already
    quantised: Column  # of both, what 4-bit training quantises: the layers' products
    adapters: Column  # low-rank additions
    largest_layer: Column
    ends: Column  # before and behind the layers: one unit of fully sharded training
    largest_matrix: Column

    @property
    def total(self) -> Column:
        """All but adapters."""
        return self.dense + self.experts


class States(Struct, frozen=True):
    """Bytes on one device."""

    weights: Column
    gradients: Column  # once all are there
    first_gradients: Column  # that already stand when a backward pass begins
    optimizer: Column  # with fp32 copies of the weights
    transient: Column  # while the optimizer steps
    gathered: Column  # sharded weights put together for use
    gathered_gradients: Column  # of the same, before they are divided


def pure_16_bit(training: Training) -> bool:
    """Whether weights, and so the optimizer's moments, are kept in 16 bits."""
    precision = training.precision
    return precision.weights in SIXTEEN_BIT and not precision.master


def optimizer_bytes(optimizer: Optimizer, *, pure: bool) -> float:
    """States of a parameter; moments follow 16-bit weights."""
    return optimizer.state_bytes - (2.0 * optimizer.moments if pure else 0.0)


def states(held: Held, training: Training, layouts: Layouts, micro_batches: Column, constants: Constants) -> States:
    """What the states of a stage take on each of its devices."""
    full = training.method is Method.FULL
    trained = held if full else _adapters(held)
    ranks = shard_ranks(layouts)
    weights = _weights(held, training, constants)
    gradients = _gradients(trained, training, layouts, ranks)
    kept = optimizer_bytes(training.optimizer, pure=pure_16_bit(training)) + 4.0 * training.precision.master
    optimizer = kept * _divided(trained, layouts, ranks, Sharding.ZERO1)
    width = 0.5 if pure_16_bit(training) else 1.0  # temporaries follow the weights
    step = training.optimizer.transient_bytes * width if training.framework == "pytorch" else 0.0
    here = layouts.offload != OFFLOAD.index(Offload.PARAMETERS)
    on_device = here & (layouts.offload != OFFLOAD.index(Offload.OPTIMIZER))
    standing = (training.framework != "pytorch") | (micro_batches > 1)
    return States(
        weights=here * _shard(weights, held, layouts, ranks, Sharding.ZERO3),
        gradients=here * gradients,
        first_gradients=here * gradients * (standing & (not training.optimizer.in_backward)),
        optimizer=on_device
        * optimizer
        * (not training.optimizer.paged),  # the host takes paged ones when room is short
        transient=on_device * step * _divided(trained, layouts, ranks, Sharding.ZERO1),
        gathered=_gathered(held, training, layouts, constants),
        gathered_gradients=_gathered_gradients(held, training, layouts, micro_batches) * full,
    )


def shard_ranks(layouts: Layouts) -> Column:
    """Ranks that divide states; context-parallel ones hold the same weights and divide too."""
    ranks = np.where(layouts.shard_group > 0, layouts.shard_group, layouts.data * layouts.context)
    return np.maximum(1.0, ranks)


def _adapters(held: Held) -> Held:
    nothing = np.zeros_like(held.dense)
    return Held(held.adapters, nothing, nothing, nothing, nothing, nothing, nothing)


def _weights(held: Held, training: Training, constants: Constants) -> Column:
    width = WIDTHS_BYTES[training.precision.weights]
    quantised = held.quantised if training.method is Method.QLORA else 0.0
    return width * (held.total - quantised + held.adapters) + constants.nf4_bytes * quantised


def _gradients(trained: Held, training: Training, layouts: Layouts, ranks: Column) -> Column:
    """Megatron accumulates in fp32 in place of the weights' format, DeepSpeed copies a rank's share to fp32."""
    width = WIDTHS_BYTES[training.precision.gradients]
    if training.optimizer.in_backward:
        return width * trained.largest_matrix
    copied = 4.0 if training.framework == "deepspeed" and training.precision.master else 0.0
    if training.fp32_gradients and training.framework == "megatron":
        width = 4.0
    share = _divided(trained, layouts, ranks, Sharding.ZERO1)
    return width * _divided(trained, layouts, ranks, Sharding.ZERO2) + copied * share


def _divided(held: Held, layouts: Layouts, ranks: Column, stage: Sharding) -> Column:
    return _shard(held.total, held, layouts, ranks, stage)


def _shard(amount: Column, held: Held, layouts: Layouts, ranks: Column, stage: Sharding) -> Column:
    """Divide by the ranks that share it where this stage is reached; a rank's experts are shared by fewer."""
    expert_part = held.experts / np.maximum(1.0, held.total)
    fewer = np.maximum(1.0, ranks / layouts.expert)
    divided: Column = amount * ((1 - expert_part) / ranks + expert_part / fewer)
    return np.where(layouts.sharded(stage), divided, amount)


def _units(held: Held, training: Training, layer: float, end: float) -> Column:
    """Two layers, one in use and one on its way, and the ends; ends that are units of their own come one at a time."""
    layers = 2 * layer * held.largest_layer
    ends: Column = end * held.ends
    return np.maximum(layers, ends / 2) if training.ends_apart else layers + ends


def _gathered(held: Held, training: Training, layouts: Layouts, constants: Constants) -> Column:
    """In a pipeline the whole stage stays gathered: to gather it for each micro-batch would cost too much."""
    width = WIDTHS_BYTES[training.precision.activations]
    layer = constants.nf4_bytes if training.method is Method.QLORA else width
    whole = width * held.total
    units = np.minimum(_units(held, training, layer, width), whole)
    return np.where(layouts.sharded(Sharding.ZERO3), np.where(layouts.pipeline > 1, whole, units), 0.0)


def _gathered_gradients(held: Held, training: Training, layouts: Layouts, micro_batches: Column) -> Column:
    """A layer's and the ends' before they are divided; all of them, in the width they are added in, where a step's
    micro-batches are gathered first (FSDP's no_sync; FSDP2 in a pipeline adds in the width it reduces in)."""
    width = WIDTHS_BYTES[training.precision.gradients]
    each = width / 2 if training.precision.autocast else width
    units = _units(held, training, each / 2, each)
    whole = (layouts.pipeline > 1) | (training.gradients_whole & (micro_batches > 1))
    return np.where(layouts.sharded(Sharding.ZERO3), np.where(whole, width * held.total, units), 0.0)
