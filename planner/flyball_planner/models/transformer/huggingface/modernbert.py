"""ModernBERT: rotary positions, gates, no biases; every third layer has full attention."""

from msgspec.structs import replace

from flyball_planner.models.transformer.huggingface.common import encoder
from flyball_planner.models.transformer.huggingface.settings import ConfigFamily, Settings
from flyball_planner.models.transformer.shape import Head, TransformerShape


def _modernbert(settings: Settings) -> TransformerShape:
    shape = replace(
        encoder(settings),
        max_positions=0,
        gated=True,
        norm_bias=settings.flag("norm_bias"),
        qkv_bias=settings.flag("attention_bias"),
        attention_output_bias=settings.flag("attention_bias"),
        ffn_bias=settings.flag("mlp_bias"),
        final_norm=True,
        sliding_window=settings.integer("local_attention"),
        full_attention_every=settings.count("global_attn_every_n_layers"),
    )
    return replace(shape, other_parameters=_extra_parameters(settings, shape))


def _extra_parameters(settings: Settings, shape: TransformerShape) -> int:
    """Return differences: the first layer lacks its first norm; heads have a square product with a norm and without
    bias."""
    norm = shape.hidden * (2 if shape.norm_bias else 1)
    if shape.head is Head.MASKED_LANGUAGE_MODEL:
        return -norm - (0 if settings.flag("classifier_bias") else shape.hidden)
    square = shape.hidden**2 + (shape.hidden if settings.flag("classifier_bias") else 0) + norm
    return -norm + (square if shape.head is Head.LABELS else 0)


MODERNBERT = ConfigFamily(
    ("modernbert",),
    _modernbert,
    {
        "vocab_size": 50368,
        "hidden_size": 768,
        "num_hidden_layers": 22,
        "num_attention_heads": 12,
        "intermediate_size": 1152,
        "max_position_embeddings": 8192,
        "local_attention": 128,
        "global_attn_every_n_layers": 3,
    },
)
