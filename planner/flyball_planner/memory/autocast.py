"""torch.autocast over fp32 weights: which layouts use it, and the 16-bit copies of the weights that it keeps."""

import numpy as np
from numpy.typing import NDArray

from flyball_planner.layouts.layout import Column, Layouts
from flyball_planner.training import Checkpointing, Sharding, Training

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


def weight_copies(training: Training, layouts: Layouts, products: Column, one_layer: Column) -> tuple[Column, Column]:
    """Return the bytes of weight copies at the loss, and in a layer's backward pass.

    autocast caches each copy until its context ends, after the loss; the graph holds it until the product's backward
    pass. With full checkpointing the graph only holds those of the layer that is computed again.
    """
    used = np.where(autocast_rows(training, layouts), WEIGHT_COPY_BYTES, 0.0)
    again = np.where(layouts.checkpoints(Checkpointing.FULL), one_layer, products)
    return used * products, used * again
