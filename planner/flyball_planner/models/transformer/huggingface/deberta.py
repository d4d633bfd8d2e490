"""DeBERTa 2 and 3: relative positions that are projected like tokens."""

from msgspec.structs import replace

from flyball_planner.models.transformer.huggingface.common import encoder
from flyball_planner.models.transformer.huggingface.settings import ConfigFamily, Settings
from flyball_planner.models.transformer.shape import TransformerShape


def _deberta(settings: Settings) -> TransformerShape:
    shape = encoder(settings)
    absolute = settings.flag("position_biased_input", True)
    return replace(
        shape,
        max_positions=shape.max_positions if absolute else 0,
        pooler=settings.architecture == "ForSequenceClassification",
        other_parameters=_relative_positions(settings, shape.hidden) if settings.flag("relative_attention") else 0,
    )


def _relative_positions(settings: Settings, hidden: int) -> int:
    """Return one table for all layers with its norm, and separate products if queries' and keys' products are not
    shared."""
    reach = settings.integer("position_buckets", 0)
    if reach < 1:
        reach = settings.integer("max_relative_positions", 0)
        reach = reach if reach > 0 else settings.integer("max_position_embeddings")
    normed = "layer_norm" in settings.text("norm_rel_ebd", "none")
    separate = 0 if settings.flag("share_att_key") else _position_products(settings, hidden)
    return 2 * reach * hidden + (2 * hidden if normed else 0) + separate


def _position_products(settings: Settings, hidden: int) -> int:
    """Return the products of a layer for positions only, one for each direction in the settings."""
    kinds = settings.text("pos_att_type").count("c2p") + settings.text("pos_att_type").count("p2c")
    return settings.integer("num_hidden_layers") * kinds * (hidden + 1) * hidden


DEBERTA_V2 = ConfigFamily(
    ("deberta-v2",),
    _deberta,
    {
        "vocab_size": 128100,
        "hidden_size": 1536,
        "num_hidden_layers": 24,
        "num_attention_heads": 24,
        "intermediate_size": 6144,
        "max_position_embeddings": 512,
        "type_vocab_size": 0,
        "hidden_dropout_prob": 0.1,
    },
)
