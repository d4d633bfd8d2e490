"""The operators of a transformer's forward pass for one sample."""

from msgspec import Struct
from msgspec.structs import replace

from flyball_planner.models.cost import Operator, OperatorKind
from flyball_planner.models.transformer.layers import LayerGroup, usual_layer
from flyball_planner.models.transformer.shape import Experts, Head, LatentAttention, TransformerShape

NUMBER_BYTES = 2.0  # per number in `Operator.moved_bytes` of networks


class _Tokens(Struct, frozen=True):
    """The tokens of one sample, and the number of tokens that one query attends to."""

    count: int
    attended: float


def operators(
    shape: TransformerShape, sequence: int, group: LayerGroup | None = None, *, causal: bool = False
) -> tuple[Operator, ...]:
    """Return the operators of one layer for one sample; without a group, of the most frequent kind of layer.

    As in published utilisations, FLOPs are those of products; norms, activations and additions have 0 and only move
    bytes. `causal` omits the scores that a mask hides, as flash attention does; published utilisations include them.
    """
    group = group or usual_layer(shape)
    tokens = _Tokens(sequence, attended_tokens(shape, sequence, causal=causal and group.causal))
    across = _Tokens(sequence, float(sequence))
    return (
        *_attention(shape, tokens),
        *(_prefixed("cross-", _attention(shape, across)) if group.cross else ()),
        *(_experts(shape, shape.experts, sequence) if shape.experts and group.experts else _dense(shape, sequence)),
        *_pointwise(shape, sequence, group),
    )


def embedding_operators(shape: TransformerShape, sequence: int) -> tuple[Operator, ...]:
    """Return the operators before the layers."""
    width = shape.embedding_dim or shape.hidden
    steps: list[Operator] = []
    if shape.patches:
        cut = shape.patches
        steps.append(product("patches", cut.count, cut.channels * cut.patch**2, shape.hidden))
    else:
        steps.append(_moving("embedding", OperatorKind.GATHER, 2 * sequence * width))
    if shape.embedding_dim:
        steps.append(product("embedding projection", sequence, width, shape.hidden))
    if shape.embedding_norm:
        steps.append(_moving("embedding norm", OperatorKind.ELEMENTWISE, 2 * sequence * shape.hidden))
    return tuple(steps)


def output_operators(shape: TransformerShape, sequence: int) -> tuple[Operator, ...]:
    """Return the operators after the layers, including the loss."""
    hidden, width = shape.hidden, shape.embedding_dim or shape.hidden
    steps = [_moving("final norm", OperatorKind.ELEMENTWISE, 2 * sequence * hidden)] if shape.final_norm else []
    if shape.pooler:
        steps.append(product("pooler", 1, hidden, hidden))
    if shape.head in {Head.MASKED_LANGUAGE_MODEL, Head.PRETRAINING}:
        steps.append(product("transform", sequence, hidden, width))
    if shape.head in {Head.LANGUAGE_MODEL, Head.MASKED_LANGUAGE_MODEL, Head.PRETRAINING}:
        steps += [product("logits", sequence, width, shape.vocab), _loss(sequence * shape.vocab)]
    if shape.head is Head.LABELS:
        steps.append(product("labels", 1, hidden, shape.labels))
    if shape.head is Head.CLASSIFIER and shape.patches:
        steps.append(product("classifier", 1, hidden, shape.patches.classes))
    return tuple(steps)


def attended_tokens(shape: TransformerShape, sequence: int, *, causal: bool) -> float:
    """Return the mean number of tokens that a query attends to, over positions and layers."""
    everything = _attended(sequence, sequence, causal=causal)
    if not shape.sliding_window:
        return everything
    near = _attended(sequence, shape.sliding_window, causal=causal)
    full = 1 / shape.full_attention_every if shape.full_attention_every else 0.0
    return full * everything + (1 - full) * near


def _attended(sequence: int, window: int, *, causal: bool) -> float:
    if sequence <= window:
        return sequence / 2 if causal else float(sequence)
    return window - window**2 / (2 * sequence) if causal else float(window)


def product(name: str, rows: float, inner: float, columns: float, times: float = 1.0) -> Operator:
    """Return a matrix product for one sample."""
    return Operator(
        name,
        OperatorKind.MATMUL,
        flops=2.0 * rows * inner * columns,
        moved_bytes=NUMBER_BYTES * (rows * inner + inner * columns + rows * columns),
        rows=rows,
        inner=inner,
        columns=columns,
        times=times,
    )


def _moving(name: str, kind: OperatorKind, numbers: float) -> Operator:
    return Operator(name, kind, flops=0.0, moved_bytes=NUMBER_BYTES * numbers)


def _loss(logits: float) -> Operator:
    """Return the loss: logits are read in 16 bits, written and read in 32 (softmax in fp32), or five 16-bit numbers."""
    return _moving("loss", OperatorKind.ELEMENTWISE, 5 * logits)


