"""The dimensions of a transformer, from which everything else follows."""

from enum import StrEnum

from msgspec import Struct


class TransformerKind(StrEnum):
    """Kinds of transformers, by the direction of attention."""

    DECODER = "decoder"
    ENCODER = "encoder"
    ENCODER_DECODER = "encoder-decoder"
    VISION = "vision"


class NormKind(StrEnum):
    """Normalisation: with mean and bias, or by root mean square."""

    LAYER = "layer"
    RMS = "rms"


class Head(StrEnum):
    """Heads on top of the last layer."""

    LANGUAGE_MODEL = "language-model"
    MASKED_LANGUAGE_MODEL = "masked-language-model"
    PRETRAINING = "pretraining"  # masked words, and next-sentence prediction
    LABELS = "labels"  # labels of a sequence, of its tokens, or of an answer's ends
    CLASSIFIER = "classifier"  # for images
    NONE = "none"


class Experts(Struct, frozen=True):
    """A mixture of experts that replaces the feed-forward block of some layers."""

    count: int
    active: int  # experts per token
    ffn: int  # width of one expert
    shared: int = 0  # experts that every token uses
    shared_ffn: int = 0  # total width of the shared experts
    first_dense_layers: int = 0  # first layers without experts
    every_layers: int = 1
    router_bias: bool = False
    shared_gate: bool = False
    bias: bool = False  # in the experts' products
    groups: int = 1  # equal groups of neighbouring experts
    chosen_groups: int = 1  # groups that the experts of a token come from


class LatentAttention(Struct, frozen=True):
    """Attention with compressed keys and values (DeepSeek)."""

    query_rank: int  # 0: uncompressed queries
    key_value_rank: int
    rotary_dim: int
    plain_dim: int
    value_dim: int


class Patches(Struct, frozen=True):
    """The division of an image by a vision transformer."""

    image: int
    patch: int
    channels: int = 3
    class_token: bool = True
    classes: int = 1000
    further_tokens: int = 0  # in addition to patches and class: DeiT's distillation, registers
    learned_positions: bool = True

    @property
    def count(self) -> int:
        """Return the number of patches of an image."""
        return (self.image // self.patch) ** 2

    @property
    def tokens(self) -> int:
        """Return the number of tokens of an image."""
        return self.count + self.class_token + self.further_tokens


class TransformerShape(Struct, frozen=True):
    """The dimensions of a transformer.

    Biases and extras are explicit, because exact parameter counts depend on them.
    """

    kind: TransformerKind
    layers: int
    hidden: int
    heads: int
    ffn: int
    vocab: int
    kv_heads: int
    head_dim: int
    max_positions: int = 0  # learned positions; 0: none (rotary, ALiBi, sinusoidal)
    type_vocab: int = 0
    gated: bool = False  # three matrices in the feed-forward block
    tied: bool = True  # the output projection is the embedding
    norm: NormKind = NormKind.LAYER
    norm_bias: bool = True
    qkv_bias: bool = True
    attention_output_bias: bool = True
    ffn_bias: bool = True
    output_bias: bool = False
    query_key_norm: bool = False
    norms_a_layer: int = 2
    final_norm: bool = True
    embedding_norm: bool = False
    parallel_block: bool = False  # parallel attention and feed-forward with one norm
    decoder_layers: int = 0  # for an encoder-decoder; `layers` is for the encoder
    relative_buckets: int = 0  # T5: learned relative positions, one table per stack
    sliding_window: int = 0
    experts: Experts | None = None
    latent: LatentAttention | None = None
    patches: Patches | None = None
    head: Head = Head.LANGUAGE_MODEL
    labels: int = 2  # for a classifier over tokens or sequences
    pooler: bool = False  # an additional square product, over the first token or before the labels
    embedding_dim: int = 0  # 0: hidden; otherwise tables of this width with a projection (ALBERT, ELECTRA)
    shared_layers: bool = False  # all layers share their parameters (ALBERT)
    query_key_norm_wide: bool = False  # over all heads together, not per head (OLMo 2, Cohere)
    full_attention_every: int = 0  # every n-th layer ignores the sliding window; 0: none
    other_layer_parameters: int = 0  # other parameters per layer: attention sinks, layer scales
    other_parameters: int = 0  # other parameters of the model: mask tokens, additional projections
    multi_token_layers: int = 0  # additional layers that predict further tokens
    dropout: bool = True
    name: str = ""
