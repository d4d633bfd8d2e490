"""BERT, RoBERTa and MPNet."""

from msgspec.structs import replace

from flyball_planner.models.transformer.huggingface.common import encoder
from flyball_planner.models.transformer.huggingface.settings import ConfigFamily, Settings
from flyball_planner.models.transformer.shape import TransformerShape

POOLED = frozenset({"Model", "ForPreTraining", "ForSequenceClassification"})
"""Heads with a pooled first token."""


def _bert(settings: Settings) -> TransformerShape:
    return replace(encoder(settings), pooler=settings.architecture in POOLED)


def _mpnet(settings: Settings) -> TransformerShape:
    """Return the shape; relative positions are a table in addition to the learned ones."""
    shape = _bert(settings)
    table = settings.integer("relative_attention_num_buckets") * shape.heads
    return replace(shape, other_parameters=table)


BERT_BASE = {
    "vocab_size": 30522,
    "hidden_size": 768,
    "num_hidden_layers": 12,
    "num_attention_heads": 12,
    "intermediate_size": 3072,
    "max_position_embeddings": 512,
    "type_vocab_size": 2,
    "hidden_dropout_prob": 0.1,
}

BERT = ConfigFamily(("bert",), _bert, BERT_BASE)
ROBERTA = ConfigFamily(("roberta",), _bert, {**BERT_BASE, "vocab_size": 50265})
XLM_ROBERTA = ConfigFamily(("xlm-roberta", "camembert"), _bert, BERT_BASE)
MPNET = ConfigFamily(
    ("mpnet",),
    _mpnet,
    {**BERT_BASE, "vocab_size": 30527, "type_vocab_size": 0, "relative_attention_num_buckets": 32},
)
