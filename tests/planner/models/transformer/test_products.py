"""Tests of the operators of a forward pass."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flyball_planner.models.cost import OperatorKind
from flyball_planner.models.transformer.cost import transformer_cost
from flyball_planner.models.transformer.counts import parameters
from flyball_planner.models.transformer.flops import flops_by_parameters, forward_flops, training_flops, utilisation
from flyball_planner.models.transformer.layers import layer_groups
from flyball_planner.models.transformer.named_shapes import named_shape
from flyball_planner.models.transformer.products import attended_tokens, operators
from flyball_planner.models.transformer.shape import TransformerKind, TransformerShape
from flyball_planner.training import Checkpointing


def gpt(layers: int, hidden: int, heads: int, vocab: int) -> TransformerShape:
    """Return a GPT without learned positions, which no product uses."""
    head_dim = hidden // heads
    return TransformerShape(TransformerKind.DECODER, layers, hidden, heads, 4 * hidden, vocab, heads, head_dim)


sizes = st.builds(
    lambda layers, heads, head_dim, vocab: gpt(layers, heads * head_dim, heads, vocab),
    st.integers(1, 100),
    st.integers(1, 64),
    st.sampled_from([64, 80, 128]),
    st.integers(1_000, 200_000),
)


@given(sizes, st.integers(1, 65_536))
def test_training_flops_follow_the_published_formulas(shape: TransformerShape, sequence: int) -> None:
    """A GPT takes 72 s L h² (1 + s/6h + V/12Lh), and 96 s L h² (1 + s/6h + V/16Lh) with full recomputation."""
    layers, hidden, vocab = shape.layers, shape.hidden, shape.vocab
    once = sequence * layers * hidden**2
    plain = 72 * once * (1 + sequence / (6 * hidden) + vocab / (12 * layers * hidden))
    again = 96 * once * (1 + sequence / (6 * hidden) + vocab / (16 * layers * hidden))
    assert training_flops(shape, sequence) == pytest.approx(plain)
    assert training_flops(shape, sequence, Checkpointing.FULL) == pytest.approx(again)


@pytest.mark.parametrize(
    ("layers", "hidden", "heads", "devices", "batch", "seconds", "printed"),
    [
        (48, 6144, 64, 8, 4, 1.10, 0.415),
        (96, 12288, 96, 64, 64, 13.75, 0.514),
        (105, 20480, 128, 280, 280, 37.83, 0.560),
        (128, 25600, 160, 512, 512, 71.49, 0.563),
    ],
)
def test_utilisation_matches_korthikanti(
    layers: int, hidden: int, heads: int, devices: int, batch: int, seconds: float, printed: float
) -> None:
    """Model FLOPs of Korthikanti et al. 2022, tables 3 and 5, give the published utilisation of A100s within 0.5 %."""
    flops = training_flops(gpt(layers, hidden, heads, 51_200), 2048)
    assert utilisation(flops, batch / seconds, devices, 312e12) == pytest.approx(printed, rel=0.005)


def test_utilisation_matches_mosaicml() -> None:
    """MPT-70B on 64 A100s at 12.8291 samples/s: 53.33 % is published (llm-foundry, training benchmarks)."""
    shape = gpt(80, 8192, 64, 50_368)
    flops = flops_by_parameters(shape, 64_862_437_376, 2048)
    assert utilisation(flops, 12.8291, 64, 312e12) == pytest.approx(0.5333, rel=0.001)


@given(sizes, st.integers(1, 8192))
def test_the_cost_is_the_sum_of_the_operators(shape: TransformerShape, sequence: int) -> None:
    """A model's cost has the FLOPs and parameters of its operators and blocks."""
    cost = transformer_cost(shape, sequence)
    assert cost.forward_flops == pytest.approx(forward_flops(shape, sequence))
    assert cost.parameters == sum(block.repeats * block.parameters for block in cost.blocks)


@pytest.mark.parametrize(
    "name", ["llama-3.1-8b", "mixtral-8x7b", "deepseek-v3", "t5-base", "bert-base", "qwen3-30b-a3b"]
)
def test_products_multiply_all_weights(name: str) -> None:
    """Weights times rows per token, summed over the matrix products, give the weights active for one token."""
    shape, sequence = named_shape(name), 1024
    counts = {each.name: each for each in parameters(shape).layers}
    for group in layer_groups(shape):
        products = [each for each in operators(shape, sequence, group) if each.kind is OperatorKind.MATMUL]
        multiplied = sum(each.times * each.rows * each.inner * each.columns for each in products) / sequence
        other = counts[group.name].norms + counts[group.name].other
        assert multiplied == pytest.approx(counts[group.name].active - other, rel=1e-3)


@pytest.mark.parametrize(
    ("name", "gmacs"), [("vit-base-patch16-224", 17.564), ("vit-l-16", 61.555), ("vit-base-patch32-224", 4.409)]
)
def test_image_costs_match_torchvision(name: str, gmacs: float) -> None:
    """Multiplications of vision transformers match the metadata of torchvision's weights (`_ops`)."""
    assert forward_flops(named_shape(name), 0) / 2e9 == pytest.approx(gmacs, rel=0.001)


@given(st.integers(1, 100_000), st.integers(0, 100_000), st.integers(0, 6))
def test_a_window_never_adds_work(sequence: int, window: int, every: int) -> None:
    """A query attends to at most the whole sequence, and a causal one to fewer tokens."""
    shape = TransformerShape(
        TransformerKind.DECODER, 2, 64, 1, 256, 100, 1, 64, sliding_window=window, full_attention_every=every
    )  # fmt: skip
    everything = attended_tokens(shape, sequence, causal=False)
    rounded = sequence * (1 + 1e-12)  # a mean over the layers may exceed it by the last bit
    assert 0 < attended_tokens(shape, sequence, causal=True) <= everything <= rounded
