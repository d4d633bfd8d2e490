"""The dimensions of a transformer, from which everything else follows."""

from enum import StrEnum

from msgspec import Struct


class Kind(StrEnum):
    """Which way attention looks."""

    DECODER = "decoder"
    ENCODER = "encoder"
    ENCODER_DECODER = "encoder-decoder"
    VISION = "vision"


class Norm(StrEnum):
    """Normalisation: with mean and bias, or by root mean square."""

    LAYER = "layer"
    RMS = "rms"


class Head(StrEnum):
    """What stands on top of the last layer."""

    LANGUAGE_MODEL = "language-model"
    MASKED_LANGUAGE_MODEL = "masked-language-model"
    PRETRAINING = "pretraining"  # masked words, and whether two sentences follow each other
    LABELS = "labels"  # of a sequence, its tokens, or an answer's ends
    CLASSIFIER = "classifier"  # of images
    NONE = "none"


class Experts(Struct, frozen=True):
    """A mixture of experts in place of some layers' feed-forward block."""

    count: int
    active: int  # of them, a token
    ffn: int  # width of one
    shared: int = 0  # that every token passes
    shared_ffn: int = 0  # width of all shared ones together
    first_dense_layers: int = 0  # that have none
    every_layers: int = 1
    router_bias: bool = False
    shared_gate: bool = False
    bias: bool = False  # in the experts' own products


class LatentAttention(Struct, frozen=True):
    """Attention over compressed keys and values (DeepSeek)."""

    query_rank: int  # 0: queries are not compressed
    key_value_rank: int
    rotary_dim: int
    plain_dim: int
    value_dim: int


class Patches(Struct, frozen=True):
    """How a vision transformer cuts its image."""

    image: int
    patch: int
    channels: int = 3
    class_token: bool = True
    classes: int = 1000
    further_tokens: int = 0  # beside patches and class: DeiT's distillation, registers
    learned_positions: bool = True

    @property
    def count(self) -> int:
        """Patches of an image."""
        return (self.image // self.patch) ** 2

    @property
    def tokens(self) -> int:
        """What the layers see of an image."""
        return self.count + self.class_token + self.further_tokens


class TransformerShape(Struct, frozen=True):
    """One transformer. Biases and extras are stated, since they decide exact parameter counts."""

    kind: Kind
    layers: int
    hidden: int
    heads: int
    ffn: int
    vocab: int
    kv_heads: int
    head_dim: int
    max_positions: int = 0  # learned positions; 0: none learned (rotary, ALiBi, sinusoidal)
    type_vocab: int = 0
    gated: bool = False  # three matrices in the feed-forward block
    tied: bool = True  # the output projection is the embedding
    norm: Norm = Norm.LAYER
    norm_bias: bool = True
    qkv_bias: bool = True
    attention_output_bias: bool = True
    ffn_bias: bool = True
    output_bias: bool = False
    query_key_norm: bool = False
    norms_a_layer: int = 2
    final_norm: bool = True
    embedding_norm: bool = False
    parallel_block: bool = False  # attention and feed-forward beside each other, one norm
    decoder_layers: int = 0  # of an encoder-decoder; `layers` are the encoder's
    relative_buckets: int = 0  # T5: learned relative positions, a table for each stack
    sliding_window: int = 0
    experts: Experts | None = None
    latent: LatentAttention | None = None
    patches: Patches | None = None
    head: Head = Head.LANGUAGE_MODEL
    labels: int = 2  # of a classifier over tokens or sequences
    pooler: bool = False  # one more square product, over the first token or before the labels
    embedding_dim: int = 0  # 0: hidden; else tables of this width and a projection to hidden (ALBERT, ELECTRA)
    shared_layers: bool = False  # all layers are one (ALBERT)
    query_key_norm_wide: bool = False  # over all heads together, not over one (OLMo 2, Cohere)
    full_attention_every: int = 0  # each so-many-th layer ignores the sliding window; 0: none does
    other_layer_parameters: int = 0  # that a layer has and nothing above tells: attention sinks, layer scales
    other_parameters: int = 0  # the same of the whole model: mask tokens, odd projections
    multi_token_layers: int = 0  # further layers that predict further tokens
    dropout: bool = True
    name: str = ""
