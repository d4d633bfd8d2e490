"""Activations: what the forward pass stores, what a layer needs while it is computed, and what the loss needs."""

import numpy as np
from msgspec import Struct

from flyball_planner.layouts.layout import OFFLOAD, Column, Layouts
from flyball_planner.memory.adapters import dequantised_numbers, kept_bytes_frozen, layer_products, output_numbers
from flyball_planner.memory.autocast import STREAM_BYTES, WEIGHT_COPY_BYTES, autocast_rows
from flyball_planner.memory.constants import Constants
from flyball_planner.models.transformer.kept_activations import KeptBytes, kept_bytes, kept_bytes_autocast
from flyball_planner.models.transformer.layers import LayerGroup
from flyball_planner.models.transformer.shape import Head, TransformerShape
from flyball_planner.precision import WIDTHS_BYTES, NumberFormat
from flyball_planner.training import Attention, Checkpointing, Method, Offload, Training

WORDS = frozenset({Head.LANGUAGE_MODEL, Head.MASKED_LANGUAGE_MODEL, Head.PRETRAINING})
MEGATRON_LOGIT_BYTES = 6.0  # 16 bits, plus fp32 for the vocabulary-parallel loss, which works in place
PREFETCHED_LAYERS = 2  # whose activations are moving to or from the host


class LayerKept(Struct, frozen=True):
    """Bytes of one layer and micro-batch on a device."""

    kept: Column  # stored until the layer's backward pass
    working: Column  # while the layer is computed: recomputed activations and gradients


def tokens(training: Training, layouts: Layouts) -> Column:
    """Return the tokens of a micro-batch on one device."""
    return layouts.micro_batch * training.sequence / layouts.context


def activation_bytes(training: Training) -> float:
    """Return the width of activations: fp32 if everything around quantised products is."""
    wide = training.frozen_format is not None and training.frozen_format.wide_rest
    return 4.0 if wide else WIDTHS_BYTES[training.precision.activations]


def layer_kept(
    shape: TransformerShape, group: LayerGroup, training: Training, layouts: Layouts, constants: Constants
) -> LayerKept:
    """Return the memory of one layer of this kind."""
    samples = layouts.micro_batch / layouts.context
    all_kept = samples * _everything(shape, group, training, layouts, constants)
    boundary = tokens(training, layouts) * shape.hidden * _stream_bytes(training, layouts) / _sequence_share(layouts)
    fully = layouts.checkpoints(Checkpointing.FULL)
    partly = layouts.checkpoints(Checkpointing.SELECTIVE)
    lightly = layouts.checkpoints(Checkpointing.LIGHT)
    some = samples * _selected(shape, group, training, layouts)
    kept = np.where(fully, boundary, np.where(partly, np.minimum(some, all_kept), all_kept))
    if lightly.any():
        few = samples * _trained(shape, group, training, layouts, light=True)
        kept = np.where(lightly, np.minimum(few, all_kept), kept)
    again = np.where(fully, all_kept, np.where(lightly, all_kept - kept, 0.0))
    working = _gradients_within(shape, group, training, layouts) + again
    away = layouts.offload == OFFLOAD.index(Offload.ACTIVATIONS)
    return LayerKept(np.where(away, 0.0, kept), working + np.where(away, PREFETCHED_LAYERS * kept, 0.0))


def logits_kept(shape: TransformerShape, training: Training, layouts: Layouts, constants: Constants) -> Column:
    """Return what the loss over the vocabulary needs for a micro-batch."""
    if shape.head not in WORDS:
        return np.zeros(len(layouts))
    each = constants.chunked_logit_bytes if training.fused_loss else constants.logit_bytes
    if training.compiled_loss:
        each = min(each, constants.compiled_logit_bytes)
    if training.framework != "pytorch":
        each = MEGATRON_LOGIT_BYTES
    if training.precision.activations.value == "fp32":
        each = max(each, 8.0)  # logits and their log-softmax
    return tokens(training, layouts) * shape.vocab / layouts.tensor * each


def logit_gradients(shape: TransformerShape, training: Training, layouts: Layouts) -> Column:
    """Return logits and their gradients in the activations' width, while the output projection's gradient is
    computed."""
    width = activation_bytes(training)
    if shape.head not in WORDS:
        return np.zeros(len(layouts))
    return tokens(training, layouts) * shape.vocab / layouts.tensor * 2 * width


def dequantised_output(shape: TransformerShape, training: Training, layouts: Layouts) -> Column:
    """Return the output projection in 16 bits, while its product is computed from few bits."""
    few = training.frozen_format
    used = few is not None and few.output and shape.head in WORDS
    return used * WEIGHT_COPY_BYTES * shape.vocab * (shape.embedding_dim or shape.hidden) / layouts.tensor


