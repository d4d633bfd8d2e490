"""Compare published convolutional networks with the counts of torchvision."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flyball_planner.models.convolution.network import Network
from flyball_planner.models.convolution.published import NETWORKS, find_network, is_variant, published_cost
from flyball_planner.models.cost import OperatorKind
from flyball_reports.errors import InputError, UnknownName

TORCHVISION = (
    ("AlexNet", 224, 61_100_840, 0.714),
    ("ConvNeXt_Tiny", 224, 28_589_128, 4.456),
    ("ConvNeXt_Small", 224, 50_223_688, 8.684),
    ("ConvNeXt_Base", 224, 88_591_464, 15.355),
    ("ConvNeXt_Large", 224, 197_767_336, 34.361),
    ("DenseNet121", 224, 7_978_856, 2.834),
    ("DenseNet161", 224, 28_681_000, 7.728),
    ("DenseNet169", 224, 14_149_480, 3.36),
    ("DenseNet201", 224, 20_013_928, 4.291),
    ("EfficientNet_B0", 224, 5_288_548, 0.386),
    ("EfficientNet_B1", 240, 7_794_184, 0.687),
    ("EfficientNet_B2", 288, 9_109_994, 1.088),
    ("EfficientNet_B3", 300, 12_233_232, 1.827),
    ("EfficientNet_B4", 380, 19_341_616, 4.394),
    ("EfficientNet_B5", 456, 30_389_784, 10.266),
    ("EfficientNet_B6", 528, 43_040_704, 19.068),
    ("EfficientNet_B7", 600, 66_347_960, 37.746),
    ("EfficientNet_V2_S", 384, 21_458_488, 8.366),
    ("EfficientNet_V2_M", 480, 54_139_356, 24.582),
    ("EfficientNet_V2_L", 480, 118_515_272, 56.08),
    ("GoogLeNet", 224, 6_624_904, 1.498),
    ("Inception_V3", 299, 27_161_264, 5.713),
    ("MaxVit_T", 224, 30_919_624, 5.558),
    ("MNASNet0_5", 224, 2_218_512, 0.104),
    ("MNASNet0_75", 224, 3_170_208, 0.215),
    ("MNASNet1_0", 224, 4_383_312, 0.314),
    ("MNASNet1_3", 224, 6_282_256, 0.526),
    ("MobileNet_V3_Large", 224, 5_483_032, 0.217),
    ("MobileNet_V3_Small", 224, 2_542_856, 0.057),
    ("RegNet_Y_400MF", 224, 4_344_144, 0.402),
    ("RegNet_Y_800MF", 224, 6_432_512, 0.834),
    ("RegNet_Y_1_6GF", 224, 11_202_430, 1.612),
    ("RegNet_Y_3_2GF", 224, 19_436_338, 3.176),
    ("RegNet_Y_8GF", 224, 39_381_472, 8.473),
    ("RegNet_Y_16GF", 224, 83_590_140, 15.912),
    ("RegNet_Y_16GF", 384, 83_590_140, 46.735),
    ("RegNet_Y_32GF", 224, 145_046_770, 32.28),
    ("RegNet_Y_32GF", 384, 145_046_770, 94.826),
    ("RegNet_Y_128GF", 384, 644_812_894, 374.57),
    ("RegNet_Y_128GF", 224, 644_812_894, 127.518),
    ("RegNet_X_400MF", 224, 5_495_976, 0.414),
    ("RegNet_X_800MF", 224, 7_259_656, 0.8),
    ("RegNet_X_1_6GF", 224, 9_190_136, 1.603),
    ("RegNet_X_3_2GF", 224, 15_296_552, 3.177),
    ("RegNet_X_8GF", 224, 39_572_648, 7.995),
    ("RegNet_X_16GF", 224, 54_278_536, 15.941),
    ("RegNet_X_32GF", 224, 107_811_560, 31.736),
    ("ResNet18", 224, 11_689_512, 1.814),
    ("ResNet34", 224, 21_797_672, 3.664),
    ("ResNet50", 224, 25_557_032, 4.089),
    ("ResNet101", 224, 44_549_160, 7.801),
    ("ResNet152", 224, 60_192_808, 11.514),
    ("ResNeXt50_32X4D", 224, 25_028_904, 4.23),
    ("ResNeXt101_32X8D", 224, 88_791_336, 16.414),
    ("ResNeXt101_64X4D", 224, 83_455_272, 15.46),
    ("Wide_ResNet50_2", 224, 68_883_240, 11.398),
    ("Wide_ResNet101_2", 224, 126_886_696, 22.753),
    ("ShuffleNet_V2_X0_5", 224, 1_366_792, 0.04),
    ("ShuffleNet_V2_X1_0", 224, 2_278_604, 0.145),
    ("ShuffleNet_V2_X1_5", 224, 3_503_624, 0.296),
    ("ShuffleNet_V2_X2_0", 224, 7_393_996, 0.583),
    ("SqueezeNet1_0", 224, 1_248_424, 0.819),
    ("SqueezeNet1_1", 224, 1_235_496, 0.349),
    ("Swin_T", 224, 28_288_354, 4.491),
    ("Swin_S", 224, 49_606_258, 8.741),
    ("Swin_B", 224, 87_768_224, 15.431),
    ("Swin_V2_T", 256, 28_351_570, 5.94),
    ("Swin_V2_S", 256, 49_737_442, 11.546),
    ("Swin_V2_B", 256, 87_930_848, 20.325),
    ("VGG11", 224, 132_863_336, 7.609),
    ("VGG11_BN", 224, 132_868_840, 7.609),
    ("VGG13", 224, 133_047_848, 11.308),
    ("VGG13_BN", 224, 133_053_736, 11.308),
    ("VGG16", 224, 138_357_544, 15.47),
    ("VGG16_BN", 224, 138_365_992, 15.47),
    ("VGG19", 224, 143_667_240, 19.632),
    ("VGG19_BN", 224, 143_678_248, 19.632),

)  # fmt: skip
"""Name, image size, parameters and GMACs: `num_params` and `_ops` of each weight's meta, torchvision 0.29.1."""

