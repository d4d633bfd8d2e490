"""Tests of the host's work once a step, which limits small models."""

import math

import pytest

from flyball_planner.catalogue.machines import machine
from flyball_planner.layouts.layout import Layouts, ParallelLayout
from flyball_planner.models.families import model_cost
from flyball_planner.models.transformer.named_shapes import named_shape
from flyball_planner.optimizers import find_optimizer
from flyball_planner.precision import PRECISIONS
from flyball_planner.timing.coefficients import fitted
from flyball_planner.timing.estimate import StepEstimate, estimate_step
from flyball_planner.timing.work_builder import build_work
from flyball_planner.training import Training

BATCH = 64
DEVICES = ("RTX 3060", "CPU_8C_3.5Ghz_baseline")


def step(widths: list[int], optimizer: str = "adamw", device: str = "RTX 3060") -> StepEstimate:
    """Return the estimated step of a perceptron."""
    network = model_cost("mlp", {"d_in": 784, "d_out": 10, "layers": widths})
    training = Training(1, BATCH, find_optimizer(optimizer), precision=PRECISIONS["fp32"])
    return estimate_step(network, training, Layouts.of(ParallelLayout(1, micro_batch=BATCH)), machine(device, 1))


def test_a_small_perceptron_has_less_than_a_millisecond_of_overhead() -> None:
    """Three hidden layers cost a few launches, not the fixed milliseconds of a language model."""
    for device in DEVICES:
        found = step([512, 256, 128], device=device).parts
        assert found.fixed[0] + found.launch[0] < 1e-3


@pytest.mark.parametrize("device", DEVICES)
def test_each_layer_and_moment_costs_the_host(device: str) -> None:
    """The fixed part grows with the layers and with the optimizer's moments."""
    shallow, deep = step([16], device=device).parts.fixed[0], step([16] * 16, device=device).parts.fixed[0]
    plain, momentum = (step([16] * 16, name, device).parts.fixed[0] for name in ("sgd", "sgd-momentum"))
    assert shallow < deep
    assert plain < momentum < deep


@pytest.mark.parametrize("optimizer", ["adamw-8bit", "adamw-bf16", "adamw-paged", "adafactor"])
def test_states_in_other_formats_cost_as_many_calls(optimizer: str) -> None:
    """Moments in 8 or 16 bits save memory, not calls of the host: only SGD has fewer."""
    usual, other, none = (step([16] * 16, name).parts.fixed[0] for name in ("adamw", optimizer, "sgd"))
    assert none < other == usual


def test_deep_networks_have_the_overhead_of_language_models() -> None:
    """A perceptron of 150 layers has as many tensors as the language models to which the coefficient was fitted."""
    usual = float(dict(zip(fitted().names, fitted().middle, strict=True))["fixed"])
    assert step([16] * 149).parts.fixed[0] == pytest.approx(math.exp(usual), rel=0.01)


@pytest.mark.parametrize(
    ("widths", "batch", "optimizer", "measured"),
    [([64, 64], 64, "adamw", 508e-6), ([16] * 16, 8, "adamw", 1808e-6), ([16] * 4, 8, "sgd", 307e-6)],
)
def test_measured_perceptrons_are_within_the_interval(
    widths: list[int], batch: int, optimizer: str, measured: float
) -> None:
    """Steps measured with PyTorch 2.13 on one core of an x86 processor lie in the interval of the estimate."""
    network = model_cost("mlp", {"d_in": widths[0], "d_out": 10, "layers": widths})
    training = Training(1, batch, find_optimizer(optimizer), precision=PRECISIONS["fp32"])
    layouts = Layouts.of(ParallelLayout(1, micro_batch=batch))
    found = estimate_step(network, training, layouts, machine("CPU_8C_3.5Ghz_baseline", 1))
    assert found.low[0] < measured < found.high[0]


def test_a_transformers_operators_cost_less_without_a_driver() -> None:
    """A processor calls its operators itself, so each costs a fraction of a kernel launch."""
    shape = named_shape("gpt2")
    training = Training(128, 8, find_optimizer("adamw"), precision=PRECISIONS["fp32"])
    on_gpu, on_processor = (
        build_work(shape, training, Layouts.of(ParallelLayout(1)), machine(device, 1)) for device in DEVICES
    )
    assert on_processor.body.launches[0] < 0.5 * on_gpu.body.launches[0]
    assert on_processor.head.launches[0] < 0.5 * on_gpu.head.launches[0]


def test_channels_first_costs_conversions_in_16_bits() -> None:
    """Channels first move more bytes in 16 bits, and as many in fp32."""
    seconds = {}
    for name in ("fp16-autocast", "fp32"):
        for last in (False, True):
            network = model_cost("resnet50", {"channels_last": last})
            training = Training(1, BATCH, find_optimizer("sgd-momentum"), precision=PRECISIONS[name])
            layouts = Layouts.of(ParallelLayout(1, micro_batch=BATCH))
            seconds[name, last] = estimate_step(network, training, layouts, machine("RTX 3090", 1)).middle[0]
    assert seconds["fp16-autocast", False] > 1.05 * seconds["fp16-autocast", True]
    assert seconds["fp32", False] == seconds["fp32", True]
