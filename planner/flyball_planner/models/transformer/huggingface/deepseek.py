"""DeepSeek V2 and V3 (including Kimi K2): attention with compressed keys and values, and many small experts.

V3's layers that predict further tokens are ignored, because they are optional in training. Set `multi_token_layers` of
the shape to include them.
"""

from msgspec.structs import replace

from flyball_planner.models.transformer.huggingface.common import decoder
from flyball_planner.models.transformer.huggingface.settings import ConfigFamily, Settings
from flyball_planner.models.transformer.shape import Experts, LatentAttention, TransformerShape


def _deepseek(settings: Settings) -> TransformerShape:
    latent = LatentAttention(
        query_rank=settings.integer("q_lora_rank", 0),
        key_value_rank=settings.count("kv_lora_rank"),
        rotary_dim=settings.count("qk_rope_head_dim"),
        plain_dim=settings.count("qk_nope_head_dim"),
        value_dim=settings.count("v_head_dim"),
    )
    width, shared = settings.count("moe_intermediate_size"), settings.integer("n_shared_experts", 0)
    experts = Experts(
        count=settings.count("n_routed_experts"),
        active=settings.count("num_experts_per_tok"),
        ffn=width,
        shared=shared,
        shared_ffn=shared * width,
        first_dense_layers=settings.integer("first_k_dense_replace"),
        groups=settings.count("n_group", 1),
        chosen_groups=settings.count("topk_group", 1),
    )
    head_dim = latent.plain_dim + latent.rotary_dim
    return replace(decoder(settings), head_dim=head_dim, latent=latent, experts=experts)


V2 = {
    "vocab_size": 102400,
    "hidden_size": 4096,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "intermediate_size": 11008,
    "tie_word_embeddings": False,
    "first_k_dense_replace": 0,
    "kv_lora_rank": 512,
    "q_lora_rank": 1536,
    "n_routed_experts": 64,
    "num_experts_per_tok": 6,  # no default in transformers; all published models of V2 have 6
    "n_shared_experts": 2,
    "qk_nope_head_dim": 128,
    "qk_rope_head_dim": 64,
    "v_head_dim": 128,
    "moe_intermediate_size": 1407,
}
V3 = {
    "vocab_size": 129280,
    "hidden_size": 7168,
    "num_hidden_layers": 61,
    "num_attention_heads": 128,
    "intermediate_size": 18432,
    "tie_word_embeddings": False,
    "moe_intermediate_size": 2048,
    "n_shared_experts": 1,
    "n_routed_experts": 256,
    "kv_lora_rank": 512,
    "q_lora_rank": 1536,
    "qk_rope_head_dim": 64,
    "v_head_dim": 128,
    "qk_nope_head_dim": 128,
    "num_experts_per_tok": 8,
    "first_k_dense_replace": 3,
    "n_group": 8,
    "topk_group": 4,
}

DEEPSEEK_V2 = ConfigFamily(("deepseek_v2",), _deepseek, V2)
DEEPSEEK_V3 = ConfigFamily(("deepseek_v3", "kimi_k2"), _deepseek, V3)