def _attention(shape: TransformerShape, tokens: _Tokens) -> tuple[Operator, ...]:
    if shape.latent:
        return _latent_attention(shape, shape.latent, tokens)
    queries, keys = shape.heads * shape.head_dim, shape.kv_heads * shape.head_dim
    return (
        product("query-key-value", tokens.count, shape.hidden, queries + 2 * keys),
        _scores(tokens, shape.heads, shape.head_dim, shape.head_dim, moved=2 * queries + 2 * keys),
        product("attention output", tokens.count, queries, shape.hidden),
    )


def _latent_attention(shape: TransformerShape, latent: LatentAttention, tokens: _Tokens) -> tuple[Operator, ...]:
    """Return compressed and expanded products as in training; the absorbed form is only for inference."""
    width = latent.plain_dim + latent.rotary_dim
    queries, values = shape.heads * width, shape.heads * latent.value_dim
    rank, plain = latent.key_value_rank, shape.heads * latent.plain_dim
    query = (
        (
            product("query down", tokens.count, shape.hidden, latent.query_rank),
            product("query up", tokens.count, latent.query_rank, queries),
        )
        if latent.query_rank
        else (product("query", tokens.count, shape.hidden, queries),)
    )
    return (
        *query,
        product("key-value down", tokens.count, shape.hidden, rank + latent.rotary_dim),
        product("key-value up", tokens.count, rank, plain + values),
        _scores(tokens, shape.heads, width, latent.value_dim, moved=2 * queries + 2 * values),
        product("attention output", tokens.count, values, shape.hidden),
    )


def _scores(tokens: _Tokens, heads: int, query_dim: int, value_dim: int, *, moved: float) -> Operator:
    """Return scores and their product with the values; moved bytes are those of flash attention."""
    return Operator(
        "attention",
        OperatorKind.ATTENTION,
        flops=2.0 * tokens.count * tokens.attended * heads * (query_dim + value_dim),
        moved_bytes=NUMBER_BYTES * tokens.count * moved,
    )


def _dense(shape: TransformerShape, rows: float) -> tuple[Operator, ...]:
    return _feed_forward(shape, rows, shape.ffn, prefix="")


def _feed_forward(
    shape: TransformerShape, rows: float, width: int, *, prefix: str, times: float = 1.0
) -> tuple[Operator, ...]:
    ups = 2 if shape.gated else 1
    return (
        product(f"{prefix}up", rows, shape.hidden, ups * width, times),
        product(f"{prefix}down", rows, width, shape.hidden, times),
    )


def _experts(shape: TransformerShape, experts: Experts, sequence: int) -> tuple[Operator, ...]:
    """Return the experts' products, with tokens distributed evenly over separate experts."""
    rows = sequence * experts.active / experts.count
    shared = _feed_forward(shape, sequence, experts.shared_ffn, prefix="shared ") if experts.shared_ffn else ()
    return (
        product("router", sequence, shape.hidden, experts.count),
        *_feed_forward(shape, rows, experts.ffn, prefix="expert ", times=experts.count),
        *shared,
        _moving("dispatch", OperatorKind.GATHER, 4 * sequence * experts.active * shape.hidden),
    )


def _pointwise(shape: TransformerShape, sequence: int, group: LayerGroup) -> tuple[Operator, ...]:
    """Return memory-bound operators: numbers read and written once by each kernel of a plain implementation."""
    hidden, sides = shape.hidden, 3 if group.cross else 2
    rotated = 0 if learned_positions(shape) else (shape.heads + shape.kv_heads) * shape.head_dim
    kernels = {
        "norms": 2 * (shape.norms_a_layer + group.cross) * hidden,
        "residuals": 3 * sides * hidden,
        "dropout": 2 * sides * hidden if shape.dropout else 0,
        "activation": (3 if shape.gated else 2) * _active_width(shape, group),
        "rotary": 2 * rotated,
        "query-key norm": 2 * (shape.heads + shape.kv_heads) * shape.head_dim if shape.query_key_norm else 0,
    }
    return tuple(
        _moving(name, OperatorKind.ELEMENTWISE, sequence * numbers) for name, numbers in kernels.items() if numbers
    )


def learned_positions(shape: TransformerShape) -> bool:
    """Return True if positions are looked up, so that queries and keys are not rotated."""
    return bool(shape.max_positions or shape.relative_buckets or shape.patches)


def _active_width(shape: TransformerShape, group: LayerGroup) -> int:
    """Return the inner width of all feed-forward blocks that a token uses in one layer."""
    if shape.experts and group.experts:
        return shape.experts.active * shape.experts.ffn + shape.experts.shared_ffn
    return shape.ffn


def _prefixed(prefix: str, steps: tuple[Operator, ...]) -> tuple[Operator, ...]:
    return tuple(replace(step, name=prefix + step.name) for step in steps)
