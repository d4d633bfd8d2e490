"""Memory traffic and kernel launches of a transformer's layers outside of their products."""

import numpy as np

from flyball_planner.layouts.layout import Layouts
from flyball_planner.models.transformer.shape import TransformerShape
from flyball_planner.precision import WIDTHS_BYTES, NumberFormat
from flyball_planner.timing.collectives import Column
from flyball_planner.timing.frameworks import PLAIN_PYTORCH
from flyball_planner.timing.sample_extent import expert_layers, layers_of, sequence_of
from flyball_planner.training import Attention, Training

PRODUCT_SCORE_PASSES = 2.0  # attention's products write and read a materialised score once
SCORE_PASSES = 4.5
"""Reads and writes of a materialised score in between, at its width: by scaling with softmax, and by dropout, whose
mask is one byte."""
UNFUSED_PASSES = 8.0
"""Additional passes without Megatron's fused softmax: scale, mask and casts to fp32 and back are separate kernels."""
EAGER_PASSES = 4.0  # additional passes in plain PyTorch: separate kernels for scaling and masking, without casts
HIDDEN_PASSES = 12.0  # over the hidden vector per layer: two norms (2 each), two residual sums with dropout (3 and 1)
PROJECTED_PASSES = 3.0  # over queries, keys and values: bias or rotation, and one transposition
PLAIN_PASSES = 2.0  # over the feed-forward's width: activation in and out
GATED_PASSES = 5.0  # the same with a gate: activation, then the product with the gate
BIASED_PASSES = 20.0
"""The same for experts with biases (gpt-oss), whose activation has separate kernels in the reference implementation:
bias (4 passes over both halves), two clamps (4), scale and sigmoid (4), gate (3), offset (2) and product (3)."""
COMPILED_PASSES = 0.6  # share of element-wise traffic that remains after fusion
LAYER_LAUNCHES = 18.0  # per layer and forward pass: products, flash attention, norms, biases, copies, sums
MATERIALISED_LAUNCHES = 6.0  # additional: two batched products, scale, mask, softmax, dropout
UNFUSED_LAUNCHES = 10.0
PARALLEL_LAUNCHES = 3.0  # for tensor parallelism: two collectives and their copies
EXPERT_LAUNCHES = 40.0  # routing, sorting, permutation, exchange and their inverses; compilers do not fuse them
LOCAL_EXPERT_LAUNCHES = 3.0
"""Per expert on the device that has tokens: Transformer Engine's grouped products start a kernel for each expert and
product, and a conversion. With one launch, the four smallest micro-batches of Megatron-Bridge's mixtures on eight and
sixteen devices would be estimated 34 to 55 % too short, with three 2 to 41 %."""
COMPILED_LAUNCHES = 0.35  # share of launches that remains after fusion
SCALED_READS = 2.0  # for 4-bit formats: once for the tensor's scale, once for the conversion (Transformer Engine)
FUSED_SOFTMAX_ROWS = 4  # heads × samples on a device must be a multiple (Megatron-LM, fused_softmax.py)


def attention_bytes(shape: TransformerShape, training: Training, layouts: Layouts, width: float) -> Column:
    """Return the bytes of scores that attention's products write and read in the forward pass of all layers."""
    return _score_bytes(shape, training, layouts, PRODUCT_SCORE_PASSES * width)


def moved_bytes(shape: TransformerShape, training: Training, layouts: Layouts, width: float) -> Column:
    """Return the bytes that memory-bound operators outside of attention move in the forward pass of all layers."""
    sequence = sequence_of(shape, training)
    tokens = layouts.micro_batch * sequence / layouts.context
    tensor = layouts.tensor
    layers = layers_of(shape)
    hidden = HIDDEN_PASSES * shape.hidden / np.where(layouts.sequence_parallel > 0, tensor, 1.0)
    projected = PROJECTED_PASSES * (shape.heads + 2 * shape.kv_heads) * shape.head_dim / tensor
    inside = _inner_passes(shape) / tensor
    fused = COMPILED_PASSES if training.compiled else 1.0
    moved: Column = fused * width * layers * tokens * (hidden + projected + inside)
    return moved


