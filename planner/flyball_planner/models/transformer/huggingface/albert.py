"""ALBERT: narrow embeddings, and one layer that is applied repeatedly."""

from msgspec.structs import replace

from flyball_planner.models.transformer.huggingface.bert import POOLED
from flyball_planner.models.transformer.huggingface.common import encoder
from flyball_planner.models.transformer.huggingface.settings import ConfigFamily, Settings
from flyball_planner.models.transformer.shape import TransformerShape


def _albert(settings: Settings) -> TransformerShape:
    architecture = settings.architecture
    return replace(
        encoder(settings),
        embedding_dim=settings.count("embedding_size"),
        shared_layers=True,
        pooler=architecture in POOLED,
    )


ALBERT = ConfigFamily(
    ("albert",),
    _albert,
    {
        "vocab_size": 30000,
        "embedding_size": 128,
        "hidden_size": 4096,
        "num_hidden_layers": 12,
        "num_attention_heads": 64,
        "intermediate_size": 16384,
        "max_position_embeddings": 512,
        "type_vocab_size": 2,
    },
)
