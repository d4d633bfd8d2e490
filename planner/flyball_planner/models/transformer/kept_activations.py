"""Activations that a transformer's layer stores for its backward pass (Korthikanti et al. 2022, table 2, extended to
gated blocks, grouped keys, flash attention, latent attention and experts)."""

from msgspec import Struct
from msgspec.structs import replace

from flyball_planner.models.transformer.layers import LayerGroup, usual_layer
from flyball_planner.models.transformer.shape import Experts, NormKind, TransformerKind, TransformerShape
from flyball_planner.training import Attention, Checkpointing

MASK_BYTES = 1.0  # per number
NORM_COPIES_BYTES = 8.0
"""Bytes per number of an RMS norm that plain kernels store in addition to its input: 16 s b h for the two norms of a
layer, within 6 % for six measured models. In traces, a copy in fp32 and the normalised number in 16 bits account for 6
(Hugging Face's norms); the rest accounts for keys and values that are repeated for their groups of queries."""

HEAD_NORM_COPIES_BYTES = 6.0  # the same for norms of queries and keys (Qwen3RMSNorm)


WIDE_BYTES = 4.0  # of what autocast leaves in fp32


class KeptBytes(Struct, frozen=True):
    """The bytes that one layer stores for one sample, by what divides them."""

    entering: float  # norm inputs and masks: only divided by sequence parallelism
    # product inputs as wide as the residual stream: the same, if they are gathered again for the backward pass
    inputs: float
    inner: float  # inside attention and feed-forward blocks: divided by tensor parallelism
    scores: float  # materialised scores: divided by tensor parallelism, dropped by selective checkpointing
    boundary: float  # the layer's input: all that full checkpointing stores
    experts: float = 0.0  # inside and entering experts, for routed tokens: divided by the experts' tensor parallelism

    @property
    def total(self) -> float:
        """Return the bytes without parallelism or checkpointing."""
        return self.entering + self.inputs + self.inner + self.scores + self.experts


class _Stored(Struct, frozen=True):
    """The widths in which a layer stores numbers, and whether light checkpointing leaves some out."""

    width: float  # bytes of a number
    inputs: float  # the same of a product's input, of which Transformer Engine keeps the 8-bit copy
    light: bool = False


SIXTEEN_BITS = _Stored(2.0, 2.0)


def kept_bytes(
    shape: TransformerShape,
    sequence: int,
    group: LayerGroup | None = None,
    *,
    attention: Attention = Attention.FLASH,
    number_bytes: float = 2.0,
    fused_norms: bool = True,
    input_bytes: float | None = None,
    light: bool = False,
) -> KeptBytes:
    """Return the bytes of one layer and sample by part; `number_bytes` is the width of activations.

    `input_bytes` is the width in which products keep their inputs, if it is another. `light` leaves out what light
    checkpointing recomputes.
    """
    stored = _Stored(number_bytes, number_bytes if input_bytes is None else input_bytes, light)
    group = group or usual_layer(shape)
    attentions = 2 if group.cross else 1
    copied = not fused_norms and shape.norm is NormKind.RMS
    scores = shape.heads * sequence * (2 * number_bytes + MASK_BYTES if shape.dropout else number_bytes)
    return KeptBytes(
        entering=sequence * _entering(shape, group, number_bytes, NORM_COPIES_BYTES if copied else 0.0),
        inputs=0.0 if light else sequence * shape.hidden * stored.inputs * _inputs(shape, group),
        inner=sequence * _inner(shape, group, stored, HEAD_NORM_COPIES_BYTES if copied else 0.0),
        scores=sequence * scores * attentions if attention is Attention.MATERIALISED else 0.0,
        boundary=sequence * shape.hidden * number_bytes,
        experts=sequence * _routed(shape, shape.experts, stored) if shape.experts and group.experts else 0.0,
    )


def kept_bytes_autocast(
    shape: TransformerShape,
    sequence: int,
    group: LayerGroup | None = None,
    *,
    attention: Attention = Attention.FLASH,
    compiled: bool = False,
) -> KeptBytes:
    """Return the same under torch.autocast, which computes products in 16 bits and norms and softmax in fp32.

    The residual stream is fp32. Every product casts its input by itself, so queries, keys and values keep three copies
    of theirs; a compiled layer casts once. The softmax keeps fp32 probabilities, and the product with the values a
    16-bit copy. Traces of BERT, GPT-2 and Llama under autocast agree within 3 % (tests).
    """
    group = group or usual_layer(shape)
    attentions = 2 if group.cross else 1
    copied = not compiled and shape.norm is NormKind.RMS
    norms = (shape.norms_a_layer + group.cross) * (2 if copied else 1)  # the input; the normalised number
    masks = _blocks(group) * MASK_BYTES if shape.dropout else 0.0
    scores = shape.heads * sequence * (WIDE_BYTES + 2.0 + (MASK_BYTES if shape.dropout else 0.0))
    casts = _inputs(shape, group) if compiled else _separate_inputs(shape, group)
    return KeptBytes(
        entering=sequence * shape.hidden * (norms * WIDE_BYTES + masks),
        inputs=sequence * shape.hidden * 2.0 * casts,
        inner=sequence * _inner(shape, group, SIXTEEN_BITS, HEAD_NORM_COPIES_BYTES if copied else 0.0),
        scores=sequence * scores * attentions if attention is Attention.MATERIALISED else 0.0,
        boundary=sequence * shape.hidden * WIDE_BYTES,
        experts=sequence * _routed(shape, shape.experts, SIXTEEN_BITS) if shape.experts and group.experts else 0.0,
    )


