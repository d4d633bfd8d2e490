"""Tests of the bytes that a transformer's layers move outside of their products."""

import numpy as np
import pytest
from msgspec.structs import replace

from flyball_planner.layouts.layout import Layouts, ParallelLayout
from flyball_planner.models.transformer.shape import Experts, TransformerKind, TransformerShape
from flyball_planner.optimizers import find_optimizer
from flyball_planner.precision import PRECISIONS
from flyball_planner.timing.traffic import EXPERT_PASSES, attention_bytes, cast_bytes, moved_bytes
from flyball_planner.training import Attention, Training

WIDTH = 2.0  # bytes of a number in 16 bits
GPT = TransformerShape(TransformerKind.DECODER, 24, 2048, 16, 8192, 50304, 16, 128)
TRAINING = Training(1024, 64, find_optimizer("adamw"), framework="megatron")
MATERIALISED = replace(TRAINING, attention=Attention.MATERIALISED)


def moved(training: Training = TRAINING, shape: TransformerShape = GPT, micro_batch: int = 4) -> float:
    """Return the bytes of one micro-batch on one device."""
    return float(moved_bytes(shape, training, Layouts.of(ParallelLayout(micro_batch=micro_batch)), WIDTH)[0])


@pytest.mark.parametrize(("precision", "bytes_each"), [("bf16", 0.0), ("fp16", 0.0), ("fp8", 4.0), ("fp4", 5.0)])
def test_casts_to_narrow_formats_move_bytes(precision: str, bytes_each: float) -> None:
    """A cast to 8 bits reads two bytes and writes one byte twice; for 4 bits the scale needs a second read."""
    found = cast_bytes(np.array([1e6]), replace(TRAINING, precision=PRECISIONS[precision]))
    assert found[0] == pytest.approx(1e6 * bytes_each)


def test_each_active_expert_moves_a_copy_of_a_token() -> None:
    """Twice as many active experts of half the width need the same FLOPs and move twice as many copies."""
    two = replace(GPT, experts=Experts(count=8, active=2, ffn=4096))
    four = replace(GPT, experts=Experts(count=8, active=4, ffn=2048))
    copies = 2 * GPT.layers * 4 * TRAINING.sequence
    assert moved(shape=four) - moved(shape=two) == pytest.approx(copies * EXPERT_PASSES * GPT.hidden * WIDTH)


def test_unfused_softmax_kernels_move_more_bytes() -> None:
    """Megatron's fused softmax moves the least, PyTorch more, and Megatron without the fused kernel the most."""
    shape = replace(GPT, heads=18, kv_heads=18)  # the fused kernel needs a multiple of four
    fused = moved(MATERIALISED, shape, micro_batch=2) / 2
    eager = moved(replace(MATERIALISED, framework="pytorch"), shape, micro_batch=1)
    unfused = moved(MATERIALISED, shape, micro_batch=1)
    assert fused < eager < unfused


def test_flash_attention_does_not_write_its_scores() -> None:
    """Materialised scores are written by one product and read by the other."""
    layouts = Layouts.of(ParallelLayout(micro_batch=4))
    assert attention_bytes(GPT, TRAINING, layouts, WIDTH)[0] == 0
    scores = 24 * 4 * 16 * 1024**2
    assert attention_bytes(GPT, MATERIALISED, layouts, WIDTH)[0] == pytest.approx(2 * WIDTH * scores)
