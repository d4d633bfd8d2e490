"""DeBERTa 2 and 3: relative positions that are projected like tokens."""

from msgspec.structs import replace

from flyball_planner.models.transformer.huggingface.settings import Family, Settings
from flyball_planner.models.transformer.huggingface.usual import encoder
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
    """One table for all layers, with a norm; queries' and keys' products serve it too where they are shared."""
    reach = settings.whole("position_buckets", 0)
    if reach < 1:
        reach = settings.whole("max_relative_positions", 0)
        reach = reach if reach > 0 else settings.whole("max_position_embeddings")
    normed = "layer_norm" in settings.text("norm_rel_ebd", "none")
    own = 0 if settings.flag("share_att_key") else _own_products(settings, hidden)
    return 2 * reach * hidden + (2 * hidden if normed else 0) + own


def _own_products(settings: Settings, hidden: int) -> int:
    """Products of a layer for positions alone, one for each direction that the settings name."""
    kinds = settings.text("pos_att_type").count("c2p") + settings.text("pos_att_type").count("p2c")
    return settings.whole("num_hidden_layers") * kinds * (hidden + 1) * hidden


DEBERTA_V2 = Family(
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
