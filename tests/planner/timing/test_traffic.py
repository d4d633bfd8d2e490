"""Tests of what a transformer's layers move beside their products."""

import numpy as np
import pytest
from msgspec.structs import replace

from flyball_planner.layouts.columns import Layout, Layouts
from flyball_planner.models.transformer.shape import Experts, Kind, TransformerShape
from flyball_planner.optimizers import find_optimizer
from flyball_planner.precision import PRECISIONS
from flyball_planner.timing.traffic import EXPERT_PASSES, attention_bytes, cast_bytes, moved_bytes
from flyball_planner.training import Attention, Training

WIDTH = 2.0  # bytes of a number in 16 bits
GPT = TransformerShape(Kind.DECODER, 24, 2048, 16, 8192, 50304, 16, 128)
TRAINING = Training(1024, 64, find_optimizer("adamw"), framework="megatron")
MATERIALISED = replace(TRAINING, attention=Attention.MATERIALISED)


def moved(training: Training = TRAINING, shape: TransformerShape = GPT, micro_batch: int = 4) -> float:
    """Bytes of one micro-batch on one device."""
    return float(moved_bytes(shape, training, Layouts.of(Layout(micro_batch=micro_batch)), WIDTH)[0])


@pytest.mark.parametrize(("precision", "bytes_each"), [("bf16", 0.0), ("fp16", 0.0), ("fp8", 4.0), ("fp4", 5.0)])
def test_numbers_are_made_narrow_before_products(precision: str, bytes_each: float) -> None:
    """Eight bits cost a read of two bytes and two writes of one; four bits are read twice, once for their scale."""
    found = cast_bytes(np.array([1e6]), replace(TRAINING, precision=PRECISIONS[precision]))
    assert found[0] == pytest.approx(1e6 * bytes_each)


def test_each_expert_of_a_token_moves_a_copy_of_it() -> None:
    """Twice as many experts a token, each half as wide, multiply as much and move twice as many copies."""
    two = replace(GPT, experts=Experts(count=8, active=2, ffn=4096))
    four = replace(GPT, experts=Experts(count=8, active=4, ffn=2048))
    copies = 2 * GPT.layers * 4 * TRAINING.sequence
    assert moved(shape=four) - moved(shape=two) == pytest.approx(copies * EXPERT_PASSES * GPT.hidden * WIDTH)


def test_scores_are_passed_over_as_often_as_their_kernels_are_apart() -> None:
    """Least by Megatron's fused softmax, more by PyTorch's kernels, most where Megatron's does not apply."""
    shape = replace(GPT, heads=18, kv_heads=18)  # of one sample no multiple of four, of two a multiple
    fused = moved(MATERIALISED, shape, micro_batch=2) / 2
    eager = moved(replace(MATERIALISED, framework="pytorch"), shape, micro_batch=1)
    apart = moved(MATERIALISED, shape, micro_batch=1)
    assert fused < eager < apart


def test_flash_attention_never_writes_its_scores() -> None:
    """Materialised ones are written by one product and read by the other."""
    layouts = Layouts.of(Layout(micro_batch=4))
    assert attention_bytes(GPT, TRAINING, layouts, WIDTH)[0] == 0
    scores = 24 * 4 * 16 * 1024**2
    assert attention_bytes(GPT, MATERIALISED, layouts, WIDTH)[0] == pytest.approx(2 * WIDTH * scores)
