"""StarCoder2: grouped keys, plain feed-forward, biases everywhere."""

from msgspec.structs import replace

from flyball_planner.models.transformer.huggingface.common import decoder
from flyball_planner.models.transformer.huggingface.settings import ConfigFamily, Settings
from flyball_planner.models.transformer.shape import NormKind, TransformerShape


def _starcoder2(settings: Settings) -> TransformerShape:
    biased = settings.flag("use_bias", True)
    return replace(
        decoder(settings),
        gated=False,
        norm=NormKind.LAYER,
        qkv_bias=biased,
        attention_output_bias=biased,
        ffn_bias=biased,
    )


STARCODER2 = ConfigFamily(
    ("starcoder2",),
    _starcoder2,
    {
        "vocab_size": 49152,
        "hidden_size": 3072,
        "num_hidden_layers": 30,
        "num_attention_heads": 24,
        "num_key_value_heads": 2,
        "intermediate_size": 12288,
        "tie_word_embeddings": True,
    },
)
