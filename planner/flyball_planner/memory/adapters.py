"""Activations of a layer whose weights are frozen, with low-rank or other small additions."""

from collections.abc import Mapping

from msgspec import Struct

from flyball_planner.models.transformer.layers import LayerGroup
from flyball_planner.models.transformer.lora import FEED_FORWARD, lora_targets, product_widths
from flyball_planner.models.transformer.shape import NormKind, TransformerShape
from flyball_planner.training import Lora, Method, Training

DROPOUT_BYTES = 1.0  # a mask; the input after dropout is a separate copy
INPUTS = (("q", "k", "v"), ("o",), ("gate",), ("up",), ("down",))
"""Products that share their input."""
DORA_OUTPUTS = 2.0  # a target's frozen and added output, which the trained length multiplies (PEFT's DoraLinearLayer)
BOTTLENECKS = 2  # in a layer: after attention and after the feed-forward block (Houlsby et al., 2019)


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
    training: Training,
    group: LayerGroup,
    *,
    number_bytes: float,
    fused_norms: bool,
    extra_inputs: float = 0.0,
) -> float:
    """Return the bytes that one layer stores for a sample if only its additions are trained.

    A frozen product does not need its input, and a frozen norm does not need its result. What remains are the inputs of
    norms, of the additions, of attention and of the non-linear parts, and what quantised products hold for no reason.
    """
    norm = 4.0 if shape.norm is NormKind.RMS and not fused_norms else number_bytes
    attention = 2 * (shape.heads + shape.kv_heads) * shape.head_dim
    inner = _inner(shape, group)
    plain = norm * shape.norms_a_layer * shape.hidden + number_bytes * (attention + inner)
    held = number_bytes * _held_inputs(shape, group, training, extra_inputs)
    return training.sequence * (plain + held + _added(shape, group, training, number_bytes))


def dequantised_numbers(shape: TransformerShape, group: LayerGroup) -> int:
    """Return the weights of a layer's largest product, which exists in 16 bits while it is used."""
    return max(each.entering * each.leaving for each in layer_products(shape, group).values())


def output_numbers(shape: TransformerShape, group: LayerGroup) -> int:
    """Return the output numbers of all products of a layer, per token."""
    return sum(product.leaving * product.times for product in layer_products(shape, group).values())


def _inner(shape: TransformerShape, group: LayerGroup) -> int:
    """Return the numbers that non-linear parts keep: gate, activated gate and up; or the activation's input."""
    up = layer_products(shape, group).get("up")
    return (3 if shape.gated else 1) * up.leaving * up.times if up else 0


def _held_inputs(shape: TransformerShape, group: LayerGroup, training: Training, extra: float) -> float:
    """Return the input numbers that a library's quantised products hold; attention's output is kept anyway, once."""
    few = training.frozen_format
    copies = few.kept_inputs + extra if few else 0.0
    if not copies:
        return 0.0
    known = layer_products(shape, group)
    shared = shape.parallel_block and shape.norms_a_layer == 1
    names = ("q", "o", "down") if shared else ("q", "o", "up", "down")
    every = sum(known[name].entering * known[name].times for name in names if name in known)
    return copies * every - known["o"].entering if "o" in known else copies * every


def _added(shape: TransformerShape, group: LayerGroup, training: Training, number_bytes: float) -> float:
    """Return the bytes per token that the additions keep."""
    known, lora = layer_products(shape, group), training.lora or Lora()
    match training.method:
        case Method.IA3:
            return number_bytes * sum(known[name].leaving for name in ("k", "v")) + number_bytes * _entering(known)
        case Method.PREFIX | Method.PROMPT:
            return 0.0
        case Method.BOTTLENECK:
            return number_bytes * BOTTLENECKS * (shape.hidden + 2 * training.bottleneck_width)
        case Method.DORA:
            outputs = sum(
                known[name].leaving * known[name].times for name in lora_targets(lora.targets) if name in known
            )
            inputs = (number_bytes + DROPOUT_BYTES) * _added_inputs(shape, group, lora)
            return inputs + number_bytes * DORA_OUTPUTS * outputs
        case _:
            return (number_bytes + DROPOUT_BYTES) * _added_inputs(shape, group, lora)


def _entering(known: Mapping[str, Product]) -> int:
    return known["down"].entering * known["down"].times if "down" in known else 0


def _added_inputs(shape: TransformerShape, group: LayerGroup, lora: Lora) -> int:
    known = layer_products(shape, group)
    targets = lora_targets(lora.targets)
    added = (next((name for name in shared if name in targets and name in known), None) for shared in INPUTS)
    return sum(known[name].entering * known[name].times for name in added if name)
