"""The exact number of parameters of a transformer, by place."""

from msgspec import Struct

from flyball_planner.models.transformer.layers import LayerGroup, layer_groups
from flyball_planner.models.transformer.shape import Experts, Head, LatentAttention, NormKind, TransformerShape


class LayerCounts(Struct, frozen=True):
    """The parameters of one of several equal layers."""

    name: str
    repeats: int
    attention: int
    cross_attention: int
    feed_forward: int
    router: int
    experts: int  # all routed experts
    active_experts: int  # routed experts used by one token
    shared_experts: int
    norms: int
    other: int

    @property
    def total(self) -> int:
        """Return the parameters of one layer."""
        return self.dense + self.experts

    @property
    def active(self) -> int:
        """Return the parameters of one layer that one token uses."""
        return self.dense + self.active_experts

    @property
    def dense(self) -> int:
        """Return the parameters of one layer that every token uses."""
        products = self.attention + self.cross_attention + self.feed_forward + self.router + self.shared_experts
        return products + self.norms + self.other


class ParameterCounts(Struct, frozen=True):
    """The parameters of a transformer by place."""

    embedding: int  # of tokens or patches, with a projection if there is one
    positions: int  # learned positions, types and special tokens
    embedding_norm: int
    layers: tuple[LayerCounts, ...]
    distinct_layers: bool  # False if all layers share their parameters
    final_norm: int
    output: int  # additional parameters of the head; 0 for a tied projection without bias
    other: int
    tied: bool

    @property
    def layer(self) -> int:
        """Return the parameters of one layer of the most frequent kind."""
        return max(self.layers, key=lambda each: each.repeats).total

    @property
    def in_layers(self) -> int:
        """Return the parameters of all layers."""
        return sum(each.total * (each.repeats if self.distinct_layers else 1) for each in self.layers)

    @property
    def experts(self) -> int:
        """Return the parameters of all routed experts of all layers."""
        return sum(each.experts * each.repeats for each in self.layers)

    @property
    def total(self) -> int:
        """Return all parameters."""
        return self._around_layers + self.in_layers

    @property
    def active(self) -> int:
        """Return the parameters that one token uses."""
        idle = sum((each.experts - each.active_experts) * each.repeats for each in self.layers)
        return self.total - idle

    @property
    def in_products(self) -> int:
        """Return N for 6·N FLOPs per token: active parameters without an input embedding that no product uses."""
        return self.active - (0 if self.tied else self.embedding) - self.positions

    @property
    def _around_layers(self) -> int:
        return self.embedding + self.positions + self.embedding_norm + self.final_norm + self.output + self.other


def parameters(shape: TransformerShape) -> ParameterCounts:
    """Count a transformer's parameters; buffers such as rotary tables are not included."""
    stacks = 2 if shape.decoder_layers else 1
    return ParameterCounts(
        embedding=_embedding(shape),
        positions=_positions(shape, stacks),
        embedding_norm=stacks * _norm(shape, _embedding_width(shape)) if shape.embedding_norm else 0,
        layers=tuple(layer_counts(shape, group) for group in layer_groups(shape)),
        distinct_layers=not shape.shared_layers,
        final_norm=stacks * _norm(shape, shape.hidden) if shape.final_norm else 0,
        output=_output(shape),
        other=shape.other_parameters,
        tied=shape.tied,
    )


def layer_counts(shape: TransformerShape, group: LayerGroup) -> LayerCounts:
    """Count the parameters of one layer."""
    experts = shape.experts if group.experts else None
    attention = _latent_attention(shape, shape.latent) if shape.latent else _attention(shape)
    prediction = group.name == "token-prediction layer"
    return LayerCounts(
        name=group.name,
        repeats=group.repeats,
        attention=attention,
        cross_attention=attention if group.cross else 0,
        feed_forward=0 if experts else feed_forward(shape, shape.ffn, bias=shape.ffn_bias),
        router=_router(shape, experts) if experts else 0,
        experts=experts.count * _expert(shape, experts) if experts else 0,
        active_experts=experts.active * _expert(shape, experts) if experts else 0,
        shared_experts=_shared_experts(shape, experts) if experts else 0,
        norms=(shape.norms_a_layer + group.cross) * _norm(shape, shape.hidden),
        other=shape.other_layer_parameters + (_token_prediction(shape) if prediction else 0),
    )


