"""The work of a transformer: its products under tensor, expert and context parallelism, and everything in between."""

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from flyball_planner.catalogue.hardware import ComputeDevice
from flyball_planner.layouts.layout import Layouts
from flyball_planner.models.transformer.products import attended_tokens
from flyball_planner.models.transformer.shape import TransformerKind, TransformerShape
from flyball_planner.precision import WIDTHS_BYTES, NumberFormat
from flyball_planner.timing.best_rates import best_rate
from flyball_planner.timing.collectives import Column, Routing
from flyball_planner.timing.frameworks import SCATTERING
from flyball_planner.timing.host_work import launch_share
from flyball_planner.timing.products import GROUPED, PLAIN, TILE, Places, Products, block_edge
from flyball_planner.timing.sample_extent import expert_layers, layers_of, sequence_of, stages_by_fullest
from flyball_planner.timing.traffic import (
    COMPILED_LAUNCHES,
    attention_bytes,
    cast_bytes,
    copied_bytes,
    is_narrow,
    launches,
    moved_bytes,
    softmax_bytes,
)
from flyball_planner.timing.work import BATCHED, FLASH, SIMPLE, Pass
from flyball_planner.training import Attention, Method, Training

LOGIT_BYTES = 14.0  # moved per logit in the forward pass: written, cast to fp32, read for maximum and sum (PyTorch)
FUSED_LOGIT_BYTES = 2.0  # in chunks: written and read once within the cache
HEAD_LAUNCHES = 40.0  # per micro-batch: embedding, head, loss, schedule
VOCAB_MULTIPLE = 128.0  # frameworks pad a device's share of the vocabulary to this (Megatron-LM's default)
BATCHED_BACKWARD = 2.0  # each of two products has two gradients
# fields of a layout that determine a device's products
DECISIVE = ("tensor", "pipeline", "context", "expert", "micro_batch")
FLASH_BACKWARD = 2.5  # five products instead of two (Dao et al., 2022)


Dimensions = tuple[Column | float, Column | float, Column | float, Column | float, float, Column | float]
"""Rows, inner dimension and columns of products, their number, their kind, and how many one kernel computes."""


class Messages(Struct, frozen=True):
    """Bytes of the messages that ranks exchange in one layer or send to the next stage."""

    hidden: Column  # all tokens of a micro-batch
    routed: Column  # the tokens that a rank sends to experts, each counted once
    routing: Routing
    keys: Column  # keys and values of a complete sequence
    forwarded: Column  # to the next stage


def passes(shape: TransformerShape, training: Training, layouts: Layouts, device: ComputeDevice) -> tuple[Pass, Pass]:
    """Return a stage's forward pass, and the additional work of the last stage."""
    tokens = _tokens(shape, training, layouts)
    compute = training.precision.compute
    wide = NumberFormat.BF16 if is_narrow(training) else compute
    first, place = layouts.distinct(*DECISIVE)
    few = layouts.where(first)
    few_tokens = tokens[first]
    matrices = layer_products(shape, few, few_tokens)
    entering: Column = np.zeros(len(few)) + sum(
        rows * inner * count * together for rows, inner, _, count, _, together in matrices
    )
    nothing, stages = np.zeros(len(layouts)), stages_by_fullest(shape, layouts.pipeline)
    trained = float(training.method is Method.FULL)
    flash = training.attention is Attention.FLASH
    width = WIDTHS_BYTES[training.precision.activations]
    body = Pass(
        products=_products(matrices, device, compute, trained, stages[first], width, place),
        attention_flops=attention_flops(shape, training, layouts) / stages,
        attention_rate=nothing + best_rate(device, wide) * _head_share(shape, training),
        attention_backward=nothing + (FLASH_BACKWARD if flash else BATCHED_BACKWARD),
        attention_kind=nothing + _attention_kind(training, compute),
        score_bytes=attention_bytes(shape, training, layouts, width) / stages,
        moved_bytes=moved_bytes(shape, training, layouts, width) / stages,
        softmax_bytes=softmax_bytes(shape, training, layouts, width) / stages,
        copied_bytes=copied_bytes(shape, training, layouts, width) / stages,
        cast_bytes=cast_bytes(entering[place], training) / stages,
        launches=launches(shape, training, layouts) * launch_share(device) / stages,
    )
    logits = nothing if shape.patches else tokens * shape.vocab / layouts.tensor
    ones = nothing + 1
    head = Pass(
        products=_products(head_products(shape, few, few_tokens), device, wide, trained, ones[first], width, place),
        attention_flops=nothing,
        attention_rate=ones,
        attention_backward=nothing,
        attention_kind=nothing,
        score_bytes=nothing,
        softmax_bytes=nothing,
        copied_bytes=nothing,
        cast_bytes=nothing,
        moved_bytes=logits * (FUSED_LOGIT_BYTES if training.fused_loss else LOGIT_BYTES),
        launches=nothing + HEAD_LAUNCHES * (COMPILED_LAUNCHES if training.compiled else 1.0) * launch_share(device),
    )
    return body, head


