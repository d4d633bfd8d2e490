"""Cohere's Command: parallel attention and feed-forward after one norm without bias."""

from msgspec.structs import replace

from flyball_planner.models.transformer.huggingface.common import decoder
from flyball_planner.models.transformer.huggingface.settings import ConfigFamily, Settings
from flyball_planner.models.transformer.shape import NormKind, TransformerShape

COHERE2_PATTERN = 4  # every fourth layer has full attention


def _cohere(settings: Settings) -> TransformerShape:
    return replace(
        decoder(settings),
        norm=NormKind.LAYER,
        norm_bias=False,
        query_key_norm=settings.flag("use_qk_norm"),
        query_key_norm_wide=True,
        norms_a_layer=1,
        parallel_block=True,
    )


def _cohere2(settings: Settings) -> TransformerShape:
    return replace(_cohere(settings), full_attention_every=COHERE2_PATTERN)


COMMAND_R = {
    "vocab_size": 256000,
    "hidden_size": 8192,
    "num_hidden_layers": 40,
    "num_attention_heads": 64,
    "intermediate_size": 22528,
    "tie_word_embeddings": True,
}

COHERE = ConfigFamily(("cohere",), _cohere, COMMAND_R)
COHERE2 = ConfigFamily(("cohere2",), _cohere2, {**COMMAND_R, "sliding_window": 4096})
