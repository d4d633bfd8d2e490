"""Tests of networks given as a list of layers."""

import pytest

from flyball_planner.models.convolution.published import published_cost
from flyball_planner.models.families import model_cost
from flyball_planner.models.specification import UnfitKey

BASIC = [
    {"conv": 64, "bias": False}, "norm", "relu", {"conv": 64, "bias": False}, "norm",
]  # fmt: skip


def test_a_listed_network_costs_the_same_as_the_published_one() -> None:
    """The first stage of ResNet-18, given as a list, has the parameters and FLOPs of the published network."""
    stem = [{"conv": 64, "kernel": 7, "stride": 2, "padding": 3, "bias": False}, "norm", "relu"]
    residual = {"residual": BASIC}
    listed = model_cost("cnn", {"layers": [*stem, {"pool": 3, "stride": 2, "padding": 1}, residual, "relu"]})
    published = published_cost("resnet18").blocks
    first = published[0].parameters + published[2].parameters
    assert listed.parameters == first
    assert listed.forward_flops == sum(operator.flops for block in published[:3] for operator in block.operators)


def test_a_shortcut_can_be_listed() -> None:
    """A residual's shortcut is a second list of layers."""
    with_shortcut = {"residual": [{"conv": 8}], "shortcut": [{"conv": 8, "kernel": 1, "bias": False}]}
    cost = model_cost("cnn", {"layers": [with_shortcut], "image": 8})
    assert cost.parameters == 3 * 9 * 8 + 8 + 3 * 8


@pytest.mark.parametrize(
    ("layers", "message"),
    [
        (["relo"], "layer 1: unknown layer 'relo'.*did you mean 'relu'"),
        (["relu", {"convv": 3}], "layer 2: unknown layer 'convv'.*did you mean 'conv'"),
        ([{"conv": 0}], "layer 1: .*>= 1"),
        ([{"conv": 8, "kernal": 3}], "kernal.*keys conv, kernel"),
        ([{"residual": ["norn"]}], "did you mean 'norm'"),
        ([], "1 to 2,000"),
    ],
)
def test_mistakes_are_reported_with_their_position(layers: list[object], message: str) -> None:
    """An unknown layer or an unknown key of a layer is reported with its position."""
    with pytest.raises(UnfitKey, match=message):
        model_cost("cnn", {"layers": layers})


def test_nesting_of_layers_is_limited() -> None:
    """A list that is nested too deeply is refused."""
    nested: list[object] = ["relu"]
    for _ in range(50):
        nested = [{"residual": nested}]
    with pytest.raises(UnfitKey, match="nested too deeply"):
        model_cost("cnn", {"layers": nested})
