"""The cost of a transformer in the common description of all models."""

from flyball_planner.models.cost import ModelBlock, ModelCost
from flyball_planner.models.transformer.counts import LayerCounts, ParameterCounts, parameters
from flyball_planner.models.transformer.kept_activations import kept_bytes
from flyball_planner.models.transformer.layers import LayerGroup, layer_groups
from flyball_planner.models.transformer.products import (
    NUMBER_BYTES,
    embedding_operators,
    operators,
    output_operators,
    product,
)
from flyball_planner.models.transformer.shape import Head, TransformerShape

FAMILY = "transformer"


def transformer_cost(shape: TransformerShape, sequence: int = 0, *, causal: bool = False) -> ModelCost:
    """Return the cost of one sample of a transformer; images determine their own sequence.

    `causal` omits the scores that a causal mask hides, as flash attention does.
    """
    tokens = sequence_tokens(shape, sequence)
    counts = parameters(shape)
    return ModelCost(
        model=shape.name or shape.kind.value,
        family=FAMILY,
        implementation="dense products and fused attention in 16 bits",
        parameters=counts.total,
        samples=0,
        passes=1.0,
        blocks=blocks(shape, tokens, causal=causal),
        assumptions=_assumptions(shape),
    )


def sequence_tokens(shape: TransformerShape, sequence: int) -> int:
    """Return the tokens of a sample as the layers see them."""
    return shape.patches.tokens if shape.patches else sequence


def blocks(shape: TransformerShape, sequence: int, *, causal: bool = False) -> tuple[ModelBlock, ...]:
    """Return embedding, layers by kind, and the output with its loss."""
    counts = parameters(shape)
    layers = tuple(
        _layers(shape, sequence, group, each, causal=causal)
        for group, each in zip(layer_groups(shape), counts.layers, strict=True)
    )
    return (_embedding(shape, sequence, counts), *layers, _output(shape, sequence, counts))


def _layers(
    shape: TransformerShape, sequence: int, group: LayerGroup, counts: LayerCounts, *, causal: bool
) -> ModelBlock:
    kept = kept_bytes(shape, sequence, group)
    steps = operators(shape, sequence, group, causal=causal)
    if group.name == "token-prediction layer":
        steps = (
            product("two states into one", sequence, 2 * shape.hidden, shape.hidden),
            *steps,
            product("logits", sequence, shape.hidden, shape.vocab),
        )
    return ModelBlock(
        group.name,
        group.repeats,
        counts.total,
        steps,
        kept_elements=kept.total / NUMBER_BYTES,
        boundary_elements=kept.boundary / NUMBER_BYTES,
    )


def _embedding(shape: TransformerShape, sequence: int, counts: ParameterCounts) -> ModelBlock:
    """Return the embedding; a look-up only stores token ids, a norm stores its input."""
    masks = 0.5 if shape.dropout else 0.0  # one byte
    kept = sequence * shape.hidden * (masks + shape.embedding_norm)
    held = counts.embedding + counts.positions + counts.embedding_norm + counts.other
    steps = embedding_operators(shape, sequence)
    return ModelBlock("embedding", 1, held, steps, kept, boundary_elements=float(sequence * shape.hidden))


def _output(shape: TransformerShape, sequence: int, counts: ParameterCounts) -> ModelBlock:
    """Return the output; it stores the norm's and the last product's input, and fp32 logits (two 16-bit numbers
    each)."""
    predicted = shape.head in {Head.LANGUAGE_MODEL, Head.MASKED_LANGUAGE_MODEL, Head.PRETRAINING}
    kept = 2.0 * sequence * shape.hidden + (2.0 * sequence * shape.vocab if predicted else 0.0)
    return ModelBlock("output", 1, counts.final_norm + counts.output, output_operators(shape, sequence), kept)


def _assumptions(shape: TransformerShape) -> tuple[str, ...]:
    assumptions = []
    if shape.experts:
        assumptions.append("tokens are distributed evenly over the experts")
    if shape.decoder_layers:
        assumptions.append("the decoder's sequence is as long as the encoder's")
    return tuple(assumptions)
