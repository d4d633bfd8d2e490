"""OPT: two positions more than it can use; its model of 350 million puts norms behind and narrows embeddings."""

from msgspec.structs import replace

from flyball_planner.models.transformer.huggingface.settings import Family, Settings
from flyball_planner.models.transformer.huggingface.usual import decoder
from flyball_planner.models.transformer.shape import Head, Norm, TransformerShape

SPARE_POSITIONS = 2  # OPTLearnedPositionalEmbedding.offset


def _opt(settings: Settings) -> TransformerShape:
    biased, before = settings.flag("enable_bias", True), settings.flag("do_layer_norm_before", True)
    shape = replace(
        decoder(settings),
        gated=False,
        norm=Norm.LAYER,
        max_positions=settings.whole("max_position_embeddings") + SPARE_POSITIONS,
        qkv_bias=biased,
        attention_output_bias=biased,
        ffn_bias=biased,
        final_norm=before and not settings.flag("_remove_final_layer_norm"),
    )
    narrow = settings.whole("word_embed_proj_dim", shape.hidden)
    return shape if narrow == shape.hidden else _narrowed(shape, narrow)


def _narrowed(shape: TransformerShape, narrow: int) -> TransformerShape:
    """Words alone are narrow, positions are not; projections have no bias, and labels are told from narrow words."""
    wider_positions = shape.max_positions * (shape.hidden - narrow)
    way_out = narrow * shape.hidden - shape.hidden  # its product, less the bias of the way in
    labels = shape.labels * (shape.hidden - narrow) if shape.head is Head.LABELS else 0
    return replace(shape, embedding_dim=narrow, other_parameters=wider_positions + way_out - labels)


OPT = Family(
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
