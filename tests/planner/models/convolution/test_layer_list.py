"""Networks from a list that a person wrote."""

import pytest

from flyball_planner.models.convolution.published import published_cost
from flyball_planner.models.families import model_cost
from flyball_planner.models.specification import UnfitKey

BASIC = [
    {"conv": 64, "bias": False}, "norm", "relu", {"conv": 64, "bias": False}, "norm",
]  # fmt: skip


def test_a_written_network_costs_what_the_built_one_does() -> None:
    """The first stage of ResNet-18, written by hand, has the blocks of the published one."""
    stem = [{"conv": 64, "kernel": 7, "stride": 2, "padding": 3, "bias": False}, "norm", "relu"]
    residual = {"residual": BASIC}
    written = model_cost("cnn", {"layers": [*stem, {"pool": 3, "stride": 2, "padding": 1}, residual, "relu"]})
    published = published_cost("resnet18").blocks
    first = published[0].parameters + published[2].parameters
    assert written.parameters == first
    assert written.forward_flops == sum(operator.flops for block in published[:3] for operator in block.operators)


def test_a_shortcut_may_be_written_too() -> None:
    """A residual's shortcut is a list of its own."""
    with_shortcut = {"residual": [{"conv": 8}], "shortcut": [{"conv": 8, "kernel": 1, "bias": False}]}
    cost = model_cost("cnn", {"layers": [with_shortcut], "image": 8})
    assert cost.parameters == 3 * 9 * 8 + 8 + 3 * 8


@pytest.mark.parametrize(
    ("layers", "message"),
    [
        (["relo"], "layer 1 is 'relo'.*did you mean 'relu'"),
        (["relu", {"convv": 3}], "layer 2 is 'convv'.*did you mean 'conv'"),
        ([{"conv": 0}], "layer 1: .*>= 1"),
        ([{"conv": 8, "kernal": 3}], "kernal.*keys conv, kernel"),
        ([{"residual": ["norn"]}], "did you mean 'norm'"),
        ([], "1 to 2,000"),
    ],
)
def test_mistakes_are_told_with_their_place(layers: list[object], message: str) -> None:
    """A layer that is none, or a key that it has not, is named with its position."""
    with pytest.raises(UnfitKey, match=message):
        model_cost("cnn", {"layers": layers})


def test_layers_within_layers_have_an_end() -> None:
    """A list that was nested without end is refused, not followed."""
    nested: list[object] = ["relu"]
    for _ in range(50):
        nested = [{"residual": nested}]
    with pytest.raises(UnfitKey, match="nested too deeply"):
        model_cost("cnn", {"layers": nested})
