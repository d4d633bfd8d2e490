"""EXAONE 4: norms after each block, and of queries and keys; every fourth layer has full attention."""

from msgspec.structs import replace

from flyball_planner.models.transformer.huggingface.common import decoder
from flyball_planner.models.transformer.huggingface.settings import ConfigFamily, Settings
from flyball_planner.models.transformer.shape import TransformerShape


def _exaone4(settings: Settings) -> TransformerShape:
    written = settings.text("sliding_window_pattern")  # a number, or letters such as LLLG
    every = int(written) if written.isdecimal() else len(written)
    return replace(decoder(settings), query_key_norm=True, full_attention_every=every)


EXAONE4 = ConfigFamily(
    ("exaone4",),
    _exaone4,
    {
        "vocab_size": 102400,
        "hidden_size": 4096,
        "num_hidden_layers": 32,
        "num_attention_heads": 32,
        "intermediate_size": 16384,
        "sliding_window": 4096,
        "sliding_window_pattern": 4,
        "tie_word_embeddings": False,
    },
)
