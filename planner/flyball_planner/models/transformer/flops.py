"""FLOPs of a transformer, and utilisation by each of the published conventions."""

from functools import lru_cache

from flyball_planner.models.cost import ModelBlock, OperatorKind
from flyball_planner.models.transformer.added_weights import added_parameters
from flyball_planner.models.transformer.cost import blocks, sequence_tokens
from flyball_planner.models.transformer.layers import layer_groups
from flyball_planner.models.transformer.shape import TransformerShape
from flyball_planner.training import Checkpointing, Method, Training

MULTIPLYING = frozenset({Method.LORA, Method.QLORA, Method.DORA, Method.BOTTLENECK})
"""Methods whose added weights multiply each token; IA3 scales, and prefixes and prompts add tokens."""


def forward_flops(shape: TransformerShape, sequence: int, *, causal: bool = False) -> float:
    """Return the FLOPs of one sample's forward pass: 2 per multiplication of matrix products and attention.

    `causal` halves what a causal mask hides; published utilisations do not.
    """
    return sum(_flops(block) for block in blocks(shape, sequence_tokens(shape, sequence), causal=causal))


@lru_cache(maxsize=64)  # plans request the same few trainings many times
def training_flops(
    shape: TransformerShape, sequence: int, checkpointing: Checkpointing = Checkpointing.NONE, *, causal: bool = False
) -> float:
    """Return the FLOPs of one sample's forward and backward pass, with recomputation.

    Without recomputation and not halved, this is `72 s L h² (1 + s/(6h) + V/(12 L h))` for a GPT. With full
    recomputation it is `96 s L h² (1 + s/(6h) + V/(16 L h))` (Narayanan et al. 2021, eq. 3), because the head is not
    recomputed.
    """
    return 3 * forward_flops(shape, sequence, causal=causal) + _again(shape, sequence, checkpointing, causal=causal)


def flops_of_sample(
    shape: TransformerShape,
    training: Training,
    checkpointing: Checkpointing = Checkpointing.NONE,
    *,
    causal: bool = False,
) -> float:
    """Return the FLOPs of one sample's forward and backward pass by the weights that are trained, with recomputation.

    A frozen product has no gradient of its weights: 4 FLOPs per weight and token instead of 6. Attention multiplies
    activations by activations, so it still has both gradients.
    """
    complete = training_flops(shape, training.sequence, checkpointing, causal=causal)
    if training.method is Method.FULL:
        return complete
    stretches = blocks(shape, sequence_tokens(shape, training.sequence), causal=causal)
    frozen = sum(_flops(block) - _flops(block, attention_alone=True) for block in stretches)
    return complete - frozen + _of_additions(shape, training, checkpointing)


def _of_additions(shape: TransformerShape, training: Training, checkpointing: Checkpointing) -> float:
    if training.method not in MULTIPLYING:
        return 0.0
    passes = 4.0 if checkpointing is Checkpointing.FULL else 3.0
    return 2.0 * passes * added_parameters(shape, training) * sequence_tokens(shape, training.sequence)


def _again(shape: TransformerShape, sequence: int, checkpointing: Checkpointing, *, causal: bool) -> float:
    """Return the FLOPs of what is computed again in the backward pass."""
    if checkpointing is Checkpointing.NONE:
        return 0.0
    layers = {group.name for group in layer_groups(shape)}
    attention_alone = checkpointing is Checkpointing.SELECTIVE
    stretches = blocks(shape, sequence_tokens(shape, sequence), causal=causal)
    return sum(_flops(block, attention_alone) for block in stretches if block.name in layers)


def flops_by_parameters(shape: TransformerShape, parameters: float, sequence: int) -> float:
    """Return the FLOPs of one sample in the convention of PaLM and MosaicML: 6 N s + 12 L h s² with all parameters
    N."""
    layers = shape.layers + shape.decoder_layers
    width = shape.heads * shape.head_dim
    return 6.0 * parameters * sequence + 12.0 * layers * width * sequence**2


def utilisation(flops_per_sample: float, samples_per_second: float, devices: int, flops_per_second: float) -> float:
    """Return the share of the devices' nominal rate: MFU for model FLOPs, HFU for all FLOPs."""
    return flops_per_sample * samples_per_second / (devices * flops_per_second)


def _flops(block: ModelBlock, attention_alone: bool = False) -> float:
    steps = (each for each in block.operators if not attention_alone or each.kind is OperatorKind.ATTENTION)
    return block.repeats * sum(step.times * step.flops for step in steps)
