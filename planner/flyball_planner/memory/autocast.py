"""torch.autocast over fp32 weights: which layouts use it, and the 16-bit copies of the weights that it keeps."""

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from flyball_planner.layouts.layout import Column, Layouts
from flyball_planner.training import Checkpointing, Method, Sharding, Training

WEIGHT_COPY_BYTES = 2.0
STREAM_BYTES = 4.0  # embeddings, norms and therefore the residual stream stay in fp32 (torch's list of operators)


def autocast_rows(training: Training, layouts: Layouts) -> NDArray[np.bool_]:
    """Return the layouts whose products cast their weights and inputs.

    With fully sharded training the same name means FSDP's mixed precision: it gathers 16-bit weights, and its modules
    pass 16-bit activations on.
    """
    used = training.precision.autocast and training.framework == "pytorch"
    rows: NDArray[np.bool_] = used & ~layouts.sharded(Sharding.ZERO3)
    return rows


class CastWeights(Struct, frozen=True):
    """The fp32 weights on a device that products cast."""

    layers: Column
    output: Column | float = 0.0
    largest_layer: Column | float = 0.0


def weight_copies(training: Training, layouts: Layouts, cast: CastWeights) -> tuple[Column, Column]:
    """Return the bytes of weight copies at the loss, and in a layer's backward pass.

    autocast caches each copy of a trained weight until its context ends, after the loss; the graph holds it until the
    product's backward pass. With full checkpointing the graph only holds those of the layer that is computed again.
    Copies of frozen weights are never cached (torch only caches leaves that need a gradient), but a graph holds them,
    because the gradient of a product's input needs its weights. Weights in few bits are not cast: libraries
    compute them again in the backward pass.
    """
    used = np.where(autocast_rows(training, layouts), WEIGHT_COPY_BYTES, 0.0)
    few, frozen = training.frozen_format, training.method is not Method.FULL
    layers, largest = (cast.layers, cast.largest_layer) if few is None else (0.0, 0.0)
    output = 0.0 if few and few.output else cast.output
    checkpointed = layouts.checkpoints(Checkpointing.FULL)
    at_loss = output + np.where(checkpointed & frozen, 0.0, layers)
    return used * at_loss, used * np.where(checkpointed, largest, layers + output)
