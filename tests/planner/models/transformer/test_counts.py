"""Parameters, counted by hand and by the libraries that instantiate them."""

import pytest

from flyball_planner.models.transformer.counts import parameters
from flyball_planner.models.transformer.named import named_shape
from flyball_planner.models.transformer.shape import Kind, TransformerShape


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


@pytest.mark.parametrize(("layers", "hidden", "vocab", "positions"), [(48, 1600, 50257, 1024), (24, 2048, 50368, 8192)])
def test_a_gpt_follows_its_formula(layers: int, hidden: int, vocab: int, positions: int) -> None:
    """A GPT has V h + s h + L (12 h² + 13 h) + 2 h parameters."""
    formula = vocab * hidden + positions * hidden + layers * (12 * hidden**2 + 13 * hidden) + 2 * hidden
    assert parameters(gpt(layers, hidden, vocab, positions)).total == formula


@pytest.mark.parametrize(("name", "total", "active"), [("mixtral-8x7b", 46.7e9, 12.9e9), ("deepseek-v3", 671e9, 37e9)])
def test_a_token_passes_some_experts_only(name: str, total: float, active: float) -> None:
    """Total and active parameters are those that the models' makers print, to their digits."""
    counts = parameters(named_shape(name))
    assert counts.total == pytest.approx(total, rel=0.005)
    assert counts.active == pytest.approx(active, rel=0.02)


@pytest.mark.parametrize("name", ["albert-base-v2", "gpt2", "t5-small", "mixtral-8x7b", "vit-base-patch16-224"])
def test_places_add_up(name: str) -> None:
    """Every parameter stands in exactly one place."""
    counts = parameters(named_shape(name))
    around = counts.embedding + counts.positions + counts.embedding_norm + counts.final_norm + counts.output
    assert counts.total == around + counts.other + counts.in_layers


def test_an_input_table_alone_multiplies_nothing() -> None:
    """What is looked up is no part of 6 N, unless the output multiplies with it."""
    untied, tied = parameters(named_shape("llama-3.1-8b")), parameters(named_shape("llama-3.2-1b"))
    assert untied.in_products == untied.total - 128_256 * 4096
    assert tied.in_products == tied.total
