"""The length of a transformer's samples, and its number of layers."""

import numpy as np
from numpy.typing import NDArray

from flyball_planner.layouts.layout import Column, Layouts
from flyball_planner.layouts.stages import stage_layers
from flyball_planner.models.transformer.layers import usual_layer
from flyball_planner.models.transformer.shape import TransformerShape
from flyball_planner.training import Training


def layers_of(shape: TransformerShape) -> int:
    """Return the number of layers of all stacks, including those that predict further tokens."""
    return shape.layers + shape.decoder_layers + shape.multi_token_layers


def sequence_of(shape: TransformerShape, training: Training) -> int:
    """Return the tokens of a sample: an image's patches, or the training's sequence."""
    if shape.patches is None:
        return training.sequence
    return (shape.patches.image // shape.patches.patch) ** 2 + int(shape.patches.class_token)


def expert_layers(shape: TransformerShape) -> int:
    """Return the number of layers with experts."""
    if shape.experts is None:
        return 0
    return -(-(shape.layers - shape.experts.first_dense_layers) // shape.experts.every_layers)


def lacking_share(shape: TransformerShape, layouts: Layouts) -> Column:
    """Return by how much the last stage holds less than the fullest one, as a share of that.

    Unequal stages count the output as a layer, as in Llama 3 and Megatron: so it takes the time of a missing layer.
    """
    first, middle, last = stage_layers(layers_of(shape), layouts)
    return np.maximum(0.0, 1 - last / np.maximum(first, middle))


def up_projected_share(shape: TransformerShape) -> float:
    """Return the products from compressed to complete queries, keys and values as a share of a layer's products."""
    if shape.latent is None:
        return 0.0
    latent, layer = shape.latent, usual_layer(shape)
    queries = latent.query_rank * (latent.plain_dim + latent.rotary_dim)
    keys = latent.key_value_rank * (latent.plain_dim + latent.value_dim)
    projected = shape.heads * (queries + keys)
    experts = shape.experts if layer.experts else None
    width = experts.active * experts.ffn + experts.shared_ffn if experts else shape.ffn
    around = shape.hidden * (
        latent.query_rank + latent.key_value_rank + latent.rotary_dim + shape.heads * latent.value_dim
    )
    return projected / (projected + around + (3 if shape.gated else 2) * shape.hidden * width)


def stages_by_fullest(shape: TransformerShape, stages: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the number of stages as large as the fullest one that would hold all layers.

    It equals the number of stages if they are equal. A pipeline waits for its fullest stage.
    """
    layers = layers_of(shape)
    held: NDArray[np.float64] = layers / np.ceil(layers / stages)
    return held
