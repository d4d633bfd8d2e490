"""OPT: two unused positions; the model with 350 million parameters has norms after blocks and narrow embeddings."""

from msgspec.structs import replace

from flyball_planner.models.transformer.huggingface.common import decoder
from flyball_planner.models.transformer.huggingface.settings import ConfigFamily, Settings
from flyball_planner.models.transformer.shape import Head, NormKind, TransformerShape

SPARE_POSITIONS = 2  # OPTLearnedPositionalEmbedding.offset


def _opt(settings: Settings) -> TransformerShape:
    biased, before = settings.flag("enable_bias", True), settings.flag("do_layer_norm_before", True)
    shape = replace(
        decoder(settings),
        gated=False,
        norm=NormKind.LAYER,
        max_positions=settings.integer("max_position_embeddings") + SPARE_POSITIONS,
        qkv_bias=biased,
        attention_output_bias=biased,
        ffn_bias=biased,
        final_norm=before and not settings.flag("_remove_final_layer_norm"),
    )
    narrow = settings.integer("word_embed_proj_dim", shape.hidden)
    return shape if narrow == shape.hidden else _narrowed(shape, narrow)


def _narrowed(shape: TransformerShape, narrow: int) -> TransformerShape:
    """Return the shape with narrow words; positions are not narrow, projections have no bias, labels use narrow
    words."""
    wider_positions = shape.max_positions * (shape.hidden - narrow)
    way_out = narrow * shape.hidden - shape.hidden  # the output projection without the input projection's bias
    labels = shape.labels * (shape.hidden - narrow) if shape.head is Head.LABELS else 0
    return replace(shape, embedding_dim=narrow, other_parameters=wider_positions + way_out - labels)


OPT = ConfigFamily(
    ("opt",),
    _opt,
    {
        "vocab_size": 50272,
        "hidden_size": 768,
        "num_hidden_layers": 12,
        "num_attention_heads": 12,
        "intermediate_size": 3072,
        "max_position_embeddings": 2048,
        "tie_word_embeddings": True,
        "dropout": 0.1,
    },
    {"ffn_dim": "intermediate_size"},
)
