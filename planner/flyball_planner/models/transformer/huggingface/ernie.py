"""ERNIE 4.5: one setting for all biases; larger models have shared experts after a dense first layer."""

from msgspec.structs import replace

from flyball_planner.models.transformer.huggingface.common import decoder
from flyball_planner.models.transformer.huggingface.settings import ConfigFamily, Settings
from flyball_planner.models.transformer.shape import Experts, TransformerShape


def _ernie(settings: Settings) -> TransformerShape:
    biased = settings.flag("use_bias")
    return replace(decoder(settings), qkv_bias=biased, attention_output_bias=biased, ffn_bias=biased)


def _ernie_moe(settings: Settings) -> TransformerShape:
    shape, width = _ernie(settings), settings.count("moe_intermediate_size")
    shared = settings.integer("moe_num_shared_experts")
    experts = Experts(
        count=settings.count("moe_num_experts"),
        active=settings.count("moe_k"),
        ffn=width,
        shared=shared,
        shared_ffn=shared * width,
        first_dense_layers=settings.integer("moe_layer_start_index"),
        every_layers=settings.count("moe_layer_interval"),
        router_bias=True,
        bias=shape.ffn_bias,
    )
    return replace(shape, experts=experts, output_bias=shape.ffn_bias)


ERNIE_300M = {
    "vocab_size": 103424,
    "hidden_size": 1024,
    "num_hidden_layers": 18,
    "num_attention_heads": 16,
    "num_key_value_heads": 2,
    "head_dim": 128,
    "intermediate_size": 3072,
    "tie_word_embeddings": True,
}

ERNIE = ConfigFamily(("ernie4_5",), _ernie, ERNIE_300M)
ERNIE_MOE = ConfigFamily(
    ("ernie4_5_moe",),
    _ernie_moe,
    {
        **ERNIE_300M,
        "hidden_size": 2560,
        "num_hidden_layers": 28,
        "num_attention_heads": 20,
        "num_key_value_heads": 4,
        "intermediate_size": 12288,
        "moe_intermediate_size": 1536,
        "moe_num_experts": 64,
        "moe_k": 6,
        "moe_num_shared_experts": 2,
        "moe_layer_start_index": 1,
        "moe_layer_interval": 1,
    },
    {"num_experts": "moe_num_experts", "num_experts_per_tok": "moe_k"},  # names in transformers 5
)