def messages(shape: TransformerShape, training: Training, layouts: Layouts) -> Messages:
    """Return what tensor, expert, context and pipeline ranks send."""
    width = WIDTHS_BYTES[training.precision.activations]
    tokens = _tokens(shape, training, layouts)
    hidden = width * tokens * shape.hidden
    scattered = (layouts.sequence_parallel > 0) | (training.framework in SCATTERING)
    return Messages(
        hidden=hidden,
        routed=hidden / layouts.tensor,
        routing=routing(shape, len(layouts)),
        keys=2 * width * tokens * layouts.context * shape.kv_heads * shape.head_dim / layouts.tensor,
        forwarded=hidden / np.where(scattered, layouts.tensor, 1.0),
    )


def routing(shape: TransformerShape | None, layouts: int) -> Routing:
    """Return the routing of tokens to experts; no copies without experts."""
    experts = shape.experts if shape else None
    found = (experts.active, experts.groups, experts.chosen_groups) if experts else (0, 1, 1)
    return Routing(*(np.full(layouts, float(each)) for each in found))


def _tokens(shape: TransformerShape, training: Training, layouts: Layouts) -> Column:
    tokens: Column = layouts.micro_batch * sequence_of(shape, training) / layouts.context
    return tokens


def _products(
    dimensions: Sequence[Dimensions],
    device: ComputeDevice,
    compute: NumberFormat,
    trained: float,
    stages: Column,
    width: float,
    place: Places,
) -> Products:
    """Return the products as a table; edges are bytes with `width` bytes per number."""
    if not dimensions:
        return Products.none(len(place))
    ones = np.ones(len(stages))
    rows, inner, columns, count, kind, together = (
        np.stack([each[place] * ones for each in dimensions]) for place in range(6)
    )
    return Products(
        rows=rows,
        inner=inner,
        columns=columns,
        count=count / stages,
        together=together,
        rate=np.full_like(rows, best_rate(device, compute)),
        trained=np.full_like(rows, trained),
        kind=kind,
        tile=np.full_like(rows, TILE),
        block=np.full_like(rows, block_edge(device, compute)),
        moved=width * together * (rows * inner + inner * columns + rows * columns),
        place=place,
    )


def layer_products(shape: TransformerShape, layouts: Layouts, tokens: Column) -> list[Dimensions]:
    """Return the products of all layers: rows, inner dimension, columns and number."""
    tensor = layouts.tensor
    layers = layers_of(shape)
    stacks = layers + shape.decoder_layers  # a decoder layer attends twice if there is an encoder
    with_experts = expert_layers(shape)
    found: list[Dimensions] = [(tokens, *each, stacks, PLAIN, 1.0) for each in _attention(shape, tensor)]
    found += [(tokens, *each, layers - with_experts, PLAIN, 1.0) for each in _feed_forward(shape, shape.ffn, tensor)]
    if shape.experts is not None:
        experts = shape.experts
        # With expert parallelism, tensor ranks share tokens of complete experts; without it, they share matrices.
        held = np.maximum(1.0, experts.count / layouts.expert)
        slices = np.where(layouts.expert > 1, 1.0, tensor)
        rows = tokens / (tensor / slices) * experts.active / held
        found += [(rows, *each, with_experts, GROUPED, held) for each in _feed_forward(shape, experts.ffn, slices)]
        found.append((tokens, shape.hidden, experts.count, with_experts, PLAIN, 1.0))
        if experts.shared:
            found += [
                (tokens, *each, with_experts, PLAIN, 1.0) for each in _feed_forward(shape, experts.shared_ffn, tensor)
            ]
    return found


def head_products(shape: TransformerShape, layouts: Layouts, tokens: Column) -> list[Dimensions]:
    """Return the projection to the vocabulary or the classes."""
    if shape.patches is not None:
        inner = float(shape.patches.patch**2 * shape.patches.channels)
        classes = max(1.0, float(shape.patches.classes))
        return [
            (tokens, inner, float(shape.hidden), 1.0, PLAIN, 1.0),
            (layouts.micro_batch, float(shape.hidden), classes, 1.0, PLAIN, 1.0),
        ]
    if shape.head not in {"language-model", "masked-language-model"}:
        return []
    padded = np.ceil(shape.vocab / layouts.tensor / VOCAB_MULTIPLE) * VOCAB_MULTIPLE
    return [(tokens, shape.hidden, padded, 1.0 + shape.multi_token_layers, PLAIN, 1.0)]


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
    """Return the FLOPs of attention itself in all layers' forward pass; flash attention skips what causality hides."""
    sequence = sequence_of(shape, training)
    causal = shape.kind is TransformerKind.DECODER and training.attention is Attention.FLASH
    seen = attended_tokens(shape, sequence, causal=causal)
    widths = 2 * shape.head_dim
    if shape.latent is not None:
        widths = shape.latent.plain_dim + shape.latent.rotary_dim + shape.latent.value_dim
    layers = shape.layers + 2 * shape.decoder_layers + shape.multi_token_layers
    per_sample = layers * 2.0 * sequence * seen * shape.heads * widths
    return per_sample * layouts.micro_batch / (layouts.tensor * layouts.context)


def _head_share(shape: TransformerShape, training: Training) -> float:
    """Return the share of a tile's width that a head fills, if attention is computed by batched products."""
    return 1.0 if training.attention is Attention.FLASH else min(1.0, shape.head_dim / TILE)


def _attention_kind(training: Training, compute: NumberFormat) -> float:
    if training.attention is Attention.FLASH:
        return FLASH
    return SIMPLE if compute is NumberFormat.FP32 else BATCHED
