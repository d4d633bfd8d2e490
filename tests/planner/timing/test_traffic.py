"""Tests of the bytes that a transformer's layers move outside of their products."""

import numpy as np
import pytest
from msgspec.structs import replace

from flyball_planner.layouts.layout import Layouts, ParallelLayout
from flyball_planner.models.transformer.shape import Experts, TransformerKind, TransformerShape
from flyball_planner.optimizers import find_optimizer
from flyball_planner.precision import PRECISIONS
from flyball_planner.timing.traffic import (
    BIASED_PASSES,
    GATED_PASSES,
    LOCAL_EXPERT_LAUNCHES,
    attention_bytes,
    cast_bytes,
    copied_bytes,
    launches,
    moved_bytes,
    softmax_bytes,
)
from flyball_planner.training import Attention, Training

WIDTH = 2.0  # bytes of a number in 16 bits
GPT = TransformerShape(TransformerKind.DECODER, 24, 2048, 16, 8192, 50304, 16, 128)
TRAINING = Training(1024, 64, find_optimizer("adamw"), framework="megatron")
MATERIALISED = replace(TRAINING, attention=Attention.MATERIALISED)


def softmax(training: Training, shape: TransformerShape = GPT, micro_batch: int = 4) -> float:
    """Return the bytes that kernels between attention's products move in one micro-batch on one device."""
    return float(softmax_bytes(shape, training, Layouts.of(ParallelLayout(micro_batch=micro_batch)), WIDTH)[0])


@pytest.mark.parametrize(("precision", "bytes_each"), [("bf16", 0.0), ("fp16", 0.0), ("fp8", 4.0), ("fp4", 5.0)])
def test_casts_to_narrow_formats_move_bytes(precision: str, bytes_each: float) -> None:
    """A cast to 8 bits reads two bytes and writes one byte twice; for 4 bits the scale needs a second read."""
    found = cast_bytes(np.array([1e6]), replace(TRAINING, precision=PRECISIONS[precision]))
    assert found[0] == pytest.approx(1e6 * bytes_each)


def test_each_active_expert_has_a_copy_of_a_token() -> None:
    """Each token is copied to all of its experts in all layers; tensor-parallel ranks share the copies."""
    layouts = Layouts.of(ParallelLayout(8, micro_batch=4), ParallelLayout(8, micro_batch=4, tensor=2))
    found = copied_bytes(replace(GPT, experts=Experts(count=8, active=2, ffn=4096)), TRAINING, layouts, WIDTH)
    assert found.tolist() == [copies := 2 * GPT.layers * 4 * TRAINING.sequence * GPT.hidden * WIDTH, copies / 2]
    assert copied_bytes(GPT, TRAINING, layouts, WIDTH).tolist() == [0.0, 0.0]


def test_biases_of_experts_have_kernels_of_their_own() -> None:
    """Experts with biases and clamps move more between their products than gated experts without."""
    plain = replace(GPT, gated=True, experts=Experts(count=8, active=2, ffn=4096))
    biased = replace(plain, experts=Experts(count=8, active=2, ffn=4096, bias=True))
    layouts = Layouts.of(ParallelLayout(micro_batch=4))
    more = moved_bytes(biased, TRAINING, layouts, WIDTH)[0] - moved_bytes(plain, TRAINING, layouts, WIDTH)[0]
    widths = 2 * 4096 * GPT.layers * 4 * TRAINING.sequence * WIDTH
    assert more == pytest.approx((BIASED_PASSES - GATED_PASSES) * widths)


def test_each_expert_with_tokens_starts_kernels() -> None:
    """A device starts kernels for those of its experts that have tokens: at most as many as there are copies."""
    shape = replace(GPT, experts=Experts(count=64, active=2, ffn=4096))
    layouts = Layouts.of(ParallelLayout(8, micro_batch=4), ParallelLayout(8, micro_batch=4, expert=8))
    all_held, eighth = launches(shape, TRAINING, layouts)
    assert all_held - eighth == pytest.approx(24 * LOCAL_EXPERT_LAUNCHES * (64 - 8))
    few = launches(shape, replace(TRAINING, sequence=1), Layouts.of(ParallelLayout(micro_batch=4)))[0]
    assert all_held - few == pytest.approx(24 * LOCAL_EXPERT_LAUNCHES * (64 - 4 * 2))


def test_unfused_softmax_kernels_move_more_bytes() -> None:
    """Megatron's fused softmax moves the least, PyTorch more, and Megatron without the fused kernel the most."""
    shape = replace(GPT, heads=18, kv_heads=18)  # the fused kernel needs a multiple of four
    fused = softmax(MATERIALISED, shape, micro_batch=2) / 2
    eager = softmax(replace(MATERIALISED, framework="pytorch"), shape, micro_batch=1)
    unfused = softmax(MATERIALISED, shape, micro_batch=1)
    assert 0 == softmax(TRAINING, shape) < fused < eager < unfused


def test_flash_attention_does_not_write_its_scores() -> None:
    """Materialised scores are written by one product and read by the other."""
    layouts = Layouts.of(ParallelLayout(micro_batch=4))
    assert attention_bytes(GPT, TRAINING, layouts, WIDTH)[0] == 0
    scores = 24 * 4 * 16 * 1024**2
    assert attention_bytes(GPT, MATERIALISED, layouts, WIDTH)[0] == pytest.approx(2 * WIDTH * scores)
