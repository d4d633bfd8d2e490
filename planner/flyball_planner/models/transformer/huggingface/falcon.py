"""Falcon: one key-value head (7B), grouped heads with two norms (40B, 180B), or ALiBi (RW)."""

from msgspec.structs import replace

from flyball_planner.models.transformer.huggingface.common import decoder
from flyball_planner.models.transformer.huggingface.settings import ConfigFamily, Settings
from flyball_planner.models.transformer.shape import NormKind, TransformerShape


def _falcon(settings: Settings) -> TransformerShape:
    shape = decoder(settings)
    biased, parallel = settings.flag("bias"), settings.flag("parallel_attn", True)
    grouped = settings.flag("new_decoder_architecture")
    alone = 1 if settings.flag("multi_query", True) else shape.heads
    norms = settings.integer("num_ln_in_parallel_attn", 2) if grouped else 1
    return replace(
        shape,
        gated=False,
        norm=NormKind.LAYER,
        kv_heads=shape.kv_heads if grouped else alone,
        qkv_bias=biased,
        attention_output_bias=biased,
        ffn_bias=biased,
        norms_a_layer=norms if grouped or parallel else 2,
        parallel_block=grouped or parallel,
    )


FALCON = ConfigFamily(
    ("falcon", "RefinedWeb", "RefinedWebModel"),
    _falcon,
    {
        "vocab_size": 65024,
        "hidden_size": 4544,
        "num_hidden_layers": 32,
        "num_attention_heads": 71,
        "tie_word_embeddings": True,
    },
    {
        "n_layer": "num_hidden_layers",
        "n_head": "num_attention_heads",
        "num_kv_heads": "num_key_value_heads",
        "n_head_kv": "num_key_value_heads",
        "ffn_hidden_size": "intermediate_size",
    },
)
