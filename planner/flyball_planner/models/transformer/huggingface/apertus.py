"""Apertus and Arcee: feed-forward blocks without a gate."""

from msgspec.structs import replace

from flyball_planner.models.transformer.huggingface.common import decoder
from flyball_planner.models.transformer.huggingface.llama import LLAMA_7B
from flyball_planner.models.transformer.huggingface.settings import ConfigFamily, Settings
from flyball_planner.models.transformer.shape import TransformerShape

XIELU_PARAMETERS = 2  # learned slopes of the activation function xIELU (arXiv 2411.13010)


def _apertus(settings: Settings) -> TransformerShape:
    return replace(_arcee(settings), query_key_norm=True, other_layer_parameters=XIELU_PARAMETERS)


def _arcee(settings: Settings) -> TransformerShape:
    return replace(decoder(settings), gated=False)


APERTUS = ConfigFamily(("apertus",), _apertus, {**LLAMA_7B, "vocab_size": 131072, "intermediate_size": 14336})
ARCEE = ConfigFamily(("arcee",), _arcee, {**LLAMA_7B, "hidden_size": 2560, "intermediate_size": 18432})
