"""Phi: 1 and 2 put attention and feed-forward beside each other with biases; from 3 on it is Llama's form."""

from msgspec.structs import replace

from flyball_planner.models.transformer.huggingface.settings import Family, Settings
from flyball_planner.models.transformer.huggingface.usual import decoder
from flyball_planner.models.transformer.shape import Head, Norm, TransformerShape


def _phi(settings: Settings) -> TransformerShape:
    shape = decoder(settings)
    return replace(
        shape,
        gated=False,
        norm=Norm.LAYER,
        qkv_bias=True,
        attention_output_bias=True,
        ffn_bias=True,
        output_bias=shape.output_bias or shape.head is Head.LANGUAGE_MODEL,
        query_key_norm=settings.flag("qk_layernorm"),
        norms_a_layer=1,
        parallel_block=True,
    )


PHI = Family(
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
PHI3 = Family(
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
