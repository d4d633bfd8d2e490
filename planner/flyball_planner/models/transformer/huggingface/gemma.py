"""Gemma 1 to 3: wide heads; from version 2 norms around each block, in version 3 norms of queries and keys."""

from msgspec.structs import replace

from flyball_planner.models.transformer.counts import parameters
from flyball_planner.models.transformer.huggingface.common import decoder
from flyball_planner.models.transformer.huggingface.settings import ConfigFamily, Settings
from flyball_planner.models.transformer.huggingface.vit import SIGLIP_VISION
from flyball_planner.models.transformer.shape import TransformerShape

GEMMA3_PATTERN = 6  # every sixth layer has full attention (Gemma 3 report, §2)


def _gemma(settings: Settings) -> TransformerShape:
    return replace(decoder(settings), sliding_window=0)


def _gemma2(settings: Settings) -> TransformerShape:
    return replace(decoder(settings), norms_a_layer=4, full_attention_every=2)


def _gemma3_text(settings: Settings) -> TransformerShape:
    every = settings.count("sliding_window_pattern", GEMMA3_PATTERN)
    return replace(decoder(settings), norms_a_layer=4, query_key_norm=True, full_attention_every=every)


def _gemma3(settings: Settings) -> TransformerShape:
    """Return the text model; the image encoder is not included."""
    text = GEMMA3_TEXT.shape({"model_type": "gemma3_text", **settings.within("text_config")})
    images = SIGLIP_VISION.shape(settings.within("vision_config"))
    projector = images.hidden * text.hidden + images.hidden
    return replace(text, other_parameters=parameters(images).total + projector)


GEMMA_7B = {
    "vocab_size": 256000,
    "hidden_size": 3072,
    "num_hidden_layers": 28,
    "num_attention_heads": 16,
    "num_key_value_heads": 16,
    "intermediate_size": 24576,
    "head_dim": 256,
    "tie_word_embeddings": True,
}
GEMMA2_2B = {
    "vocab_size": 256000,
    "hidden_size": 2304,
    "num_hidden_layers": 26,
    "num_attention_heads": 8,
    "num_key_value_heads": 4,
    "intermediate_size": 9216,
    "head_dim": 256,
    "sliding_window": 4096,
    "tie_word_embeddings": True,
}

GEMMA = ConfigFamily(("gemma",), _gemma, GEMMA_7B)
GEMMA2 = ConfigFamily(("gemma2",), _gemma2, GEMMA2_2B)
GEMMA3_TEXT = ConfigFamily(("gemma3_text",), _gemma3_text, {**GEMMA2_2B, "vocab_size": 262208}, class_stem="Gemma3")
GEMMA3 = ConfigFamily(("gemma3",), _gemma3)
