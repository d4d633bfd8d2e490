"""Tests of the activations that a layer keeps for the backward pass."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flyball_planner.models.transformer.kept_activations import kept_bytes, kept_bytes_per_layer
from flyball_planner.models.transformer.layers import LayerGroup
from flyball_planner.models.transformer.named_shapes import named_shape
from flyball_planner.models.transformer.shape import TransformerKind, TransformerShape
from flyball_planner.training import Attention, Checkpointing

HIDDEN, HEADS = 12_288, 96
GPT3 = TransformerShape(TransformerKind.DECODER, 96, HIDDEN, HEADS, 4 * HIDDEN, 51_200, HEADS, 128, max_positions=2048)
SEQUENCE = 2048
SCORES = 5 * HEADS * SEQUENCE / HIDDEN


@pytest.mark.parametrize(
    ("tensor", "sequence_parallel", "checkpointing", "expected"),
    [
        (1, False, Checkpointing.NONE, 34 + SCORES),
        (8, False, Checkpointing.NONE, 10 + 24 / 8 + SCORES / 8),
        (8, True, Checkpointing.NONE, 34 / 8 + SCORES / 8),
        (8, False, Checkpointing.SELECTIVE, 10 + 24 / 8),
        (8, True, Checkpointing.SELECTIVE, 34 / 8),
        (8, False, Checkpointing.FULL, 2),
    ],
)
def test_kept_bytes_of_a_gpt_match_korthikanti(
    tensor: int, sequence_parallel: bool, checkpointing: Checkpointing, expected: float
) -> None:
    """Bytes per layer, in units of s b h, match Korthikanti et al. 2022, table 2."""
    kept = kept_bytes_per_layer(
        GPT3, SEQUENCE, micro_batch=1, tensor=tensor, sequence_parallel=sequence_parallel, checkpointing=checkpointing,
        attention=Attention.MATERIALISED,
    )  # fmt: skip
    assert kept / (SEQUENCE * HIDDEN) == pytest.approx(expected)


@pytest.mark.parametrize("name", ["llama-3.1-8b", "llama-2-70b", "smollm2-360m"])
def test_a_gated_layer_keeps_the_inputs_of_its_products(name: str) -> None:
    """With flash attention and fused norms a layer keeps s b h (12 + 4 kv/a) + 8 s b f bytes."""
    shape = named_shape(name)
    expected = shape.hidden * (12 + 4 * shape.kv_heads / shape.heads) + 8 * shape.ffn
    assert kept_bytes_per_layer(shape, 1) == pytest.approx(expected)


def test_light_checkpointing_keeps_what_megatrons_modules_leave() -> None:
    """Of an expert layer of DeepSeek-V3, recomputing norms, latent up-projections and experts' activations leaves the
    norms' inputs, compressed attention, its output, a shared expert, and what enters experts and their activation."""
    shape = named_shape("deepseek-v3")
    expert = LayerGroup("expert layer", 58, experts=True, causal=True)
    left = 2 * 7168 + (1536 + 512) + 128 * 128 + 4 * 2048 + 8 * (7168 + 2 * 2048)
    kept = kept_bytes(shape, 1, expert, light=True)
    assert kept.total == 2 * left + 2 * 256 * 4
    narrow = kept_bytes(shape, 1, expert, light=True, input_bytes=1.0)
    saved = 2048 + 8 * 7168 - 128 * 128  # inputs of products; attention also needs its output in 16 bits
    assert kept.total - narrow.total == saved


@pytest.mark.parametrize(
    ("name", "measured"),
    [
        ("smollm2-360m", 24.0),
        ("llama-3.1-8b", 28.0),
        ("mistral-7b-v0.3", 28.0),
        ("gemma-1.1-2b", 48.0),
        ("qwen3-4b", 38.0),
        ("deepseek-r1-0528-qwen3-8b", 29.8),
    ],
)
def test_unfused_norms_keep_the_measured_bytes(name: str, measured: float) -> None:
    """Kept bytes are within 6 % of the measured hidden states per layer (ml-engineering, training/performance)."""
    shape = named_shape(name)
    copies = kept_bytes_per_layer(shape, 1, fused_norms=False) / (2 * shape.hidden)
    assert copies == pytest.approx(measured, rel=0.06)


@given(st.sampled_from(["llama-3.1-8b", "gpt2-xl", "deepseek-v3", "qwen3-30b-a3b"]), st.integers(1, 16))
def test_parallelism_and_checkpointing_never_keep_more(name: str, tensor: int) -> None:
    """Tensor parallelism, sequence parallelism and checkpointing each keep at most as much as without it."""
    shape = named_shape(name)
    kept = [
        kept_bytes_per_layer(shape, 1024),
        kept_bytes_per_layer(shape, 1024, tensor=tensor),
        kept_bytes_per_layer(shape, 1024, tensor=tensor, sequence_parallel=True),
    ]
    assert kept == sorted(kept, reverse=True)
    assert kept_bytes_per_layer(shape, 1024, checkpointing=Checkpointing.FULL) < kept[0]
