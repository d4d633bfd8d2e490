"""MPT: ALiBi and no biases."""

from msgspec.structs import replace

from flyball_planner.models.transformer.huggingface.common import decoder
from flyball_planner.models.transformer.huggingface.settings import ConfigFamily, Settings
from flyball_planner.models.transformer.shape import NormKind, TransformerShape


def _mpt(settings: Settings) -> TransformerShape:
    shape = decoder(settings)
    ffn = settings.integer("expansion_ratio") * shape.hidden
    return replace(shape, gated=False, norm=NormKind.LAYER, norm_bias=False, ffn=ffn)


MPT = ConfigFamily(
    ("mpt",),
    _mpt,
    {
        "vocab_size": 50368,
        "hidden_size": 2048,
        "num_hidden_layers": 24,
        "num_attention_heads": 16,
        "expansion_ratio": 4,
        "tie_word_embeddings": True,
    },
    {"d_model": "hidden_size", "n_layers": "num_hidden_layers", "n_heads": "num_attention_heads"},
)
