"""GLM 4 and its successors: biases only for queries, keys and values; later ones with more norms, or experts."""

from msgspec.structs import replace

from flyball_planner.models.transformer.huggingface.common import decoder
from flyball_planner.models.transformer.huggingface.settings import ConfigFamily, Settings
from flyball_planner.models.transformer.shape import Experts, TransformerShape


def _glm(settings: Settings) -> TransformerShape:
    return replace(decoder(settings), attention_output_bias=False)


def _glm4(settings: Settings) -> TransformerShape:
    return replace(_glm(settings), norms_a_layer=4)


def _glm4_moe(settings: Settings) -> TransformerShape:
    width, shared = settings.count("moe_intermediate_size"), settings.integer("n_shared_experts")
    experts = Experts(
        count=settings.count("n_routed_experts"),
        active=settings.count("num_experts_per_tok"),
        ffn=width,
        shared=shared,
        shared_ffn=shared * width,
        first_dense_layers=settings.integer("first_k_dense_replace"),
    )
    return replace(_glm(settings), query_key_norm=settings.flag("use_qk_norm"), experts=experts)


GLM_9B = {
    "vocab_size": 151552,
    "hidden_size": 4096,
    "num_hidden_layers": 40,
    "num_attention_heads": 32,
    "num_key_value_heads": 2,
    "intermediate_size": 13696,
    "head_dim": 128,
    "attention_bias": True,
    "tie_word_embeddings": False,
}

GLM = ConfigFamily(("glm",), _glm, GLM_9B)
GLM4 = ConfigFamily(("glm4",), _glm4, GLM_9B)
GLM4_MOE = ConfigFamily(
    ("glm4_moe",),
    _glm4_moe,
    {
        "vocab_size": 151552,
        "hidden_size": 4096,
        "num_hidden_layers": 46,
        "num_attention_heads": 96,
        "num_key_value_heads": 8,
        "intermediate_size": 10944,
        "tie_word_embeddings": False,
        "moe_intermediate_size": 1408,
        "num_experts_per_tok": 8,
        "n_shared_experts": 1,
        "n_routed_experts": 128,
        "first_k_dense_replace": 1,
    },
)
