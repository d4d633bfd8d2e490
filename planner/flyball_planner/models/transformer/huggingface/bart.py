"""BART, mBART, Pegasus and Marian: encoder and decoder with biases and separate tables of positions."""

from msgspec.structs import replace

from flyball_planner.models.transformer.huggingface.common import decoder
from flyball_planner.models.transformer.huggingface.settings import ConfigFamily, Settings
from flyball_planner.models.transformer.shape import NormKind, TransformerKind, TransformerShape

SPARE_POSITIONS = 2  # BartLearnedPositionalEmbedding.offset


def _bart(settings: Settings) -> TransformerShape:
    shape = _plain(settings)
    return replace(shape, max_positions=shape.max_positions + SPARE_POSITIONS, embedding_norm=True)


def _mbart(settings: Settings) -> TransformerShape:
    return replace(_bart(settings), final_norm=True)


def _pegasus(settings: Settings) -> TransformerShape:
    """Return the shape; sinusoidal positions are a stored table too."""
    return replace(_plain(settings), final_norm=True)


def _plain(settings: Settings) -> TransformerShape:
    shape = decoder(settings)
    wider = settings.count("decoder_ffn_dim") - shape.ffn  # supported, although no published model uses it
    layers = settings.count("decoder_layers")
    return replace(
        shape,
        kind=TransformerKind.ENCODER_DECODER,
        decoder_layers=layers,
        other_parameters=layers * wider * (2 * shape.hidden + 1),
        gated=False,
        norm=NormKind.LAYER,
        max_positions=settings.integer("max_position_embeddings"),
        qkv_bias=True,
        attention_output_bias=True,
        ffn_bias=True,
        final_norm=False,
    )


NAMES = {
    "d_model": "hidden_size",
    "encoder_layers": "num_hidden_layers",
    "encoder_attention_heads": "num_attention_heads",
    "encoder_ffn_dim": "intermediate_size",
}
LARGE = {
    "vocab_size": 50265,
    "hidden_size": 1024,
    "num_hidden_layers": 12,
    "decoder_layers": 12,
    "num_attention_heads": 16,
    "intermediate_size": 4096,
    "decoder_ffn_dim": 4096,
    "max_position_embeddings": 1024,
    "dropout": 0.1,
    "tie_word_embeddings": True,
}

BART = ConfigFamily(("bart",), _bart, LARGE, NAMES)
MBART = ConfigFamily(("mbart",), _mbart, LARGE, NAMES)
PEGASUS = ConfigFamily(("pegasus",), _pegasus, LARGE, NAMES)
MARIAN = ConfigFamily(("marian",), _plain, {**LARGE, "vocab_size": 58101}, NAMES)
