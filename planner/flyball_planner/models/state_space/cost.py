"""The cost of a model with state-space layers, and attention or expert layers beside them."""

from collections.abc import Sequence

from msgspec import Struct

from flyball_planner.models.complexity import STATE_SPACE, STATE_SPACE_WITH_ATTENTION
from flyball_planner.models.cost import Generation, ModelBlock, ModelCost, OperatorKind
from flyball_planner.models.state_space.mixer import Mixer, kept_numbers, mixer_operators
from flyball_planner.models.transformer.counts import layer_counts, parameters
from flyball_planner.models.transformer.kept_activations import kept_bytes
from flyball_planner.models.transformer.layers import LayerGroup
from flyball_planner.models.transformer.products import NUMBER_BYTES, embedding_operators, operators, output_operators
from flyball_planner.models.transformer.shape import TransformerShape

FAMILY = "state space"
LOGIT_NUMBERS = 6.0  # of 16 bits: log-softmax and two gradients in fp32, as for transformers
ATTENTION_OPERATORS = 3  # the first of a layer: query-key-value, attention, its output


class Layers(Struct, frozen=True):
    """Equal layers: with a state space or attention, and with a feed-forward block, experts or neither."""

    repeats: int
    attention: bool = False
    feed_forward: bool = False
    experts: bool = False


class StateSpaceShape(Struct, frozen=True):
    """A model with state-space layers. The transformer has the dimensions of everything else."""

    name: str
    mixer: Mixer
    around: TransformerShape  # embedding, attention, feed-forward, experts, norms, output; its layers are not used
    layers: Sequence[Layers]


def state_space_cost(shape: StateSpaceShape, sequence: int) -> ModelCost:
    """Return the cost of one sample of a sequence."""
    blocks = _blocks(shape, sequence)
    attends = any(each.attention for each in shape.layers)
    return ModelCost(
        model=shape.name,
        family=FAMILY,
        implementation="mamba-ssm's fused kernels",
        parameters=sum(block.repeats * block.parameters for block in blocks),
        samples=0,
        passes=1.0,
        blocks=blocks,
        assumptions=(
            f"a sample is a sequence of {sequence} tokens",
            "fused state-space kernels (mamba-ssm); without them, every position's state is stored",
        ),
        complexity=STATE_SPACE_WITH_ATTENTION if attends else STATE_SPACE,
        tokens=sequence,
        generation=_generation(shape),
    )


def _blocks(shape: StateSpaceShape, sequence: int) -> tuple[ModelBlock, ...]:
    layers = (_block(shape, each, sequence) for each in shape.layers)
    return (_embedding(shape, sequence), *layers, _output(shape, sequence))


def _generation(shape: StateSpaceShape) -> Generation:
    """Return what generation takes: each state-space layer keeps its state and the convolution's last inputs."""
    mixer, around = shape.mixer, shape.around
    attending = sum(each.repeats for each in shape.layers if each.attention)
    selective = sum(each.repeats for each in shape.layers) - attending
    return Generation(
        token=_blocks(shape, 1),
        state_numbers=float(selective * (mixer.inner * mixer.state + mixer.convolved * mixer.kernel)),
        numbers_per_token=2.0 * attending * around.kv_heads * around.head_dim,
    )


def _block(shape: StateSpaceShape, layers: Layers, sequence: int) -> ModelBlock:
    group = LayerGroup("layer", layers.repeats, experts=layers.experts, causal=True)
    around = shape.around
    counts, steps = layer_counts(around, group), operators(around, sequence, group, causal=True)
    kept = kept_bytes(around, sequence, group)
    hidden = around.hidden
    if layers.attention:
        return ModelBlock(
            "attention layer", layers.repeats, counts.total, steps, kept.total / NUMBER_BYTES, sequence * hidden
        )
    held = shape.mixer.parameters + hidden * (1 + layers.feed_forward)
    work, stored = mixer_operators(shape.mixer, sequence), kept_numbers(shape.mixer, sequence)
    if layers.feed_forward:
        held += counts.total - counts.attention - counts.norms
        work += tuple(each for each in steps[ATTENTION_OPERATORS:] if each.kind is not OperatorKind.ELEMENTWISE)
        stored += _feed_forward_numbers(around, layers, sequence)
    name = "state-space layer" + (" with experts" if layers.experts else "")
    return ModelBlock(name, layers.repeats, held, work, stored, 2.0 * sequence * hidden)


def _feed_forward_numbers(around: TransformerShape, layers: Layers, sequence: int) -> float:
    """Return what a feed-forward block or its experts store, without attention's part of a layer."""
    whole = kept_bytes(around, sequence, LayerGroup("layer", 1, experts=layers.experts, causal=True))
    attention = 2 * (around.heads + around.kv_heads) * around.head_dim + 2 * around.hidden
    return whole.total / NUMBER_BYTES - sequence * attention


def _embedding(shape: StateSpaceShape, sequence: int) -> ModelBlock:
    around = shape.around
    steps = embedding_operators(around, sequence)
    return ModelBlock("embedding", 1, around.vocab * around.hidden, steps, 0.0, float(sequence * around.hidden))


def _output(shape: StateSpaceShape, sequence: int) -> ModelBlock:
    around, counts = shape.around, parameters(shape.around)
    kept = sequence * (2.0 * around.hidden + LOGIT_NUMBERS * around.vocab)
    return ModelBlock("output", 1, counts.final_norm + counts.output, output_operators(around, sequence), kept)
