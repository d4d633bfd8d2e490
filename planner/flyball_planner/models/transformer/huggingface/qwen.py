"""Qwen 2 and 3, dense and with experts."""

from msgspec.structs import replace

from flyball_planner.models.transformer.huggingface.common import decoder
from flyball_planner.models.transformer.huggingface.settings import ConfigFamily, Settings
from flyball_planner.models.transformer.shape import Experts, TransformerShape


def _dense(settings: Settings) -> TransformerShape:
    window = settings.integer("sliding_window", 4096) if settings.flag("use_sliding_window") else 0
    return replace(decoder(settings), sliding_window=window)


def _qwen2(settings: Settings) -> TransformerShape:
    return replace(_dense(settings), qkv_bias=True)


def _qwen3(settings: Settings) -> TransformerShape:
    return replace(_dense(settings), query_key_norm=True)


def _qwen2_moe(settings: Settings) -> TransformerShape:
    shared = settings.count("shared_expert_intermediate_size")
    experts = replace(_experts(settings), shared=1, shared_ffn=shared, shared_gate=True)
    return replace(_dense(settings), qkv_bias=settings.flag("qkv_bias", True), experts=experts)


def _qwen3_moe(settings: Settings) -> TransformerShape:
    return replace(_qwen3(settings), experts=_experts(settings))


def _experts(settings: Settings) -> Experts:
    """Return the experts. Listed dense layers count as the first ones, since their position does not matter."""
    return Experts(
        count=settings.count("num_experts"),
        active=settings.count("num_experts_per_tok"),
        ffn=settings.count("moe_intermediate_size"),
        first_dense_layers=settings.size("mlp_only_layers"),
        every_layers=settings.count("decoder_sparse_step", 1),
    )


QWEN2_7B = {
    "vocab_size": 151936,
    "hidden_size": 4096,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 32,
    "intermediate_size": 22016,
    "tie_word_embeddings": False,
}

QWEN2 = ConfigFamily(("qwen2",), _qwen2, QWEN2_7B)
QWEN3 = ConfigFamily(("qwen3",), _qwen3, {**QWEN2_7B, "head_dim": 128})
QWEN2_MOE = ConfigFamily(
    ("qwen2_moe",),
    _qwen2_moe,
    {
        "vocab_size": 151936,
        "hidden_size": 2048,
        "num_hidden_layers": 24,
        "num_attention_heads": 16,
        "num_key_value_heads": 16,
        "intermediate_size": 5632,
        "tie_word_embeddings": False,
        "num_experts": 60,
        "num_experts_per_tok": 4,
        "moe_intermediate_size": 1408,
        "shared_expert_intermediate_size": 5632,
    },
)
QWEN3_MOE = ConfigFamily(
    ("qwen3_moe",),
    _qwen3_moe,
    {
        "vocab_size": 151936,
        "hidden_size": 2048,
        "num_hidden_layers": 24,
        "num_attention_heads": 32,
        "num_key_value_heads": 4,
        "intermediate_size": 6144,
        "tie_word_embeddings": False,
        "num_experts": 128,
        "num_experts_per_tok": 8,
        "moe_intermediate_size": 768,
    },
    {"num_local_experts": "num_experts"},  # name in transformers 5
)