def fused_norms(training: Training) -> bool:
    """Return True if norms are a single kernel that only stores its input."""
    return training.compiled or training.framework != "pytorch"


def _sequence_share(layouts: Layouts) -> Column:
    return np.where(layouts.sequence_parallel > 0, layouts.tensor, 1.0)


def _input_share(training: Training, layouts: Layouts) -> Column:
    """Return the share of a layer's inputs: PyTorch stores what it gathered for a product, Megatron gathers it
    again."""
    return np.ones(len(layouts)) if training.framework == "pytorch" else _sequence_share(layouts)


def _stream_bytes(training: Training, layouts: Layouts) -> Column:
    """Return the width of the residual stream, which autocast leaves in fp32."""
    width = activation_bytes(training)
    return np.where(autocast_rows(training, layouts), max(width, STREAM_BYTES), width)


def _everything(
    shape: TransformerShape, group: LayerGroup, training: Training, layouts: Layouts, constants: Constants
) -> Column:
    if training.method is Method.FULL:
        return _trained(shape, group, training, layouts)
    width, fused = activation_bytes(training), fused_norms(training)
    frozen = kept_bytes_frozen(
        shape, training, group, number_bytes=width, fused_norms=fused, extra_inputs=constants.extra_inputs
    )
    return frozen / layouts.tensor


def _trained(
    shape: TransformerShape,
    group: LayerGroup,
    training: Training,
    layouts: Layouts,
    *,
    scores: bool = True,
    light: bool = False,
) -> Column:
    """Return the bytes that a layer stores for a sample if its weights are trained."""
    width, fused, attention = activation_bytes(training), fused_norms(training), training.attention
    kept = kept_bytes(
        shape,
        training.sequence,
        group,
        attention=attention,
        number_bytes=width,
        fused_norms=fused,
        input_bytes=_input_bytes(training),
        light=light,
    )
    plain = _distributed(kept, training, layouts, scores=scores)
    cast = autocast_rows(training, layouts)
    if not cast.any():
        return plain
    wider = kept_bytes_autocast(shape, training.sequence, group, attention=attention, compiled=fused)
    return np.where(cast, _distributed(wider, training, layouts, scores=scores), plain)


def _input_bytes(training: Training) -> float:
    """Return the width in which products keep their inputs: Transformer Engine, which Megatron uses, keeps the 8-bit
    copies that it multiplies (transformer_engine/pytorch/module/linear.py); other libraries convert them again."""
    compute = training.precision.compute
    narrow = compute is NumberFormat.FP8 and training.framework == "megatron"
    return WIDTHS_BYTES[compute] if narrow else activation_bytes(training)


def _distributed(kept: KeptBytes, training: Training, layouts: Layouts, *, scores: bool) -> Column:
    """Divide each part by the ranks that share it."""
    routed = kept.experts / np.where(layouts.expert > 1, 1.0, layouts.tensor)
    between = kept.entering / _sequence_share(layouts) + kept.inputs / _input_share(training, layouts)
    return between + (kept.inner + kept.scores * scores) / layouts.tensor + routed


def _selected(shape: TransformerShape, group: LayerGroup, training: Training, layouts: Layouts) -> Column:
    """Return a layer's memory without attention scores; without scores: the input, attention and every second
    product."""
    width = activation_bytes(training)
    if training.framework == "pytorch" and training.attention is Attention.FLASH:
        attention = shape.heads * shape.head_dim
        inner = width * (output_numbers(shape, group) / 2 + attention) / layouts.tensor
        stream = _stream_bytes(training, layouts) * shape.hidden / _sequence_share(layouts)
        some: Column = training.sequence * (inner + stream)
        return some
    return _trained(shape, group, training, layouts, scores=False)


def _gradients_within(shape: TransformerShape, group: LayerGroup, training: Training, layouts: Layouts) -> Column:
    """Return the gradients of the widest product's two sides and of the residual stream, gathered if the sequence is
    split; and the largest product's weights, if few bits hold them."""
    width = activation_bytes(training)
    widest = max(each.leaving * each.times for each in layer_products(shape, group).values()) * (
        2 if shape.gated else 1
    )
    gathered = np.where(layouts.sequence_parallel > 0, 2.0, 0.0) * shape.hidden * width
    stream = 2.0 * shape.hidden * _stream_bytes(training, layouts) / _sequence_share(layouts)
    each: Column = 2 * widest * width / layouts.tensor + gathered + stream
    few = training.frozen_format is not None
    return (
        tokens(training, layouts) * each + few * WEIGHT_COPY_BYTES * dequantised_numbers(shape, group) / layouts.tensor
    )
