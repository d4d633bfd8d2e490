"""BLOOM: ALiBi instead of positions, and a norm after the embedding."""

from msgspec.structs import replace

from flyball_planner.models.transformer.huggingface.common import decoder
from flyball_planner.models.transformer.huggingface.settings import ConfigFamily, Settings
from flyball_planner.models.transformer.shape import NormKind, TransformerShape


def _bloom(settings: Settings) -> TransformerShape:
    return replace(
        decoder(settings),
        gated=False,
        norm=NormKind.LAYER,
        qkv_bias=True,
        attention_output_bias=True,
        ffn_bias=True,
        embedding_norm=True,
    )


BLOOM = ConfigFamily(
    ("bloom",),
    _bloom,
    {
        "vocab_size": 250880,
        "hidden_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 8,
        "tie_word_embeddings": True,
    },
    {"n_embed": "hidden_size", "n_layer": "num_hidden_layers", "n_head": "num_attention_heads"},
)
