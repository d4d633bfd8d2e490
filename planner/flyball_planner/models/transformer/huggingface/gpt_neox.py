"""GPT-NeoX and Pythia: attention and feed-forward beside each other, each behind its own norm."""

from msgspec.structs import replace

from flyball_planner.models.transformer.huggingface.settings import Family, Settings
from flyball_planner.models.transformer.huggingface.usual import decoder
from flyball_planner.models.transformer.shape import Head, Norm, TransformerShape


def _gpt_neox(settings: Settings) -> TransformerShape:
    shape = decoder(settings)
    return replace(
        shape,
        gated=False,
        norm=Norm.LAYER,
        ffn_bias=True,
        # its sequence classifier alone has no bias
        output_bias=shape.head is Head.LABELS and settings.architecture != "ForSequenceClassification",
        parallel_block=settings.flag("use_parallel_residual", True),
    )


GPT_NEOX = Family(
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
