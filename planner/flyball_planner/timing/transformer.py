"""The work of a transformer: its matrices as tensor, expert and context parallelism cut them, and what lies between."""

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from flyball_planner.catalogue.hardware import Device
from flyball_planner.layouts.columns import Layouts
from flyball_planner.models.transformer.shape import Kind, TransformerShape
from flyball_planner.precision import WIDTHS_BYTES, Format
from flyball_planner.timing.achieved import best_rate
from flyball_planner.timing.collectives import Column
from flyball_planner.timing.products import GROUPED, PLAIN, TILE, Products
from flyball_planner.timing.work import Pass
from flyball_planner.training import Attention, Method, Training

SCORE_PASSES = 6.5
"""How often a materialised score is read or written in the forward pass, at its width: written by the product, read and
written by scaling with softmax and by dropout, its mask of a byte written, read by the product."""
UNFUSED_PASSES = 8.0
"""More of it where Megatron's fused softmax does not apply: scale, mask, casts to fp32 and back are kernels apart."""
HIDDEN_PASSES = 12.0  # of a token's hidden vector a layer: two norms (2 each), two residual sums with dropout (3 and 1)
PROJECTED_PASSES = 3.0  # of queries, keys and values: bias or rotation, and one transposition
PLAIN_PASSES = 2.0  # of the feed-forward's width: its activation in and out
GATED_PASSES = 5.0  # activation, then the product with the gate
COMPILED_PASSES = 0.6  # share of element-wise traffic that fusion leaves
LOGIT_BYTES = 14.0  # moved for each logit, forward: written, cast to fp32, read for maximum and sum (PyTorch)
FUSED_LOGIT_BYTES = 2.0  # in chunks: written and read once where it stays in the cache
LAYER_LAUNCHES = 18.0  # kernels of a layer's forward pass: products, flash attention, norms, biases, copies, sums
MATERIALISED_LAUNCHES = 6.0  # more of them: two batched products, scale, mask, softmax, dropout
UNFUSED_LAUNCHES = 10.0
PARALLEL_LAUNCHES = 3.0  # of tensor parallelism: two collectives and their copies
EXPERT_LAUNCHES = 40.0  # routing, sorting, permutation, exchange and their inverse; not fused by compilers
LOCAL_EXPERT_LAUNCHES = 3.0  # of each expert on the device: two products and the activation
COMPILED_LAUNCHES = 0.35  # share of launches that fusion leaves
HEAD_LAUNCHES = 40.0  # embedding, head, loss, schedule; a micro-batch
VOCAB_MULTIPLE = 128.0  # to which frameworks pad what a device holds of the vocabulary (Megatron-LM's default)
FUSED_SOFTMAX_ROWS = 4  # heads × samples on a device must be a multiple (Megatron-LM, fused_softmax.py)
BATCHED_BACKWARD = 2.0  # each of two products has two gradients
FLASH_BACKWARD = 2.5  # five products where the forward pass has two (Dao et al., 2022)


Dimensions = tuple[Column | float, Column | float, Column | float, Column | float, float]
"""Rows, inner, columns, how many of such products, and their kind."""


class Messages(Struct, frozen=True):
    """Bytes of the messages that ranks exchange in one layer or hand to the next stage."""

    hidden: Column  # all tokens of a micro-batch
    routed: Column  # the tokens that a rank sends to experts, once
    copies: Column  # experts of a token
    keys: Column  # keys and values of a whole sequence
    handed: Column  # to the next stage