ROUNDING = 0.0005  # of GMACs, printed with three decimals

TIMM_ACTIVATIONS = (
    ("resnet50", 160, 5.67), ("efficientnet_b0", 224, 6.75), ("convnext_tiny", 224, 13.44), ("vgg16", 224, 13.56),
    ("convnext_base", 224, 28.75),
)  # fmt: skip
"""Millions of outputs of convolutions and dense layers, pytorch-image-models results/benchmark-infer-amp."""


@pytest.mark.parametrize(("name", "image", "parameters", "gmacs"), TORCHVISION)
def test_counts_match_torchvision(name: str, image: int, parameters: int, gmacs: float) -> None:
    """Parameters are exact; multiplications are within half a percent or the last printed digit."""
    cost = published_cost(name, image=image)
    assert cost.parameters == parameters
    assert cost.forward_flops / 2e9 == pytest.approx(gmacs, rel=0.005, abs=ROUNDING)


@pytest.mark.parametrize(("name", "image", "millions"), TIMM_ACTIVATIONS)
def test_activations_match_timm(name: str, image: int, millions: float) -> None:
    """The outputs of convolutions and dense layers match an independent count within 1 %."""
    outputs = sum(
        block.repeats * operator.rows * operator.columns
        for block in published_cost(name, image=image).blocks
        for operator in block.operators
        if operator.kind in {OperatorKind.CONVOLUTION, OperatorKind.MATMUL}
    )
    assert outputs / 1e6 == pytest.approx(millions, rel=0.01)


@pytest.mark.parametrize("network", NETWORKS, ids=lambda network: network.name)
def test_every_network_is_found_by_its_name(network: Network) -> None:
    """Each name finds its network, in any case and with the library's prefix."""
    name = network.name
    assert find_network(name) is network
    assert find_network(f"torchvision/{name.upper()}") is network


@pytest.mark.parametrize(
    ("spelling", "name"),
    [
        ("ResNet-50 v1.5", "resnet50"),
        ("timm/mobilenetv3_large_100", "mobilenet_v3_large"),
        ("mobilenetv3_large_100_miil", "mobilenet_v3_large"),
        ("tf_efficientnet_b6_ns", "efficientnet_b6"),
        ("tf_efficientnetv2_s_in21ft1k", "efficientnet_v2_s"),
        ("convnext_small_384_in22ft1k", "convnext_small"),
        ("gluon_resnet18_v1b", "resnet18"),
        ("tv_densenet121", "densenet121"),
        ("swinv2_tiny_window8_256", "swin_v2_t"),
        ("mnasnet_050", "mnasnet0_5"),
        ("RegNetY-16GF", "regnet_y_16gf"),
        ("RegNet_Y_1.6GF", "regnet_y_1_6gf"),
        ("swin_tiny_patch4_window7_224", "swin_t"),
    ],
)
def test_other_spellings_find_the_same_network(spelling: str, name: str) -> None:
    """Spellings of other libraries are found, and 1.6 is not confused with 16."""
    assert find_network(spelling).name == name


def test_an_unknown_network_gets_a_suggestion() -> None:
    """The error for a misspelt name suggests the nearest name."""
    with pytest.raises(UnknownName, match="resnet50"):
        find_network("resnet5o")


def test_an_image_that_is_too_small_is_refused() -> None:
    """If an image is too small for a pool, the error asks for a larger image."""
    with pytest.raises(InputError, match="larger image"):
        published_cost("vgg16", image=8)


@given(st.integers(1, 4), st.integers(1, 2000))
def test_work_grows_with_the_image_and_parameters_do_not(factor: int, classes: int) -> None:
    """A larger image needs more FLOPs; parameters change only with the classes."""
    small = published_cost("resnet18", image=64, classes=classes)
    large = published_cost("resnet18", image=64 * factor, classes=classes)
    assert large.parameters == small.parameters == 11_689_512 - 513 * (1000 - classes)
    assert large.forward_flops >= small.forward_flops


@pytest.mark.parametrize("name", ["resnet50", "swin_t", "densenet121"])
def test_equal_neighbours_are_merged_into_one_block(name: str) -> None:
    """Blocks are fewer than layers, and full checkpointing keeps less than all activations."""
    cost = published_cost(name)
    kept = sum(block.repeats * block.kept_elements for block in cost.blocks)
    boundary = sum(block.repeats * block.boundary_elements for block in cost.blocks)
    assert boundary < kept
    assert all(block.parameters >= 0 and block.repeats >= 1 for block in cost.blocks)


@pytest.mark.parametrize(
    ("name", "variant"),
    [
        ("tf_efficientnet_b0", True),
        ("swinv2_tiny_window8_256", True),
        ("efficientnet_b0", False),
        ("swin_tiny_patch4_window7_224", False),
        ("resnet50d", False),
    ],
)
def test_variants_of_a_network_are_recognised(name: str, variant: bool) -> None:
    """A variant of a known network is recognised; a known or an unknown network is not a variant."""
    assert is_variant(name) is variant
