"""A transformer in the common currency of all models."""

from flyball_planner.models.cost import Block, ModelCost
from flyball_planner.models.transformer.counts import LayerCounts, ParameterCounts, parameters
from flyball_planner.models.transformer.kept import kept_bytes
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
    """What one sample of a transformer costs; images tell their own sequence.

    `causal` leaves out the scores that a causal mask hides, as flash attention does.
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
    """Tokens of a sample as the layers see them."""
    return shape.patches.tokens if shape.patches else sequence


def blocks(shape: TransformerShape, sequence: int, *, causal: bool = False) -> tuple[Block, ...]:
    """Embedding, layers by kind, and the output with its loss."""
    counts = parameters(shape)
    layers = tuple(
        _layers(shape, sequence, group, each, causal=causal)
        for group, each in zip(layer_groups(shape), counts.layers, strict=True)
    )
    return (_embedding(shape, sequence, counts), *layers, _output(shape, sequence, counts))


def _layers(shape: TransformerShape, sequence: int, group: LayerGroup, counts: LayerCounts, *, causal: bool) -> Block:
    kept = kept_bytes(shape, sequence, group)
    steps = operators(shape, sequence, group, causal=causal)
    if group.name == "token-prediction layer":
        steps = (
            product("two states into one", sequence, 2 * shape.hidden, shape.hidden),
            *steps,
            product("logits", sequence, shape.hidden, shape.vocab),
        )
    return Block(
        group.name,
        group.repeats,
        counts.total,
        steps,
        kept_elements=kept.total / NUMBER_BYTES,
        boundary_elements=kept.boundary / NUMBER_BYTES,
    )


def _embedding(shape: TransformerShape, sequence: int, counts: ParameterCounts) -> Block:
    """Token numbers are all that a look-up keeps; a norm keeps what it was given."""
    masks = 0.5 if shape.dropout else 0.0  # one byte
    kept = sequence * shape.hidden * (masks + shape.embedding_norm)
    held = counts.embedding + counts.positions + counts.embedding_norm + counts.other
    steps = embedding_operators(shape, sequence)
    return Block("embedding", 1, held, steps, kept, boundary_elements=float(sequence * shape.hidden))


def _output(shape: TransformerShape, sequence: int, counts: ParameterCounts) -> Block:
    """The norm's input, the last product's input, and logits in fp32 (two 16-bit numbers each)."""
    predicted = shape.head in {Head.LANGUAGE_MODEL, Head.MASKED_LANGUAGE_MODEL, Head.PRETRAINING}
    kept = 2.0 * sequence * shape.hidden + (2.0 * sequence * shape.vocab if predicted else 0.0)
    return Block("output", 1, counts.final_norm + counts.output, output_operators(shape, sequence), kept)


def _assumptions(shape: TransformerShape) -> tuple[str, ...]:
    told = []
    if shape.experts:
        told.append("tokens spread evenly over the experts")
    if shape.decoder_layers:
        told.append("the decoder's sequence is as long as the encoder's")
    return tuple(told)
