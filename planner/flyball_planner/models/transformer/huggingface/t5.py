"""T5, mT5 and UMT5: encoder and decoder with relative positions, without biases."""

from msgspec.structs import replace

from flyball_planner.models.transformer.huggingface.common import decoder
from flyball_planner.models.transformer.huggingface.settings import ConfigFamily, Settings
from flyball_planner.models.transformer.shape import TransformerKind, TransformerShape


def _t5(settings: Settings) -> TransformerShape:
    shape = decoder(settings)
    alone = settings.architecture == "EncoderModel"
    return replace(
        shape,
        kind=TransformerKind.ENCODER if alone else TransformerKind.ENCODER_DECODER,
        decoder_layers=0 if alone else settings.count("num_decoder_layers", shape.layers),
        relative_buckets=settings.count("relative_attention_num_buckets"),
        gated=settings.text("feed_forward_proj").startswith("gated"),
    )


def _umt5(settings: Settings) -> TransformerShape:
    """Return the shape; each layer, not each stack, has a table of relative positions."""
    shape = _t5(settings)
    stacks = 2 if shape.decoder_layers else 1
    table = shape.relative_buckets * shape.heads
    return replace(shape, other_parameters=(shape.layers + shape.decoder_layers - stacks) * table)


NAMES = {
    "d_model": "hidden_size",
    "d_ff": "intermediate_size",
    "d_kv": "head_dim",
    "num_layers": "num_hidden_layers",
    "num_heads": "num_attention_heads",
}
SMALL = {
    "vocab_size": 32128,
    "hidden_size": 512,
    "intermediate_size": 2048,
    "head_dim": 64,
    "num_hidden_layers": 6,
    "num_attention_heads": 8,
    "relative_attention_num_buckets": 32,
    "feed_forward_proj": "relu",
    "dropout": 0.1,
    "tie_word_embeddings": True,
}
MT5_SMALL = {
    **SMALL,
    "vocab_size": 250112,
    "intermediate_size": 1024,
    "num_hidden_layers": 8,
    "num_attention_heads": 6,
    "feed_forward_proj": "gated-gelu",
}

T5 = ConfigFamily(("t5",), _t5, SMALL, NAMES)
MT5 = ConfigFamily(("mt5",), _t5, MT5_SMALL, NAMES)
UMT5 = ConfigFamily(("umt5",), _umt5, MT5_SMALL, NAMES)
