"""OLMo: first with norms without weights, later with norms after each block and of queries and keys."""

from msgspec.structs import replace

from flyball_planner.models.transformer.huggingface.common import decoder
from flyball_planner.models.transformer.huggingface.settings import ConfigFamily, Settings
from flyball_planner.models.transformer.shape import Experts, TransformerShape

OLMO3_PATTERN = 4  # every fourth layer has full attention


def _olmo(settings: Settings) -> TransformerShape:
    shape = replace(decoder(settings), sliding_window=0)
    weightless = (shape.norms_a_layer * shape.layers + 1) * shape.hidden
    return replace(shape, other_parameters=-weightless)


def _olmo2(settings: Settings) -> TransformerShape:
    shape = replace(decoder(settings), query_key_norm=True, query_key_norm_wide=True)
    return replace(shape, full_attention_every=OLMO3_PATTERN) if shape.sliding_window else shape


def _olmoe(settings: Settings) -> TransformerShape:
    shape = _olmo2(settings)
    experts = Experts(settings.count("num_experts"), settings.count("num_experts_per_tok"), shape.ffn)
    return replace(shape, experts=experts)


OLMO_7B = {
    "vocab_size": 50304,
    "hidden_size": 4096,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "intermediate_size": 11008,
    "tie_word_embeddings": False,
}

OLMO = ConfigFamily(("olmo",), _olmo, OLMO_7B)
OLMO2 = ConfigFamily(("olmo2",), _olmo2, OLMO_7B)
OLMO3 = ConfigFamily(("olmo3",), _olmo2, {**OLMO_7B, "sliding_window": 4096})
OLMOE = ConfigFamily(
    ("olmoe",),
    _olmoe,
    {
        "vocab_size": 50304,
        "hidden_size": 2048,
        "num_hidden_layers": 16,
        "num_attention_heads": 16,
        "intermediate_size": 2048,
        "num_experts": 64,
        "num_experts_per_tok": 8,
        "tie_word_embeddings": False,
    },
)
