"""Parameters, counted by hand and by the libraries that instantiate them."""

import pytest

from flyball_planner.models.transformer.counts import parameters
from flyball_planner.models.transformer.shape import Experts, Head, Kind, Norm, TransformerShape


def gpt(layers: int, hidden: int, vocab: int, positions: int) -> TransformerShape:
    """A GPT with learned positions, all biases and a tied output."""
    return TransformerShape(
        kind=Kind.DECODER,
        layers=layers,
        hidden=hidden,
        heads=hidden // 64,
        ffn=4 * hidden,
        vocab=vocab,
        kv_heads=hidden // 64,
        head_dim=64,
        max_positions=positions,
    )


LLAMA = {"kind": Kind.DECODER, "gated": True, "norm": Norm.RMS, "qkv_bias": False, "attention_output_bias": False}


@pytest.mark.parametrize(("layers", "hidden", "vocab", "positions"), [(48, 1600, 50257, 1024), (24, 2048, 50368, 8192)])
def test_a_gpt_follows_its_formula(layers: int, hidden: int, vocab: int, positions: int) -> None:
    """A GPT has V h + s h + L (12 h² + 13 h) + 2 h parameters."""
    formula = vocab * hidden + positions * hidden + layers * (12 * hidden**2 + 13 * hidden) + 2 * hidden
    assert parameters(gpt(layers, hidden, vocab, positions)).total == formula
