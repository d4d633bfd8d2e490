"""GPT-NeoX and Pythia: parallel attention and feed-forward, each after its own norm."""

from msgspec.structs import replace

from flyball_planner.models.transformer.huggingface.common import decoder
from flyball_planner.models.transformer.huggingface.settings import ConfigFamily, Settings
from flyball_planner.models.transformer.shape import Head, NormKind, TransformerShape


def _gpt_neox(settings: Settings) -> TransformerShape:
    shape = decoder(settings)
    return replace(
        shape,
        gated=False,
        norm=NormKind.LAYER,
        ffn_bias=True,
        # Only its sequence classifier has no bias.
        output_bias=shape.head is Head.LABELS and settings.architecture != "ForSequenceClassification",
        parallel_block=settings.flag("use_parallel_residual", True),
    )


GPT_NEOX = ConfigFamily(
    ("gpt_neox",),
    _gpt_neox,
    {
        "vocab_size": 50432,
        "hidden_size": 6144,
        "num_hidden_layers": 44,
        "num_attention_heads": 64,
        "intermediate_size": 24576,
        "tie_word_embeddings": False,
        "attention_bias": True,
    },
)
