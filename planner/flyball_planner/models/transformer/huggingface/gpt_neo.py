"""GPT-Neo: every second layer has windowed attention."""

from msgspec.structs import replace

from flyball_planner.models.transformer.huggingface.common import decoder
from flyball_planner.models.transformer.huggingface.settings import ConfigFamily, Settings
from flyball_planner.models.transformer.shape import NormKind, TransformerShape


def _gpt_neo(settings: Settings) -> TransformerShape:
    return replace(
        decoder(settings),
        gated=False,
        norm=NormKind.LAYER,
        max_positions=settings.integer("max_position_embeddings"),
        attention_output_bias=True,
        ffn_bias=True,
        sliding_window=settings.integer("window_size"),
        full_attention_every=2,
    )


GPT_NEO = ConfigFamily(
    ("gpt_neo",),
    _gpt_neo,
    {
        "vocab_size": 50257,
        "hidden_size": 2048,
        "num_hidden_layers": 24,
        "num_attention_heads": 16,
        "max_position_embeddings": 2048,
        "window_size": 256,
        "tie_word_embeddings": True,
    },
    {"num_layers": "num_hidden_layers", "num_heads": "num_attention_heads"},
)
