"""Llama, and families that only differ in defaults or in norms: Mistral, Granite, SmolLM3, InternLM2, Seed, Hunyuan."""

from msgspec.structs import replace

from flyball_planner.models.transformer.huggingface.common import decoder
from flyball_planner.models.transformer.huggingface.settings import ConfigFamily, Settings
from flyball_planner.models.transformer.shape import TransformerShape


def _llama(settings: Settings) -> TransformerShape:
    return replace(decoder(settings), sliding_window=0)


def _seed(settings: Settings) -> TransformerShape:
    return replace(decoder(settings), attention_output_bias=settings.flag("attention_out_bias"))


def _hunyuan(settings: Settings) -> TransformerShape:
    return replace(decoder(settings), query_key_norm=True)


LLAMA_7B = {
    "vocab_size": 32000,
    "hidden_size": 4096,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "intermediate_size": 11008,
    "tie_word_embeddings": False,
}

LLAMA = ConfigFamily(("llama",), _llama, LLAMA_7B)
INTERNLM2 = ConfigFamily(("internlm2",), _llama, LLAMA_7B, class_stem="InternLM2")
MISTRAL = ConfigFamily(
    ("mistral", "ministral"),
    decoder,
    {**LLAMA_7B, "intermediate_size": 14336, "num_key_value_heads": 8, "sliding_window": 4096},
)
GRANITE = ConfigFamily(("granite",), decoder, LLAMA_7B)
SMOLLM3 = ConfigFamily(
    ("smollm3",),
    decoder,
    {
        "vocab_size": 128256,
        "hidden_size": 2048,
        "num_hidden_layers": 36,
        "num_attention_heads": 16,
        "num_key_value_heads": 4,
        "intermediate_size": 11008,
        "tie_word_embeddings": True,
    },
)
HELIUM = ConfigFamily(
    ("helium",),
    decoder,
    {
        **LLAMA_7B,
        "vocab_size": 48000,
        "hidden_size": 2560,
        "num_hidden_layers": 24,
        "num_attention_heads": 20,
        "intermediate_size": 7040,
    },
)
HUNYUAN = ConfigFamily(("hunyuan_v1_dense",), _hunyuan, {**LLAMA_7B, "vocab_size": 290943}, class_stem="HunYuanDenseV1")
SEED_OSS = ConfigFamily(
    ("seed_oss",),
    _seed,
    {
        **LLAMA_7B,
        "vocab_size": 155136,
        "num_hidden_layers": 64,
        "num_attention_heads": 80,
        "num_key_value_heads": 8,
        "head_dim": 128,
        "intermediate_size": 27648,
        "attention_bias": True,
        "hidden_dropout": 0.1,
    },
    {"residual_dropout": "hidden_dropout"},
)
