"""Nemotron 4 and Minitron: squared ReLU without a gate, layer norms."""

from msgspec.structs import replace

from flyball_planner.models.transformer.huggingface.common import decoder
from flyball_planner.models.transformer.huggingface.settings import ConfigFamily, Settings
from flyball_planner.models.transformer.shape import NormKind, TransformerShape


def _nemotron(settings: Settings) -> TransformerShape:
    return replace(decoder(settings), gated=False, norm=NormKind.LAYER)


NEMOTRON = ConfigFamily(
    ("nemotron",),
    _nemotron,
    {
        "vocab_size": 256000,
        "hidden_size": 6144,
        "num_hidden_layers": 32,
        "num_attention_heads": 48,
        "intermediate_size": 24576,
        "tie_word_embeddings": False,
    },
)
