"""Tests of image networks that are known by their published speed."""

import pytest

from flyball_planner.catalogue.machines import machine
from flyball_planner.layouts.layout import Layouts, ParallelLayout
from flyball_planner.models.cost import ModelCost
from flyball_planner.optimizers import find_optimizer
from flyball_planner.precision import PRECISIONS
from flyball_planner.timing.estimate import estimate_step
from flyball_planner.timing.measured_images import has_fixed_groups, measured_network, trained_passes
from flyball_planner.training import Training

BATCH = 128
TRAINING = Training(1, BATCH, find_optimizer("sgd-momentum"), precision=PRECISIONS["fp16-autocast"])


def images_per_second(name: str, side: int, device: str = "RTX 3090", *, planar: bool = False) -> float:
    """Return the estimated rate of training a network on one card."""
    network = measured_network(name, side, planar=planar)
    assert network is not None
    layout = Layouts.of(ParallelLayout(1, micro_batch=BATCH))
    return float(estimate_step(network, TRAINING, layout, machine(device, 1)).samples_per_second[0])


def moved_bytes(network: ModelCost) -> float:
    """Return the bytes that the forward pass moves."""
    return sum(block.repeats * each.moved_bytes for block in network.blocks for each in block.operators)


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


def test_old_versions_have_their_own_speeds() -> None:
    """PyTorch 1.13 took more than twice as long for TResNet with channels last as with channels first, 2.4 does not."""

    def ratio(*, old: bool) -> float:
        last, first = (measured_network("tresnet_l", 224, planar=planar, old=old) for planar in (False, True))
        assert last is not None
        assert first is not None
        return moved_bytes(last) / moved_bytes(first)

    assert ratio(old=True) > 2
    assert ratio(old=False) < 1


def test_a_network_of_the_old_table_alone_is_known() -> None:
    """A network that newer tables lack is estimated by its speed with PyTorch 1.13."""
    old, other = measured_network("tresnet_l_448", 448, old=True), measured_network("tresnet_l_448", 448)
    assert old is not None
    assert old == other


def test_training_moves_more_than_inference_where_it_has_more_to_read() -> None:
    """Batch normalisation, depthwise convolutions and conversions of channels first add traffic; layer norms do not."""
    vision = trained_passes("vit_base_patch16_224", planar=False)
    assert vision == trained_passes("vit_base_patch16_224", planar=True)
    assert vision < trained_passes("resnet50d", planar=False) < trained_passes("resnet50d", planar=True)
    assert trained_passes("mobilenetv3_large_100", planar=False) > trained_passes("resnet50d", planar=False)


def test_wide_groups_alone_were_slow_with_channels_last() -> None:
    """Networks with groups of more than 16 channels were slow before PyTorch 2; narrow groups and none were not."""
    assert has_fixed_groups("regnety_040")
    assert has_fixed_groups("nfnet_f0")
    assert not any(map(has_fixed_groups, ("nf_regnet_b5", "regnetz_e8", "res2net50_26w_4s", "regnetx_002")))
    usual, slow = (measured_network("regnety_040", 224, old=True, slow_groups=slow) for slow in (False, True))
    assert usual is not None
    assert slow is not None
    assert moved_bytes(slow) > 1.5 * moved_bytes(usual)


def test_slower_inference_means_slower_training() -> None:
    """A network with as many multiplications but slower kernels trains more slowly; a faster card is faster."""
    assert images_per_second("regnetx_032", 224) != images_per_second("resnest50d", 224)
    assert images_per_second("resnest50d", 224, "RTX 4090") > images_per_second("resnest50d", 224)