def passes(shape: TransformerShape, training: Training, layouts: Layouts, device: Device) -> tuple[Pass, Pass]:
    """A stage's forward pass, and what the last stage does beyond it."""
    tokens = _tokens(shape, training, layouts)
    compute = training.precision.compute
    wide = Format.BF16 if WIDTHS_BYTES[compute] < WIDTHS_BYTES[Format.BF16] else compute
    nothing, stages = np.zeros(len(layouts)), layouts.pipeline
    trained = float(training.method is Method.FULL)
    flash = training.attention is Attention.FLASH
    width = WIDTHS_BYTES[training.precision.activations]
    body = Pass(
        products=_products(layer_products(shape, layouts, tokens), best_rate(device, compute), trained, stages, width),
        attention_flops=attention_flops(shape, training, layouts) / stages,
        attention_rate=nothing + best_rate(device, wide),
        attention_backward=nothing + (FLASH_BACKWARD if flash else BATCHED_BACKWARD),
        flash=nothing + float(flash),
        moved_bytes=moved_bytes(shape, training, layouts, width) / stages,
        launches=launches(shape, training, layouts) / stages,
    )
    logits = nothing if shape.patches else tokens * shape.vocab / layouts.tensor
    ones = nothing + 1
    head = Pass(
        products=_products(head_products(shape, layouts, tokens), best_rate(device, wide), trained, ones, width),
        attention_flops=nothing,
        attention_rate=ones,
        attention_backward=nothing,
        flash=nothing,
        moved_bytes=logits * (FUSED_LOGIT_BYTES if training.fused_loss else LOGIT_BYTES),
        launches=nothing + HEAD_LAUNCHES * (COMPILED_LAUNCHES if training.compiled else 1.0),
    )
    return body, head


def messages(shape: TransformerShape, training: Training, layouts: Layouts) -> Messages:
    """What tensor, expert, context and pipeline ranks send."""
    width = WIDTHS_BYTES[training.precision.activations]
    tokens = _tokens(shape, training, layouts)
    hidden = width * tokens * shape.hidden
    return Messages(
        hidden=hidden,
        routed=hidden / layouts.tensor,
        copies=np.full(len(layouts), float(shape.experts.active if shape.experts else 0)),
        keys=2 * width * tokens * layouts.context * shape.kv_heads * shape.head_dim / layouts.tensor,
        handed=hidden / np.where(layouts.sequence_parallel > 0, layouts.tensor, 1.0),
    )


def _tokens(shape: TransformerShape, training: Training, layouts: Layouts) -> Column:
    tokens: Column = layouts.micro_batch * sequence_of(shape, training) / layouts.context
    return tokens


def _products(dimensions: Sequence[Dimensions], rate: float, trained: float, stages: Column, width: float) -> Products:
    """As a table; edges are bytes of `width` a number."""
    if not dimensions:
        return Products.none(len(stages))
    ones = np.ones(len(stages))
    rows, inner, columns, count, kind = (np.stack([each[place] * ones for each in dimensions]) for place in range(5))
    return Products(
        rows=rows,
        inner=inner,
        columns=columns,
        count=count / stages,
        rate=np.full_like(rows, rate),
        trained=np.full_like(rows, trained),
        kind=kind,
        tile=np.full_like(rows, TILE),
        moved=width * (rows * inner + inner * columns + rows * columns),
    )


def layers_of(shape: TransformerShape) -> int:
    """All of them, of both stacks, with those that predict further tokens."""
    return shape.layers + shape.decoder_layers + shape.multi_token_layers


