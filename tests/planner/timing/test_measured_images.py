"""Tests of image networks that are known by their published speed."""

import pytest

from flyball_planner.catalogue.machines import machine
from flyball_planner.layouts.layout import Layouts, ParallelLayout
from flyball_planner.optimizers import find_optimizer
from flyball_planner.precision import PRECISIONS
from flyball_planner.timing.estimate import estimate_step
from flyball_planner.timing.measured_images import measured_network
from flyball_planner.training import Training

BATCH = 128
TRAINING = Training(1, BATCH, find_optimizer("sgd-momentum"), precision=PRECISIONS["fp16-autocast"])


def images_per_second(name: str, side: int, device: str = "RTX 3090", *, planar: bool = False) -> float:
    """Return the estimated rate of training a network on one card."""
    network = measured_network(name, side, planar=planar)
    assert network is not None
    layout = Layouts.of(ParallelLayout(1, micro_batch=BATCH))
    return float(estimate_step(network, TRAINING, layout, machine(device, 1)).samples_per_second[0])


def test_counts_are_the_published_ones() -> None:
    """A network has the published multiplications and parameters, and four times the work at twice the side."""
    network, larger = measured_network("resnest50d", 224), measured_network("resnest50d", 448)
    assert network is not None
    assert larger is not None
    assert network.forward_flops == pytest.approx(2 * 5.4e9, rel=0.02)
    assert network.parameters == pytest.approx(27.48e6, rel=0.01)
    assert larger.forward_flops == pytest.approx(4 * network.forward_flops)


def test_names_of_other_trainings_are_the_same_network() -> None:
    """Prefixes and endings that identify the weights do not change the speed."""
    assert images_per_second("tf_efficientnet_b2_ns", 260) == images_per_second("tf_efficientnet_b2", 260)
    assert measured_network("no_such_network_42", 224) is None


def test_slower_inference_means_slower_training() -> None:
    """A network with as many multiplications but slower kernels trains more slowly; a faster card is faster."""
    assert images_per_second("regnetx_032", 224) != images_per_second("resnest50d", 224)
    assert images_per_second("resnest50d", 224, "RTX 4090") > images_per_second("resnest50d", 224)
