"""Model states: weights, gradients and optimizer states, which a training holds throughout."""

import numpy as np
from msgspec import Struct

from flyball_planner.layouts.layout import OFFLOAD, Column, Layouts
from flyball_planner.precision import WIDTHS_BYTES, NumberFormat
from flyball_planner.training import Method, Offload, Optimizer, Sharding, Training

SIXTEEN_BIT = frozenset({NumberFormat.FP16, NumberFormat.BF16})


class HeldParameters(Struct, frozen=True):
    """The parameters that a device of one stage would hold without sharding over data-parallel ranks."""

    dense: Column  # in layers, embedding and output
    experts: Column  # already divided by expert parallelism
    quantised: Column  # the layers' products: the part of both that few bits may hold and that autocast copies
    adapters: Column  # low-rank additions
    largest_layer: Column
    ends: Column  # before and after the layers: one unit of fully sharded training
    largest_matrix: Column
    output_matrix: Column  # the output projection, on the stage that holds it

    @property
    def total(self) -> Column:
        """Return all parameters but adapters."""
        return self.dense + self.experts


class ModelStates(Struct, frozen=True):
    """The bytes of model states on one device."""

    weights: Column
    gradients: Column  # when all are computed
    first_gradients: Column  # that already exist when a backward pass begins
    optimizer: Column  # including fp32 copies of the weights
    transient: Column  # during the optimizer's step
    gathered: Column  # sharded weights that are gathered for use
    gathered_gradients: Column  # their gradients before they are scattered


def pure_16_bit(training: Training) -> bool:
    """Return True if weights, and therefore the optimizer's moments, are stored in 16 bits."""
    precision = training.precision
    return precision.weights in SIXTEEN_BIT and not precision.master


def optimizer_bytes(optimizer: Optimizer, *, pure: bool) -> float:
    """Return the bytes of states per parameter; moments follow 16-bit weights."""
    return optimizer.state_bytes - (2.0 * optimizer.moments if pure else 0.0)


def states(held: HeldParameters, training: Training, layouts: Layouts, micro_batches: Column) -> ModelStates:
    """Return the model states on each device of a stage."""
    full = training.method is Method.FULL
    trained = held if full else _adapters(held)
    ranks = shard_ranks(layouts)
    weights = _weights(held, training)
    gradients = _gradients(trained, training, layouts, ranks)
    kept = optimizer_bytes(training.optimizer, pure=pure_16_bit(training)) + 4.0 * training.precision.master
    optimizer = kept * _divided(trained, layouts, ranks, Sharding.ZERO1)
    width = 0.5 if pure_16_bit(training) else 1.0  # temporaries have the weights' format
    step = training.optimizer.transient_bytes * width if training.framework == "pytorch" else 0.0
    here = layouts.offload != OFFLOAD.index(Offload.PARAMETERS)
    on_device = here & (layouts.offload != OFFLOAD.index(Offload.OPTIMIZER))
    accumulating = (training.framework != "pytorch") | training.gradients_persist | (micro_batches > 1)
    return ModelStates(
        weights=here * _shard(weights, held, layouts, ranks, Sharding.ZERO3),
        gradients=here * gradients,
        first_gradients=here * gradients * (accumulating & (not training.optimizer.in_backward)),
        optimizer=on_device
        * optimizer
        * (not training.optimizer.paged),  # paged states move to the host when memory is short
        transient=on_device * step * _divided(trained, layouts, ranks, Sharding.ZERO1),
        gathered=_gathered(held, training, layouts),
        gathered_gradients=_gathered_gradients(held, training, layouts, micro_batches) * full,
    )


def shard_ranks(layouts: Layouts) -> Column:
    """Return the ranks that share states; context-parallel ranks hold the same weights and share them too, and so do
    the two ranks that hold a stage if a pipeline has both directions."""
    copies = layouts.data * layouts.context * (1 + layouts.bidirectional)
    ranks = np.where(layouts.shard_group > 0, layouts.shard_group, copies)
    return np.maximum(1.0, ranks)


