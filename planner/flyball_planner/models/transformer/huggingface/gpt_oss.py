"""gpt-oss: experts with biases, and a learned attention sink for each head."""

from msgspec.structs import replace

from flyball_planner.models.transformer.huggingface.common import decoder
from flyball_planner.models.transformer.huggingface.settings import ConfigFamily, Settings
from flyball_planner.models.transformer.shape import Experts, TransformerShape


def _gpt_oss(settings: Settings) -> TransformerShape:
    shape = decoder(settings)
    experts = Experts(
        count=settings.count("num_local_experts"),
        active=settings.count("num_experts_per_tok"),
        ffn=shape.ffn,
        router_bias=True,
        bias=True,
    )
    sinks = shape.heads
    return replace(shape, experts=experts, full_attention_every=2, other_layer_parameters=sinks)


GPT_OSS = ConfigFamily(
    ("gpt_oss",),
    _gpt_oss,
    {
        "vocab_size": 201088,
        "hidden_size": 2880,
        "num_hidden_layers": 36,
        "num_attention_heads": 64,
        "num_key_value_heads": 8,
        "intermediate_size": 2880,
        "head_dim": 64,
        "sliding_window": 128,
        "num_local_experts": 128,
        "num_experts_per_tok": 4,
        "attention_bias": True,
        "tie_word_embeddings": False,
    },
)
