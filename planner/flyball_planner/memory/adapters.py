"""Activations of a layer with frozen weights and low-rank additions."""

from collections.abc import Mapping

from msgspec import Struct

from flyball_planner.models.transformer.layers import LayerGroup
from flyball_planner.models.transformer.lora import FEED_FORWARD, lora_targets, product_widths
from flyball_planner.models.transformer.shape import NormKind, TransformerShape
from flyball_planner.training import Lora

DROPOUT_BYTES = 1.0  # a mask; the input after dropout is a separate copy
INPUTS = (("q", "k", "v"), ("o",), ("gate",), ("up",), ("down",))
"""Products that share their input."""


class Product(Struct, frozen=True):
    """One of a layer's products, for one token."""

    entering: int
    leaving: int
    times: int


def layer_products(shape: TransformerShape, group: LayerGroup) -> Mapping[str, Product]:
    """Return a layer's products; of the experts, those that a token is routed to."""
    routed = shape.experts.active if shape.experts and group.experts else None
    return {
        name: Product(entering, leaving, routed if routed and name in FEED_FORWARD else times)
        for name, (entering, leaving, times) in product_widths(shape, group).items()
    }


def kept_bytes_frozen(
    shape: TransformerShape,
    sequence: int,
    group: LayerGroup,
    lora: Lora,
    *,
    number_bytes: float,
    fused_norms: bool,
) -> float:
    """Return the bytes that one layer stores for a sample if only its low-rank additions are trained.

    A frozen product does not need its input, and a frozen norm does not need its result. What remains are the inputs of
    norms, of low-rank additions, of attention and of the non-linear parts.
    """
    norm = 4.0 if shape.norm is NormKind.RMS and not fused_norms else number_bytes
    attention = 2 * (shape.heads + shape.kv_heads) * shape.head_dim
    up = layer_products(shape, group)["up"]
    inner = (3 if shape.gated else 1) * up.leaving * up.times
    a_token = norm * shape.norms_a_layer * shape.hidden + number_bytes * (attention + inner)
    return sequence * (a_token + (number_bytes + DROPOUT_BYTES) * _added_inputs(shape, group, lora))


def output_numbers(shape: TransformerShape, group: LayerGroup) -> int:
    """Return the output numbers of all products of a layer, per token."""
    return sum(product.leaving * product.times for product in layer_products(shape, group).values())


def _added_inputs(shape: TransformerShape, group: LayerGroup, lora: Lora) -> int:
    known = layer_products(shape, group)
    targets = lora_targets(lora.targets)
    added = (next((name for name in shared if name in targets and name in known), None) for shared in INPUTS)
    return sum(known[name].entering * known[name].times for name in added if name)