def softmax_bytes(shape: TransformerShape, training: Training, layouts: Layouts, width: float) -> Column:
    """Return the bytes of scores that kernels between attention's products move in the forward pass of all layers."""
    eager = EAGER_PASSES if training.framework in PLAIN_PYTORCH else 0.0
    passes = SCORE_PASSES + eager + UNFUSED_PASSES * unfused(shape, training, layouts)
    return _score_bytes(shape, training, layouts, passes * width)


def copied_bytes(shape: TransformerShape, training: Training, layouts: Layouts, width: float) -> Column:
    """Return the bytes of all tokens' copies for their experts in all layers."""
    if shape.experts is None:
        return np.zeros(len(layouts))
    tokens = layouts.micro_batch * sequence_of(shape, training) / layouts.context
    found: Column = width * expert_layers(shape) * tokens * shape.experts.active * shape.hidden / layouts.tensor
    return found


def _score_bytes(shape: TransformerShape, training: Training, layouts: Layouts, bytes_each: Column | float) -> Column:
    """Return the bytes of all layers' scores, if they are written."""
    if training.attention is Attention.FLASH:
        return np.zeros(len(layouts))
    sequence = sequence_of(shape, training)
    scores = layouts.micro_batch * sequence**2 / layouts.context * shape.heads / layouts.tensor
    moved: Column = layers_of(shape) * scores * bytes_each
    return moved


def cast_bytes(entering: Column, training: Training) -> Column:
    """Return the bytes to convert products' inputs to narrow formats: read in 16 bits, written by rows and by
    columns."""
    if not is_narrow(training):
        return np.zeros_like(entering)
    compute = training.precision.compute
    reads = SCALED_READS if compute is NumberFormat.FP4 else 1.0
    return entering * (reads * WIDTHS_BYTES[NumberFormat.BF16] + 2 * WIDTHS_BYTES[compute])


def launches(shape: TransformerShape, training: Training, layouts: Layouts) -> Column:
    """Return the kernels of the forward pass of all layers."""
    layers = layers_of(shape)
    each = LAYER_LAUNCHES + PARALLEL_LAUNCHES * (layouts.tensor > 1)
    if training.attention is Attention.MATERIALISED:
        each = each + MATERIALISED_LAUNCHES + UNFUSED_LAUNCHES * unfused(shape, training, layouts)
    plain = layers * each * (COMPILED_LAUNCHES if training.compiled else 1.0)
    if shape.experts is None:
        return np.asarray(plain, dtype=np.float64)
    copies = shape.experts.active * layouts.micro_batch * sequence_of(shape, training) / layouts.context
    chosen = np.minimum(shape.experts.count / layouts.expert, copies)
    routed = EXPERT_LAUNCHES + LOCAL_EXPERT_LAUNCHES * chosen
    return np.asarray(plain + expert_layers(shape) * routed, dtype=np.float64)


def unfused(shape: TransformerShape, training: Training, layouts: Layouts) -> Column:
    """Return 1 if scores are materialised and Megatron's softmax is not fused."""
    if training.attention is Attention.FLASH or training.framework in PLAIN_PYTORCH:
        return np.zeros(len(layouts))
    rows = shape.heads / layouts.tensor * layouts.micro_batch
    return (rows % FUSED_SOFTMAX_ROWS > 0).astype(float)


def is_narrow(training: Training) -> bool:
    """Return True if products take numbers of at most 8 bits, converted from wider ones."""
    return WIDTHS_BYTES[training.precision.compute] < WIDTHS_BYTES[NumberFormat.BF16]


def _inner_passes(shape: TransformerShape) -> float:
    """Return the numbers that activations between a feed-forward block's products move for a token, as a mean layer."""
    usual = GATED_PASSES if shape.gated else PLAIN_PASSES
    if shape.experts is None:
        return usual * shape.ffn
    experts = shape.experts
    share = expert_layers(shape) / shape.layers
    routed = (BIASED_PASSES if experts.bias else usual) * experts.active * experts.ffn
    return usual * ((1 - share) * shape.ffn + share * experts.shared_ffn) + share * routed