def sequence_of(shape: TransformerShape, training: Training) -> int:
    """Tokens of a sample: an image's patches, or what the training says."""
    if shape.patches is None:
        return training.sequence
    return (shape.patches.image // shape.patches.patch) ** 2 + int(shape.patches.class_token)


def expert_layers(shape: TransformerShape) -> int:
    """How many layers have experts."""
    if shape.experts is None:
        return 0
    return -(-(shape.layers - shape.experts.first_dense_layers) // shape.experts.every_layers)


def layer_products(shape: TransformerShape, layouts: Layouts, tokens: Column) -> list[Dimensions]:
    """Rows, inner, columns and number of the products of all layers."""
    tensor = layouts.tensor
    layers = layers_of(shape)
    stacks = layers + shape.decoder_layers  # a decoder's layer beside an encoder attends twice
    with_experts = expert_layers(shape)
    found: list[Dimensions] = [(tokens, *each, stacks, PLAIN) for each in _attention(shape, tensor)]
    found += [(tokens, *each, layers - with_experts, PLAIN) for each in _feed_forward(shape, shape.ffn, tensor)]
    if shape.experts is not None:
        experts = shape.experts
        held = np.maximum(1.0, experts.count / layouts.expert)  # whole ones: tensor ranks share tokens, not matrices
        rows = tokens / tensor * experts.active / held
        found += [
            (rows, *each, held * with_experts, GROUPED)
            for each in _feed_forward(shape, experts.ffn, np.ones_like(tensor))
        ]
        found.append((tokens, shape.hidden, experts.count, with_experts, PLAIN))
        if experts.shared:
            found += [(tokens, *each, with_experts, PLAIN) for each in _feed_forward(shape, experts.shared_ffn, tensor)]
    return found


def head_products(shape: TransformerShape, layouts: Layouts, tokens: Column) -> list[Dimensions]:
    """The projection onto the vocabulary or the classes."""
    if shape.patches is not None:
        inner = float(shape.patches.patch**2 * shape.patches.channels)
        classes = max(1.0, float(shape.patches.classes))
        return [
            (tokens, inner, float(shape.hidden), 1.0, PLAIN),
            (layouts.micro_batch, float(shape.hidden), classes, 1.0, PLAIN),
        ]
    if shape.head not in {"language-model", "masked-language-model"}:
        return []
    padded = np.ceil(shape.vocab / layouts.tensor / VOCAB_MULTIPLE) * VOCAB_MULTIPLE
    return [(tokens, shape.hidden, padded, 1.0 + shape.multi_token_layers, PLAIN)]


def _attention(shape: TransformerShape, tensor: Column) -> list[tuple[Column | float, Column | float]]:
    hidden, heads = float(shape.hidden), shape.heads / tensor
    if shape.latent is None:
        queries, keys = heads * shape.head_dim, shape.kv_heads * shape.head_dim / tensor
        return [(hidden, queries + 2 * keys), (queries, hidden)]
    latent = shape.latent
    wide = latent.rotary_dim + latent.plain_dim
    queries_in = [(hidden, heads * wide)]
    if latent.query_rank:
        queries_in = [(hidden, np.full_like(tensor, latent.query_rank)), (float(latent.query_rank), heads * wide)]
    return [
        *queries_in,
        (hidden, np.full_like(tensor, latent.key_value_rank + latent.rotary_dim)),
        (float(latent.key_value_rank), heads * (latent.plain_dim + latent.value_dim)),
        (heads * latent.value_dim, hidden),
    ]


def _feed_forward(shape: TransformerShape, width: int, tensor: Column) -> list[tuple[Column | float, Column | float]]:
    return [(float(shape.hidden), (2 if shape.gated else 1) * width / tensor), (width / tensor, float(shape.hidden))]


def attention_flops(shape: TransformerShape, training: Training, layouts: Layouts) -> Column:
    """Of all layers' forward pass, without products with weights; flash attention skips what causality hides."""
    sequence = sequence_of(shape, training)
    seen = float(min(sequence, shape.sliding_window) if shape.sliding_window else sequence)
    if shape.kind is Kind.DECODER and training.attention is Attention.FLASH and seen == sequence:
        seen /= 2
    widths = 2 * shape.head_dim
    if shape.latent is not None:
        widths = shape.latent.plain_dim + shape.latent.rotary_dim + shape.latent.value_dim
    layers = shape.layers + 2 * shape.decoder_layers + shape.multi_token_layers
    per_sample = layers * 2.0 * sequence * seen * shape.heads * widths
    return per_sample * layouts.micro_batch / (layouts.tensor * layouts.context)


def unfused(shape: TransformerShape, training: Training, layouts: Layouts) -> Column:
    """1 where scores are materialised and their softmax takes kernels apart."""
    if training.attention is Attention.FLASH:
        return np.zeros(len(layouts))
    rows = shape.heads / layouts.tensor * layouts.micro_batch
    return (rows % FUSED_SOFTMAX_ROWS > 0).astype(float)


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
    if training.attention is Attention.FLASH:
        return moved
    passes = SCORE_PASSES + UNFUSED_PASSES * unfused(shape, training, layouts)
    return moved + passes * width * layers * tokens * sequence * shape.heads / tensor


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


def _active_width(shape: TransformerShape) -> float:
    if shape.experts is None:
        return float(shape.ffn)
    experts = shape.experts
    share = expert_layers(shape) / shape.layers
    return (1 - share) * shape.ffn + share * (experts.active * experts.ffn + experts.shared_ffn)
