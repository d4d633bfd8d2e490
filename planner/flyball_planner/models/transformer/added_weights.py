"""Parameters that a training adds to a frozen transformer, by method; counts are those that PEFT prints."""

from flyball_planner.models.transformer.layers import LayerGroup, layer_groups
from flyball_planner.models.transformer.lora import lora_parameters, lora_targets, product_widths
from flyball_planner.models.transformer.shape import TransformerShape
from flyball_planner.training import Lora, Method, Training

BOTTLENECKS = 2  # in a layer: after attention and after the feed-forward block (Houlsby et al., 2019)


def added_parameters(shape: TransformerShape, training: Training) -> int:
    """Return the trained parameters of a method; 0 if all weights are trained."""
    lora, tokens = training.lora or Lora(), training.virtual_tokens
    stacks = 2 if shape.decoder_layers else 1  # an encoder-decoder has virtual tokens at both
    match training.method:
        case Method.FULL:
            return 0
        case Method.DORA:
            return lora_parameters(shape, lora) + _lengths(shape, lora)
        case Method.IA3:
            return sum(group.repeats * _factors(shape, group) for group in layer_groups(shape))
        case Method.PREFIX:
            layers = sum(group.repeats for group in layer_groups(shape))
            return tokens * layers * 2 * shape.kv_heads * shape.head_dim
        case Method.PROMPT:
            return stacks * tokens * (shape.embedding_dim or shape.hidden)
        case Method.BOTTLENECK:
            layers = sum(group.repeats for group in layer_groups(shape))
            return layers * BOTTLENECKS * _bottleneck(shape.hidden, training.bottleneck_width)
        case _:
            return lora_parameters(shape, lora)


def _lengths(shape: TransformerShape, lora: Lora) -> int:
    """Return DoRA's trained lengths: one for each output of a target."""
    targets = lora_targets(lora.targets)
    return sum(
        group.repeats * leaving * times
        for group in layer_groups(shape)
        for name, (_, leaving, times) in product_widths(shape, group).items()
        if name in targets
    )


def _factors(shape: TransformerShape, group: LayerGroup) -> int:
    """Return the factors on keys, values and the input of the feed-forward block's last product."""
    known = product_widths(shape, group)
    outputs = sum(known[name][1] * known[name][2] for name in ("k", "v") if name in known)
    return outputs + (known["down"][0] * known["down"][2] if "down" in known else 0)


def _bottleneck(hidden: int, width: int) -> int:
    """Return the parameters of a narrow layer and back, with biases."""
    return 2 * hidden * width + width + hidden
