"""Tests of single and composite layers: shapes, parameters and products."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flyball_planner.models.convolution.composites import (
    IDENTITY,
    Branches,
    Chain,
    Residual,
    SqueezeExcite,
    convolved,
    divisible,
)
from flyball_planner.models.convolution.layers import (
    RELU,
    SMOOTH,
    Convolution,
    FeatureMap,
    Flatten,
    Linear,
    NormLayer,
    Pool,
)
from flyball_planner.models.families import model_cost

SIZES = st.integers(7, 64)


@given(st.integers(1, 64), SIZES, SIZES, st.integers(1, 32), st.sampled_from([1, 3, 5, 7]), st.integers(1, 3))
def test_a_convolution_applies_its_window_at_each_output(
    channels: int, height: int, width: int, filters: int, kernel: int, stride: int
) -> None:
    """FLOPs are twice the weights times the outputs, and match the shape of the matrix product."""
    piece = Convolution(filters, kernel, stride).cost(FeatureMap(channels, height, width))
    (operator,) = piece.operators
    assert piece.output.height == -(-height // stride)
    assert operator.flops == 2 * piece.parameters * piece.output.height * piece.output.width
    assert operator.flops == pytest.approx(2 * operator.rows * operator.inner * operator.columns)


@given(st.sampled_from([1, 2, 4, 8]))
def test_groups_divide_weights_and_work(groups: int) -> None:
    """A convolution with g groups has 1/g of the weights and of the work, and the same output."""
    ungrouped = Convolution(64).cost(FeatureMap(32, 14, 14))
    grouped = Convolution(64, groups=groups).cost(FeatureMap(32, 14, 14))
    assert grouped.parameters * groups == ungrouped.parameters
    assert grouped.operators[0].flops * groups == ungrouped.operators[0].flops
    assert grouped.output == ungrouped.output


def test_a_bias_has_one_number_per_channel() -> None:
    """The bias of a convolution or a dense layer adds one parameter per output channel."""
    features = FeatureMap(3, 8, 8)
    assert Convolution(5, bias=True).cost(features).parameters == Convolution(5).cost(features).parameters + 5
    assert Linear(5).cost(FeatureMap(7, 1, 1)).parameters == 40
    assert Linear(5, bias=False).cost(FeatureMap(7, 1, 1)).parameters == 35


@pytest.mark.parametrize(("size", "ceiling", "pooled"), [(8, False, 3), (8, True, 4), (7, False, 3), (7, True, 3)])
def test_a_pool_rounds_down_or_up(size: int, ceiling: bool, pooled: int) -> None:
    """A window that extends over the edge counts only with `ceiling`."""
    assert Pool(3, 2, ceiling=ceiling).cost(FeatureMap(1, size, size)).output.height == pooled


def test_relu_keeps_nothing_and_smooth_functions_keep_their_input() -> None:
    """An in-place activation keeps no elements for the backward pass."""
    features = FeatureMap(4, 5, 6)
    assert RELU.cost(features).kept_elements == 0
    assert SMOOTH.cost(features).kept_elements == features.elements == 120


def test_a_chain_is_the_sum_of_its_layers() -> None:
    """Parameters, work and kept activations add up, each layer on the output of the previous one."""
    chain = Chain((Convolution(8), NormLayer(), RELU, Flatten(), Linear(10))).cost(FeatureMap(3, 4, 4))
    assert chain.parameters == 3 * 9 * 8 + 16 + (8 * 16 + 1) * 10
    assert chain.kept_elements == 128 + 128 + 10
    assert (chain.output.channels, chain.output.height) == (10, 1)


def test_branches_concatenate_channels() -> None:
    """The output has the channels of all branches; an identity adds those of the input."""
    piece = Branches((IDENTITY, convolved(5, 1), convolved(7, 3))).cost(FeatureMap(4, 6, 6))
    assert piece.output == FeatureMap(16, 6, 6)


def test_a_residual_has_the_cost_of_body_and_shortcut() -> None:
    """The output has the body's shape; the cost is that of body and shortcut."""
    body, shortcut = convolved(8, 3, 2), convolved(8, 1, 2, activation=None)
    piece = Residual(body, shortcut).cost(FeatureMap(4, 8, 8))
    both = body.cost(FeatureMap(4, 8, 8)).parameters + shortcut.cost(FeatureMap(4, 8, 8)).parameters
    assert (piece.output, piece.parameters) == (FeatureMap(8, 4, 4), both)


def test_squeeze_and_excite_keeps_the_shape() -> None:
    """Both dense layers have biases, and the features keep their shape."""
    piece = SqueezeExcite(2).cost(FeatureMap(8, 5, 5))
    assert piece.output == FeatureMap(8, 5, 5)
    assert piece.parameters == 8 * 2 + 2 + 2 * 8 + 8


@given(st.floats(1, 4000), st.sampled_from([8, 16, 24]))
def test_divisible_widths_are_close_to_the_requested_width(channels: float, divisor: int) -> None:
    """Widths are multiples of the divisor and never more than a tenth below the requested width."""
    width = divisible(channels, divisor)
    assert width % divisor == 0
    assert width >= 0.9 * channels


def test_layers_are_named_by_what_they_return() -> None:
    """A layer of a perceptron has a width, one of an image network channels and positions."""
    widths = [block.name for block in model_cost("mlp", {"d_in": 4, "d_out": 2, "layers": [8]}).blocks]
    assert widths == ["0: width 8", "1: width 2"]
    assert model_cost("resnet50", {}).blocks[0].name == "0: 64×112×112"
