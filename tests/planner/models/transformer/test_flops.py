"""Tests of the FLOPs of trainings by the weights that are trained."""

import pytest

from flyball_planner.models.transformer.added_weights import added_parameters
from flyball_planner.models.transformer.flops import flops_of_sample, forward_flops, training_flops
from flyball_planner.models.transformer.named_shapes import named_shape
from flyball_planner.optimizers import find_optimizer
from flyball_planner.training import Checkpointing, Lora, Method, Training

LLAMA = named_shape("llama-2-7b")


def training(method: Method, sequence: int = 128) -> Training:
    """Return a training with rank 8 on queries and values."""
    return Training(sequence, 8, find_optimizer("adamw"), method=method, lora=Lora(8, ("q", "v")))


def test_frozen_weights_need_two_thirds_of_the_flops() -> None:
    """Of products over a short sequence LoRA computes 4 FLOPs per weight and token, full training 6."""
    full, lora = (flops_of_sample(LLAMA, training(each)) for each in (Method.FULL, Method.LORA))
    assert full == training_flops(LLAMA, 128)
    assert lora / full == pytest.approx(2 / 3, rel=0.01)


def test_attention_has_both_gradients_though_weights_are_frozen() -> None:
    """Attention itself, the part that grows with the square of the length, counts three times for both."""
    excess = [
        flops_of_sample(LLAMA, training(each, 8192)) - 64 * flops_of_sample(LLAMA, training(each, 128))
        for each in (Method.FULL, Method.LORA)
    ]
    assert excess[0] == pytest.approx(excess[1], rel=1e-6)


def test_additions_count_with_all_their_gradients() -> None:
    """LoRA's products cost 6 FLOPs per added weight and token; IA3 only multiplies elements."""
    lora, scaled = training(Method.LORA), training(Method.IA3)
    difference = flops_of_sample(LLAMA, lora) - flops_of_sample(LLAMA, scaled)
    assert difference == pytest.approx(6 * 128 * added_parameters(LLAMA, lora))


def test_recomputation_adds_a_forward_pass_of_the_layers() -> None:
    """Full checkpointing adds the same to frozen products as to trained ones, and the additions once more."""
    added = [
        flops_of_sample(LLAMA, training(each), Checkpointing.FULL) - flops_of_sample(LLAMA, training(each))
        for each in (Method.FULL, Method.LORA)
    ]
    assert added[0] < forward_flops(LLAMA, 128)
    assert added[1] - added[0] == pytest.approx(2 * 128 * added_parameters(LLAMA, training(Method.LORA)))
