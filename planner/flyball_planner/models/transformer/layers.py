"""Groups of equal layers of a transformer."""

from msgspec import Struct

from flyball_planner.models.transformer.shape import TransformerKind, TransformerShape


class LayerGroup(Struct, frozen=True):
    """Equal layers in sequence."""

    name: str
    repeats: int
    experts: bool = False  # instead of the feed-forward block
    cross: bool = False  # with attention to the encoder
    causal: bool = False


def layer_groups(shape: TransformerShape) -> tuple[LayerGroup, ...]:
    """Return the layers of a transformer from input to output, with token-prediction layers last."""
    causal = shape.kind is TransformerKind.DECODER
    expert = _expert_layers(shape)
    groups = (
        LayerGroup("layer", shape.layers - expert, causal=causal),
        LayerGroup("expert layer", expert, experts=True, causal=causal),
        LayerGroup("decoder layer", shape.decoder_layers, cross=True, causal=True),
        LayerGroup("token-prediction layer", shape.multi_token_layers, experts=expert > 0, causal=True),
    )
    return tuple(group for group in groups if group.repeats)


def usual_layer(shape: TransformerShape) -> LayerGroup:
    """Return the most frequent kind of layer."""
    return max(layer_groups(shape), key=lambda group: group.repeats)


def _expert_layers(shape: TransformerShape) -> int:
    if shape.experts is None:
        return 0
    return max(0, shape.layers - shape.experts.first_dense_layers) // shape.experts.every_layers
