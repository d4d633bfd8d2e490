"""Compare parameter counts with formulas and with the counts of model authors."""

import pytest

from flyball_planner.models.transformer.counts import parameters
from flyball_planner.models.transformer.named_shapes import named_shape
from flyball_planner.models.transformer.shape import TransformerKind, TransformerShape


def gpt(layers: int, hidden: int, vocab: int, positions: int) -> TransformerShape:
    """Return a GPT with learned positions, all biases and a tied output."""
    return TransformerShape(
        kind=TransformerKind.DECODER,
        layers=layers,
        hidden=hidden,
        heads=hidden // 64,
        ffn=4 * hidden,
        vocab=vocab,
        kv_heads=hidden // 64,
        head_dim=64,
        max_positions=positions,
    )


@pytest.mark.parametrize(("layers", "hidden", "vocab", "positions"), [(48, 1600, 50257, 1024), (24, 2048, 50368, 8192)])
def test_a_gpt_follows_its_formula(layers: int, hidden: int, vocab: int, positions: int) -> None:
    """A GPT has V h + s h + L (12 h² + 13 h) + 2 h parameters."""
    formula = vocab * hidden + positions * hidden + layers * (12 * hidden**2 + 13 * hidden) + 2 * hidden
    assert parameters(gpt(layers, hidden, vocab, positions)).total == formula


@pytest.mark.parametrize(("name", "total", "active"), [("mixtral-8x7b", 46.7e9, 12.9e9), ("deepseek-v3", 671e9, 37e9)])
def test_a_token_uses_only_some_experts(name: str, total: float, active: float) -> None:
    """Total and active parameters match the figures of the models' authors."""
    counts = parameters(named_shape(name))
    assert counts.total == pytest.approx(total, rel=0.005)
    assert counts.active == pytest.approx(active, rel=0.02)


@pytest.mark.parametrize("name", ["albert-base-v2", "gpt2", "t5-small", "mixtral-8x7b", "vit-base-patch16-224"])
def test_parts_add_up(name: str) -> None:
    """Every parameter is counted in exactly one part."""
    counts = parameters(named_shape(name))
    outside = counts.embedding + counts.positions + counts.embedding_norm + counts.final_norm + counts.output
    assert counts.total == outside + counts.other + counts.in_layers


def test_an_untied_input_table_is_not_multiplied() -> None:
    """A lookup table does not count in 6 N, unless the output is tied to it."""
    untied, tied = parameters(named_shape("llama-3.1-8b")), parameters(named_shape("llama-3.2-1b"))
    assert untied.in_products == untied.total - 128_256 * 4096
    assert tied.in_products == tied.total