def feed_forward(shape: TransformerShape, width: int, *, bias: bool) -> int:
    """Return the parameters of a feed-forward block: up, down and an optional gate."""
    ups = 2 if shape.gated else 1
    return (ups + 1) * shape.hidden * width + (ups * width + shape.hidden if bias else 0)


def _attention(shape: TransformerShape) -> int:
    queries, keys = shape.heads * shape.head_dim, shape.kv_heads * shape.head_dim
    products = 2 * shape.hidden * queries + 2 * shape.hidden * keys
    biases = (queries + 2 * keys if shape.qkv_bias else 0) + (shape.hidden if shape.attention_output_bias else 0)
    return products + biases + _query_key_norms(shape, queries, keys)


def _query_key_norms(shape: TransformerShape, queries: int, keys: int) -> int:
    if not shape.query_key_norm:
        return 0
    if shape.query_key_norm_wide:
        return _norm(shape, queries) + _norm(shape, keys)
    return 2 * _norm(shape, shape.head_dim)


def _latent_attention(shape: TransformerShape, latent: LatentAttention) -> int:
    query_width = shape.heads * (latent.plain_dim + latent.rotary_dim)
    compressed = shape.hidden * latent.query_rank + latent.query_rank + latent.query_rank * query_width
    queries = compressed if latent.query_rank else shape.hidden * query_width
    down = shape.hidden * (latent.key_value_rank + latent.rotary_dim) + latent.key_value_rank
    up = latent.key_value_rank * shape.heads * (latent.plain_dim + latent.value_dim)
    return queries + down + up + shape.heads * latent.value_dim * shape.hidden


def _router(shape: TransformerShape, experts: Experts) -> int:
    return shape.hidden * experts.count + (experts.count if experts.router_bias else 0)


def _expert(shape: TransformerShape, experts: Experts) -> int:
    return feed_forward(shape, experts.ffn, bias=experts.bias)


def _shared_experts(shape: TransformerShape, experts: Experts) -> int:
    gate = shape.hidden if experts.shared_gate else 0
    return gate + (feed_forward(shape, experts.shared_ffn, bias=experts.bias) if experts.shared_ffn else 0)


def _token_prediction(shape: TransformerShape) -> int:
    """Return two norms and a projection before the additional layer, and a norm after it (DeepSeek-V3 report, §2.2)."""
    return 2 * shape.hidden * shape.hidden + 3 * shape.hidden


def _norm(shape: TransformerShape, width: int) -> int:
    return width * (2 if shape.norm is NormKind.LAYER and shape.norm_bias else 1)


def _embedding_width(shape: TransformerShape) -> int:
    return shape.embedding_dim or shape.hidden


def _embedding(shape: TransformerShape) -> int:
    projection = (shape.embedding_dim + 1) * shape.hidden if shape.embedding_dim else 0
    cut = shape.patches
    patches = (cut.channels * cut.patch**2 + 1) * shape.hidden if cut else 0
    return shape.vocab * _embedding_width(shape) + projection + patches


def _positions(shape: TransformerShape, stacks: int) -> int:
    tables = (stacks * shape.max_positions + shape.type_vocab) * _embedding_width(shape)
    relative = stacks * shape.relative_buckets * shape.heads
    cut = shape.patches
    if cut is None:
        return tables + relative
    special = cut.class_token + cut.further_tokens
    return tables + relative + ((cut.tokens if cut.learned_positions else 0) + special) * shape.hidden


def _output(shape: TransformerShape) -> int:
    hidden, width = shape.hidden, _embedding_width(shape)
    pooler = (hidden + 1) * hidden if shape.pooler else 0
    words = (0 if shape.tied else shape.vocab * width) + (shape.vocab if shape.output_bias else 0)
    masked_words = (hidden + 1) * width + _norm(shape, width) + words
    bias = int(shape.output_bias)
    added = {
        Head.LANGUAGE_MODEL: words,
        Head.MASKED_LANGUAGE_MODEL: masked_words,
        Head.PRETRAINING: masked_words + 2 * (hidden + 1),
        Head.LABELS: shape.labels * (hidden + bias),
        Head.CLASSIFIER: shape.patches.classes * (hidden + bias) if shape.patches else 0,
        Head.NONE: 0,
    }
    return pooler + added[shape.head]
