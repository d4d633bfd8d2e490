"""Tests of the time of a forward pass and of generation."""

import pytest
from msgspec.structs import replace

from flyball_planner.catalogue.machines import machine
from flyball_planner.models.families import model_cost
from flyball_planner.models.transformer.named_shapes import named_shape
from flyball_planner.optimizers import find_optimizer
from flyball_planner.timing.forward_pass import forward_seconds, token_seconds
from flyball_planner.training import Training

LLAMA = named_shape("llama-2-7b")
TRAINING = Training(2048, 8, find_optimizer("adamw"))
A100 = machine("A100 SXM4 80GB")


def test_a_forward_pass_is_a_third_of_a_step_or_less() -> None:
    """A long prompt reaches between 30 and 80 % of the peak, as prefills of 7 B models do on an A100."""
    seconds = forward_seconds(LLAMA, TRAINING, A100, 8)
    reached = 8 * 2048 * 2 * 6.7e9 / seconds.middle / 312e12
    assert 0.3 < reached < 0.8
    assert seconds.low < seconds.middle < seconds.high


def test_more_samples_take_longer_but_less_each() -> None:
    """A batch takes longer than one sample, but never longer than its samples one after the other."""
    mlp = model_cost("mlp", {"d_in": 784, "d_out": 10, "layers": [512, 256]})
    plain = replace(TRAINING, sequence=1)
    one, many = (forward_seconds(mlp, plain, A100, samples).middle for samples in (1, 4096))
    assert one <= many < 4096 * one / 10


def test_generation_reads_all_weights_for_each_token() -> None:
    """Llama 2 7B in 16 bits on an A100 80GB: 13.5 GB at 2 TB/s are at most 151 tokens per second; engines reach 104."""
    found = token_seconds(LLAMA, TRAINING, A100, 13.5e9).engine
    assert 70 < 1 / found.middle < 151
    assert 1 / found.high < 104 < 1 / found.low


def test_plain_pytorch_waits_for_its_launches() -> None:
    """Without compilation, Llama 2 7B yields 25.5 tokens per second on an A100; more bytes to read hide launches."""
    found = token_seconds(LLAMA, TRAINING, A100, 13.5e9)
    assert found.seconds.holds(1 / 25.5)
    assert found.seconds.middle > 2 * found.engine.middle
    assert found.limited_by == "kernel launches"
    assert token_seconds(LLAMA, TRAINING, A100, 135e9).limited_by == "memory bandwidth"


def test_a_small_model_generates_as_fast_as_its_kernels_run() -> None:
    """GPT-2's weights are read in 0.2 ms, but its kernels take longer; their launches by PyTorch take 6 to 25 ms."""
    found = token_seconds(named_shape("gpt2"), replace(TRAINING, compiled=True), A100, 0.25e9)
    assert found.limited_by == "kernel launches"
    assert found.engine.middle > 2 * 0.25e9 / 2.039e12
    assert 6e-3 < found.seconds.middle < 25e-3


def test_two_devices_generate_faster_than_one() -> None:
    """Tensor parallelism reads each half of the weights at the same time."""
    one, two = (token_seconds(LLAMA, TRAINING, A100, 13.5e9, tensor=count).engine.middle for count in (1, 2))
    assert one / two == pytest.approx(2, rel=0.15)
