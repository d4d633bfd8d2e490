"""GPT-Neo: every second layer looks at a window only."""

from msgspec.structs import replace

from flyball_planner.models.transformer.huggingface.settings import Family, Settings
from flyball_planner.models.transformer.huggingface.usual import decoder
from flyball_planner.models.transformer.shape import Norm, TransformerShape


def _gpt_neo(settings: Settings) -> TransformerShape:
    return replace(
        decoder(settings),
        gated=False,
        norm=Norm.LAYER,
        max_positions=settings.whole("max_position_embeddings"),
        attention_output_bias=True,
        ffn_bias=True,
        sliding_window=settings.whole("window_size"),
        full_attention_every=2,
    )


GPT_NEO = Family(
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
