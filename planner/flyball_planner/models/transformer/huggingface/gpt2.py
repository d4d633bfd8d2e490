"""GPT-2, and its descendant GPT BigCode (SantaCoder, StarCoder) with one key-value head."""

from msgspec.structs import replace

from flyball_planner.models.transformer.huggingface.common import decoder
from flyball_planner.models.transformer.huggingface.settings import ConfigFamily, Settings
from flyball_planner.models.transformer.shape import NormKind, TransformerShape

NAMES = {
    "n_embd": "hidden_size",
    "n_layer": "num_hidden_layers",
    "n_head": "num_attention_heads",
    "n_inner": "intermediate_size",
    "n_positions": "max_position_embeddings",
}
DEFAULTS = {
    "vocab_size": 50257,
    "hidden_size": 768,
    "num_hidden_layers": 12,
    "num_attention_heads": 12,
    "max_position_embeddings": 1024,
    "tie_word_embeddings": True,
    "resid_pdrop": 0.1,
}


def _gpt2(settings: Settings) -> TransformerShape:
    return replace(
        decoder(settings),
        gated=False,
        norm=NormKind.LAYER,
        max_positions=settings.integer("max_position_embeddings"),
        qkv_bias=True,
        attention_output_bias=True,
        ffn_bias=True,
    )


def _bigcode(settings: Settings) -> TransformerShape:
    shape = _gpt2(settings)
    return replace(shape, kv_heads=1) if settings.flag("multi_query", True) else shape


GPT2 = ConfigFamily(("gpt2",), _gpt2, DEFAULTS, NAMES)
GPT_BIGCODE = ConfigFamily(("gpt_bigcode",), _bigcode, DEFAULTS, NAMES)
