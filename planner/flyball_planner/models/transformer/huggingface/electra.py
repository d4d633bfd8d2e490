"""ELECTRA: a BERT with narrow embeddings that detects replaced words."""

from msgspec.structs import replace

from flyball_planner.models.transformer.huggingface.common import encoder
from flyball_planner.models.transformer.huggingface.settings import ConfigFamily, Settings
from flyball_planner.models.transformer.shape import Head, TransformerShape


def _electra(settings: Settings) -> TransformerShape:
    shape = encoder(settings)
    narrow = settings.count("embedding_size")
    shape = replace(shape, embedding_dim=0 if narrow == shape.hidden else narrow)
    if settings.architecture == "ForPreTraining":  # a square product, and one score per word
        return replace(shape, head=Head.LABELS, labels=1, pooler=True)
    return replace(shape, pooler=settings.architecture == "ForSequenceClassification")


ELECTRA = ConfigFamily(
    ("electra",),
    _electra,
    {
        "vocab_size": 30522,
        "embedding_size": 128,
        "hidden_size": 256,
        "num_hidden_layers": 12,
        "num_attention_heads": 4,
        "intermediate_size": 1024,
        "max_position_embeddings": 512,
        "type_vocab_size": 2,
        "hidden_dropout_prob": 0.1,
    },
)
