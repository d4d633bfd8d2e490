"""What a transformer's layers move between memory and units beside their products, and the kernels they launch."""

import numpy as np

from flyball_planner.layouts.columns import Layouts
from flyball_planner.models.transformer.shape import TransformerShape
from flyball_planner.precision import WIDTHS_BYTES, Format
from flyball_planner.timing.collectives import Column
from flyball_planner.timing.extent import expert_layers, layers_of, sequence_of
from flyball_planner.training import Attention, Training

PRODUCT_SCORE_PASSES = 2.0  # of a materialised score by attention's own products: written by one, read by the other
SCORE_PASSES = 4.5
"""How often a materialised score is read or written between them, at its width: read and written by scaling with
softmax and by dropout, its mask of a byte written."""
UNFUSED_PASSES = 8.0
"""More of it where Megatron's fused softmax does not apply: scale, mask, casts to fp32 and back are kernels apart."""
EAGER_PASSES = 4.0  # more of it in plain PyTorch: scaling and masking are kernels apart, without casts
HIDDEN_PASSES = 12.0  # of a token's hidden vector a layer: two norms (2 each), two residual sums with dropout (3 and 1)
PROJECTED_PASSES = 3.0  # of queries, keys and values: bias or rotation, and one transposition
PLAIN_PASSES = 2.0  # of the feed-forward's width: its activation in and out
GATED_PASSES = 5.0  # activation, then the product with the gate
COMPILED_PASSES = 0.6  # share of element-wise traffic that fusion leaves
LAYER_LAUNCHES = 18.0  # kernels of a layer's forward pass: products, flash attention, norms, biases, copies, sums
MATERIALISED_LAUNCHES = 6.0  # more of them: two batched products, scale, mask, softmax, dropout
UNFUSED_LAUNCHES = 10.0
PARALLEL_LAUNCHES = 3.0  # of tensor parallelism: two collectives and their copies
EXPERT_LAUNCHES = 40.0  # routing, sorting, permutation, exchange and their inverse; not fused by compilers
LOCAL_EXPERT_LAUNCHES = 3.0  # of each expert on the device: two products and the activation
COMPILED_LAUNCHES = 0.35  # share of launches that fusion leaves
SCALED_READS = 2.0  # of 4-bit formats: once for the scale of the whole, once to be converted (Transformer Engine)
EXPERT_PASSES = 6.0
"""Of each copy of a token that an expert gets: written apart, sorted by expert and back (read and written each), summed
up again."""
FUSED_SOFTMAX_ROWS = 4  # heads × samples on a device must be a multiple (Megatron-LM, fused_softmax.py)


def attention_bytes(shape: TransformerShape, training: Training, layouts: Layouts, width: float) -> Column:
    """What attention's own products write and read of scores, in all layers' forward pass."""
    return _score_bytes(shape, training, layouts, PRODUCT_SCORE_PASSES * width)


def moved_bytes(shape: TransformerShape, training: Training, layouts: Layouts, width: float) -> Column:
    """By what is bound by memory, in all layers' forward pass."""
    sequence = sequence_of(shape, training)
    tokens = layouts.micro_batch * sequence / layouts.context
    tensor = layouts.tensor
    layers = layers_of(shape)
    hidden = HIDDEN_PASSES * shape.hidden / np.where(layouts.sequence_parallel > 0, tensor, 1.0)
    projected = PROJECTED_PASSES * (shape.heads + 2 * shape.kv_heads) * shape.head_dim / tensor
    inside = (GATED_PASSES if shape.gated else PLAIN_PASSES) * _active_width(shape) / tensor
    fused = COMPILED_PASSES if training.compiled else 1.0
    moved = fused * width * layers * tokens * (hidden + projected + inside)
    if shape.experts is not None:
        copies = EXPERT_PASSES * shape.experts.active * shape.hidden / tensor
        moved = moved + width * expert_layers(shape) * tokens * copies
    if training.attention is Attention.FLASH:
        return moved
    eager = EAGER_PASSES if training.framework == "pytorch" else 0.0
    passes = SCORE_PASSES + eager + UNFUSED_PASSES * unfused(shape, training, layouts)
    return moved + _score_bytes(shape, training, layouts, passes * width)


def _score_bytes(shape: TransformerShape, training: Training, layouts: Layouts, bytes_each: Column | float) -> Column:
    """Of all layers' scores, where they are written."""
    if training.attention is Attention.FLASH:
        return np.zeros(len(layouts))
    sequence = sequence_of(shape, training)
    scores = layouts.micro_batch * sequence**2 / layouts.context * shape.heads / layouts.tensor
    moved: Column = layers_of(shape) * scores * bytes_each
    return moved


def cast_bytes(entering: Column, training: Training) -> Column:
    """To make the numbers that enter products narrow: read in 16 bits, written once by rows and once by columns."""
    if not is_narrow(training):
        return np.zeros_like(entering)
    compute = training.precision.compute
    reads = SCALED_READS if compute is Format.FP4 else 1.0
    return entering * (reads * WIDTHS_BYTES[Format.BF16] + 2 * WIDTHS_BYTES[compute])


def launches(shape: TransformerShape, training: Training, layouts: Layouts) -> Column:
    """Kernels of all layers' forward pass."""
    layers = layers_of(shape)
    each = LAYER_LAUNCHES + PARALLEL_LAUNCHES * (layouts.tensor > 1)
    if training.attention is Attention.MATERIALISED:
        each = each + MATERIALISED_LAUNCHES + UNFUSED_LAUNCHES * unfused(shape, training, layouts)
    plain = layers * each * (COMPILED_LAUNCHES if training.compiled else 1.0)
    if shape.experts is None:
        return np.asarray(plain, dtype=np.float64)
    routed = EXPERT_LAUNCHES + LOCAL_EXPERT_LAUNCHES * shape.experts.count / layouts.expert
    return np.asarray(plain + expert_layers(shape) * routed, dtype=np.float64)


def unfused(shape: TransformerShape, training: Training, layouts: Layouts) -> Column:
    """1 where scores are materialised and Megatron's softmax takes kernels apart."""
    if training.attention is Attention.FLASH or training.framework == "pytorch":
        return np.zeros(len(layouts))
    rows = shape.heads / layouts.tensor * layouts.micro_batch
    return (rows % FUSED_SOFTMAX_ROWS > 0).astype(float)


def is_narrow(training: Training) -> bool:
    """Whether products take numbers of 8 bits or less, that are made of wider ones before."""
    return WIDTHS_BYTES[training.precision.compute] < WIDTHS_BYTES[Format.BF16]


def _active_width(shape: TransformerShape) -> float:
    if shape.experts is None:
        return float(shape.ffn)
    experts = shape.experts
    share = expert_layers(shape) / shape.layers
    return (1 - share) * shape.ffn + share * (experts.active * experts.ffn + experts.shared_ffn)
