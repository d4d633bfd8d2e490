"""DistilBERT: half of BERT's layers, without types and pooler."""

from msgspec.structs import replace

from flyball_planner.models.transformer.huggingface.common import encoder
from flyball_planner.models.transformer.huggingface.settings import ConfigFamily, Settings
from flyball_planner.models.transformer.shape import TransformerShape


def _distilbert(settings: Settings) -> TransformerShape:
    return replace(encoder(settings), pooler=settings.architecture == "ForSequenceClassification")


DISTILBERT = ConfigFamily(
    ("distilbert",),
    _distilbert,
    {
        "vocab_size": 30522,
        "hidden_size": 768,
        "num_hidden_layers": 6,
        "num_attention_heads": 12,
        "intermediate_size": 3072,
        "max_position_embeddings": 512,
        "dropout": 0.1,
    },
    {
        "dim": "hidden_size",
        "n_layers": "num_hidden_layers",
        "n_heads": "num_attention_heads",
        "hidden_dim": "intermediate_size",
    },
)
