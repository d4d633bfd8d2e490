"""Phi: 1 and 2 have parallel attention and feed-forward with biases; from 3 on it is like Llama."""

from msgspec.structs import replace

from flyball_planner.models.transformer.huggingface.common import decoder
from flyball_planner.models.transformer.huggingface.settings import ConfigFamily, Settings
from flyball_planner.models.transformer.shape import Head, NormKind, TransformerShape


def _phi(settings: Settings) -> TransformerShape:
    shape = decoder(settings)
    return replace(
        shape,
        gated=False,
        norm=NormKind.LAYER,
        qkv_bias=True,
        attention_output_bias=True,
        ffn_bias=True,
        output_bias=shape.output_bias or shape.head is Head.LANGUAGE_MODEL,
        query_key_norm=settings.flag("qk_layernorm"),
        norms_a_layer=1,
        parallel_block=True,
    )


PHI = ConfigFamily(
    ("phi",),
    _phi,
    {
        "vocab_size": 51200,
        "hidden_size": 2048,
        "num_hidden_layers": 24,
        "num_attention_heads": 32,
        "intermediate_size": 8192,
        "tie_word_embeddings": False,
    },
)
PHI3 = ConfigFamily(
    ("phi3",),
    decoder,
    {
        "vocab_size": 32064,
        "hidden_size": 3072,
        "num_hidden_layers": 32,
        "num_attention_heads": 32,
        "intermediate_size": 8192,
        "tie_word_embeddings": False,
    },
)