def kept_bytes_per_layer(
    shape: TransformerShape,
    sequence: int,
    *,
    micro_batch: float = 1.0,
    tensor: float = 1.0,
    sequence_parallel: bool = False,
    checkpointing: Checkpointing = Checkpointing.NONE,
    attention: Attention = Attention.FLASH,
    number_bytes: float = 2.0,
    fused_norms: bool = True,
) -> float:
    """Return the bytes that a device stores for one layer and micro-batch."""
    kept = kept_bytes(shape, sequence, attention=attention, number_bytes=number_bytes, fused_norms=fused_norms)
    if checkpointing is Checkpointing.FULL:
        return micro_batch * kept.boundary
    scores = 0.0 if checkpointing is Checkpointing.SELECTIVE else kept.scores
    entering = (kept.entering + kept.inputs) / (tensor if sequence_parallel else 1.0)
    return micro_batch * (entering + (kept.inner + scores + kept.experts) / tensor)


def _entering(shape: TransformerShape, group: LayerGroup, number_bytes: float, norm_copies_bytes: float) -> float:
    """Return the bytes per token of norms and masks, which are as wide as the residual stream."""
    norms = shape.norms_a_layer + group.cross
    masks = _blocks(group) * MASK_BYTES if shape.dropout else 0.0
    return shape.hidden * (norms * (number_bytes + norm_copies_bytes) + masks)


def _inputs(shape: TransformerShape, group: LayerGroup) -> int:
    """Return one input per block, or a shared one."""
    return 1 if shape.parallel_block and shape.norms_a_layer == 1 else _blocks(group)


def _separate_inputs(shape: TransformerShape, group: LayerGroup) -> int:
    """Return the products that read the residual stream: plain decoders (GPT-2, NeoX, BLOOM) have a single one for
    queries, keys and values; a gated block has two."""
    fused = shape.kind is TransformerKind.DECODER and not shape.gated
    attentions = 2 if group.cross else 1
    return attentions * (1 if fused else 3) + (2 if shape.gated else 1)


def _blocks(group: LayerGroup) -> int:
    return 3 if group.cross else 2


def _inner(shape: TransformerShape, group: LayerGroup, stored: _Stored, norm_copies_bytes: float) -> float:
    """Return the bytes per token inside attention and inside everything but routed experts."""
    attention = _attention(shape, stored) * (2 if group.cross else 1)
    shared = shape.experts.shared_ffn if shape.experts else 0
    block = _feed_forward(shape, shared if group.experts else shape.ffn, replace(stored, light=False))
    normed = (shape.heads + shape.kv_heads) * shape.head_dim if shape.query_key_norm else 0
    return attention + block + normed * norm_copies_bytes


def _attention(shape: TransformerShape, stored: _Stored) -> float:
    """Return the bytes per token of queries, keys, values and the output product's input; for latent attention also
    the compressed ones, from which light checkpointing computes queries, keys and values again.

    The attention's own backward pass needs its output in its own width, so a narrower input is a second copy.
    """
    copied = stored.inputs if stored.inputs < stored.width else 0.0
    if shape.latent:
        latent = shape.latent
        compressed = (latent.query_rank + latent.key_value_rank) * stored.width  # before their norms
        left = shape.heads * latent.value_dim * (stored.width + copied)
        if stored.light:
            return compressed + left
        normed = (latent.query_rank + latent.key_value_rank) * stored.inputs
        width = latent.plain_dim + latent.rotary_dim
        return compressed + normed + left + shape.heads * (2 * width + latent.value_dim) * stored.width
    plain = 2 * (shape.heads + shape.kv_heads) * shape.head_dim
    normed_numbers = (shape.heads + shape.kv_heads) * shape.head_dim if shape.query_key_norm else 0
    return (plain + normed_numbers) * stored.width + shape.heads * shape.head_dim * copied


def _feed_forward(shape: TransformerShape, width: int, stored: _Stored) -> float:
    """Return the bytes per token of gate, up, activated gate and their product, or of the activation's input and
    output; light checkpointing only stores what enters the activation."""
    if stored.light:
        return (2 if shape.gated else 1) * width * stored.width
    return width * ((3 if shape.gated else 1) * stored.width + stored.inputs)


def _routed(shape: TransformerShape, experts: Experts, stored: _Stored) -> float:
    """Return the bytes of routed tokens: each enters and leaves each of its experts as a separate copy.

    Where the activation is recomputed, it also applies the router's weights, so that nothing needs what leaves.
    """
    copies = shape.hidden * (stored.inputs + (0.0 if stored.light else stored.width))
    scores = 2 * experts.count * 4.0  # the router's logits and probabilities in fp32
    return experts.active * (copies + _feed_forward(shape, experts.ffn, stored)) + scores
