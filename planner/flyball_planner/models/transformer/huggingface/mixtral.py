"""Mixtral, Phi-3.5-MoE and Granite with experts: experts in every layer."""

from msgspec.structs import replace

from flyball_planner.models.transformer.huggingface.common import decoder
from flyball_planner.models.transformer.huggingface.settings import ConfigFamily, Settings
from flyball_planner.models.transformer.shape import Experts, Head, NormKind, TransformerShape


def _mixtral(settings: Settings) -> TransformerShape:
    shape = decoder(settings)
    return replace(shape, experts=_experts(settings, shape.ffn))


def _experts(settings: Settings, width: int) -> Experts:
    return Experts(settings.count("num_local_experts"), settings.count("num_experts_per_tok"), width)


def _granitemoe(settings: Settings) -> TransformerShape:
    shape, shared = decoder(settings), settings.integer("shared_intermediate_size", 0)
    experts = replace(_experts(settings, shape.ffn), shared=int(shared > 0), shared_ffn=shared)
    return replace(shape, experts=experts)


def _phimoe(settings: Settings) -> TransformerShape:
    shape = _mixtral(settings)
    biased = shape.output_bias or (shape.head is Head.LANGUAGE_MODEL and settings.flag("lm_head_bias"))
    return replace(shape, norm=NormKind.LAYER, output_bias=biased)


MIXTRAL_8X7B = {
    "vocab_size": 32000,
    "hidden_size": 4096,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "intermediate_size": 14336,
    "num_local_experts": 8,
    "num_experts_per_tok": 2,
    "tie_word_embeddings": False,
}

MIXTRAL = ConfigFamily(("mixtral",), _mixtral, MIXTRAL_8X7B)
PHIMOE = ConfigFamily(
    ("phimoe",),
    _phimoe,
    {**MIXTRAL_8X7B, "vocab_size": 32064, "intermediate_size": 6400, "num_local_experts": 16},
)
GRANITE_MOE = ConfigFamily(
    ("granitemoe", "granitemoeshared"),
    _granitemoe,
    {**MIXTRAL_8X7B, "num_key_value_heads": 32, "intermediate_size": 11008},
)
