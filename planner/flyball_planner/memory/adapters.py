"""What a layer over frozen weights keeps for the backward pass of its low-rank additions."""

from collections.abc import Mapping

from msgspec import Struct

from flyball_planner.models.transformer.layers import LayerGroup
from flyball_planner.models.transformer.lora import FEED_FORWARD, lora_targets, product_widths
from flyball_planner.models.transformer.shape import Norm, TransformerShape
from flyball_planner.training import Lora

DROPOUT_BYTES = 1.0  # a mask; the dropped input is a copy of its own
INPUTS = (("q", "k", "v"), ("o",), ("gate",), ("up",), ("down",))
"""Products that share what they are given."""


class Product(Struct, frozen=True):
    """One of a layer's products, as a token passes it."""

    entering: int
    leaving: int
    times: int


def layer_products(shape: TransformerShape, group: LayerGroup) -> Mapping[str, Product]:
    """A layer's products; of experts those that a token is sent to."""
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
    """What one layer keeps of a sample when only its additions are trained.

    A frozen product does not need its input, nor a frozen norm its result: what remains are the norms' own inputs, the
    additions' inputs, attention's, and what enters the non-linear parts.
    """
    norm = 4.0 if shape.norm is Norm.RMS and not fused_norms else number_bytes
    attention = 2 * (shape.heads + shape.kv_heads) * shape.head_dim
    up = layer_products(shape, group)["up"]
    inner = (3 if shape.gated else 1) * up.leaving * up.times
    a_token = norm * shape.norms_a_layer * shape.hidden + number_bytes * (attention + inner)
    return sequence * (a_token + (number_bytes + DROPOUT_BYTES) * _added_inputs(shape, group, lora))


def output_numbers(shape: TransformerShape, group: LayerGroup) -> int:
    """What all products of a layer put out, a token."""
    return sum(product.leaving * product.times for product in layer_products(shape, group).values())


def _added_inputs(shape: TransformerShape, group: LayerGroup, lora: Lora) -> int:
    known = layer_products(shape, group)
    targets = lora_targets(lora.targets)
    added = (next((name for name in shared if name in targets and name in known), None) for shared in INPUTS)
    return sum(known[name].entering * known[name].times for name in added if name)