def _adapters(held: HeldParameters) -> HeldParameters:
    nothing = np.zeros_like(held.dense)
    return HeldParameters(held.adapters, nothing, nothing, nothing, nothing, nothing, nothing, nothing)


def _weights(held: HeldParameters, training: Training) -> Column:
    width = WIDTHS_BYTES[training.precision.weights]
    few = training.frozen_format
    if few is None:
        return width * (held.total + held.adapters)
    quantised = held.quantised + (held.output_matrix if few.output else 0.0)
    rest = 4.0 if few.wide_rest else width
    return rest * (held.total - quantised + held.adapters) + few.weight_bytes * quantised


def _gradients(trained: HeldParameters, training: Training, layouts: Layouts, ranks: Column) -> Column:
    """Return gradients: Megatron accumulates in fp32 instead of the weights' format, DeepSpeed copies a shard to
    fp32."""
    width = WIDTHS_BYTES[training.precision.gradients]
    if training.optimizer.in_backward:
        return width * trained.largest_matrix
    copied = 4.0 if training.framework == "deepspeed" and training.precision.master else 0.0
    if training.fp32_gradients and training.framework == "megatron":
        width = 4.0
    share = _divided(trained, layouts, ranks, Sharding.ZERO1)
    return width * _divided(trained, layouts, ranks, Sharding.ZERO2) + copied * share


def _divided(held: HeldParameters, layouts: Layouts, ranks: Column, stage: Sharding) -> Column:
    return _shard(held.total, held, layouts, ranks, stage)


def _shard(amount: Column, held: HeldParameters, layouts: Layouts, ranks: Column, stage: Sharding) -> Column:
    """Divide by the ranks that share the states from this stage on; experts are shared by fewer ranks.

    Tensor-parallel ranks hold slices of the same experts, or with expert parallelism complete ones.
    """
    expert_part = held.experts / np.maximum(1.0, held.total)
    holding = ranks * np.where(layouts.expert > 1, layouts.tensor, 1.0)
    fewer = np.maximum(1.0, holding / layouts.expert)
    divided: Column = amount * ((1 - expert_part) / ranks + expert_part / fewer)
    return np.where(layouts.sharded(stage), divided, amount)


def _units(held: HeldParameters, training: Training, layer: float, end: float) -> Column:
    """Return two layers, one in use and one prefetched, and the ends; separate ends are gathered one at a time."""
    layers = 2 * layer * held.largest_layer
    ends: Column = end * held.ends
    return np.maximum(layers, ends / 2) if training.separate_ends else layers + ends


def _gathered(held: HeldParameters, training: Training, layouts: Layouts) -> Column:
    """Return gathered weights: in a pipeline, the complete stage stays gathered, since gathering it again costs too
    much."""
    width = WIDTHS_BYTES[training.precision.activations]
    layer = training.frozen_format.weight_bytes if training.frozen_format else width
    complete = width * held.total
    units = np.minimum(_units(held, training, layer, width), complete)
    return np.where(layouts.sharded(Sharding.ZERO3), np.where(layouts.pipeline > 1, complete, units), 0.0)


def _gathered_gradients(held: HeldParameters, training: Training, layouts: Layouts, micro_batches: Column) -> Column:
    """Return gradients before they are scattered: those of a layer and the ends, or all of them.

    All are kept, in the width of the sum, if the micro-batches of a step are summed first (FSDP's no_sync). FSDP2 in a
    pipeline sums in the width of the reduction.
    """
    width = WIDTHS_BYTES[training.precision.gradients]
    each = width / 2 if training.precision.autocast else width
    units = _units(held, training, each / 2, each)
    complete = (layouts.pipeline > 1) | (training.gradients_unsharded & (micro_batches > 1))
    return np.where(layouts.sharded(Sharding.ZERO3), np.where(complete, width * held.total, units), 0.0)
