"""DBRX: experts in every layer, layer norms without biases, and settings in groups of their own."""

from msgspec.structs import replace

from flyball_planner.models.transformer.huggingface.common import decoder
from flyball_planner.models.transformer.huggingface.settings import ConfigFamily, Settings
from flyball_planner.models.transformer.shape import Experts, NormKind, TransformerShape


def _dbrx(settings: Settings) -> TransformerShape:
    attention = Settings(settings.within("attn_config"), {"kv_n_heads": 1})
    blocks = Settings(settings.within("ffn_config"), {"ffn_hidden_size": 3584, "moe_num_experts": 4, "moe_top_k": 1})
    width = blocks.count("ffn_hidden_size")
    return replace(
        decoder(settings),
        kv_heads=attention.count("kv_n_heads"),
        ffn=width,
        norm=NormKind.LAYER,
        norm_bias=False,
        experts=Experts(blocks.count("moe_num_experts"), blocks.count("moe_top_k"), width),
    )


DBRX = ConfigFamily(
    ("dbrx",),
    _dbrx,
    {
        "vocab_size": 32000,
        "hidden_size": 2048,
        "num_hidden_layers": 24,
        "num_attention_heads": 16,
        "tie_word_embeddings": False,
    },
    {"d_model": "hidden_size", "n_layers": "num_hidden_layers", "n_heads": "num_attention_heads"},
)
