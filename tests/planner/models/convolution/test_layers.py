"""Single layers and those made of layers: shapes, parameters, products."""

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
from flyball_planner.models.convolution.layers import RELU, SMOOTH, Convolution, Flatten, Linear, Map, Norm, Pool

SIZES = st.integers(7, 64)


@given(st.integers(1, 64), SIZES, SIZES, st.integers(1, 32), st.sampled_from([1, 3, 5, 7]), st.integers(1, 3))
def test_a_convolution_costs_its_window_at_each_output(
    channels: int, height: int, width: int, filters: int, kernel: int, stride: int
) -> None:
    """FLOPs are twice the weights times the outputs, and equal those of the product's shape."""
    piece = Convolution(filters, kernel, stride).cost(Map(channels, height, width))
    (operator,) = piece.operators
    assert piece.output.height == -(-height // stride)
    assert operator.flops == 2 * piece.parameters * piece.output.height * piece.output.width
    assert operator.flops == pytest.approx(2 * operator.rows * operator.inner * operator.columns)


@given(st.sampled_from([1, 2, 4, 8]))
def test_groups_divide_weights_and_work(groups: int) -> None:
    """A grouped convolution has a share of the weights and the same outputs."""
    whole = Convolution(64).cost(Map(32, 14, 14))
    grouped = Convolution(64, groups=groups).cost(Map(32, 14, 14))
    assert grouped.parameters * groups == whole.parameters
    assert grouped.operators[0].flops * groups == whole.operators[0].flops
    assert grouped.output == whole.output


def test_a_bias_is_one_number_a_channel() -> None:
    """A convolution's and a dense layer's bias add their width."""
    given_map = Map(3, 8, 8)
    assert Convolution(5, bias=True).cost(given_map).parameters == Convolution(5).cost(given_map).parameters + 5
    assert Linear(5).cost(Map(7, 1, 1)).parameters == 40
    assert Linear(5, bias=False).cost(Map(7, 1, 1)).parameters == 35


@pytest.mark.parametrize(("size", "ceiling", "pooled"), [(8, False, 3), (8, True, 4), (7, False, 3), (7, True, 3)])
def test_a_pool_rounds_as_asked(size: int, ceiling: bool, pooled: int) -> None:
    """A window over the edge counts only where the ceiling is asked for."""
    assert Pool(3, 2, ceiling=ceiling).cost(Map(1, size, size)).output.height == pooled


def test_relu_overwrites_and_smooth_functions_keep() -> None:
    """An activation in place keeps nothing of its own for the backward pass."""
    features = Map(4, 5, 6)
    assert RELU.cost(features).kept_elements == 0
    assert SMOOTH.cost(features).kept_elements == features.elements == 120


def test_a_chain_is_the_sum_of_its_links() -> None:
    """Parameters, work and kept activations add up, each over what came before."""
    chain = Chain((Convolution(8), Norm(), RELU, Flatten(), Linear(10))).cost(Map(3, 4, 4))
    assert chain.parameters == 3 * 9 * 8 + 16 + (8 * 16 + 1) * 10
    assert chain.kept_elements == 128 + 128 + 10
    assert (chain.output.channels, chain.output.height) == (10, 1)


def test_branches_put_channels_side_by_side() -> None:
    """The joined features have all channels; an identity adds its own."""
    piece = Branches((IDENTITY, convolved(5, 1), convolved(7, 3))).cost(Map(4, 6, 6))
    assert piece.output == Map(16, 6, 6)


def test_a_residual_keeps_its_shape_and_adds_its_shortcut() -> None:
    """The output is the body's, the cost both ways'."""
    body, shortcut = convolved(8, 3, 2), convolved(8, 1, 2, activation=None)
    piece = Residual(body, shortcut).cost(Map(4, 8, 8))
    alone = body.cost(Map(4, 8, 8)).parameters + shortcut.cost(Map(4, 8, 8)).parameters
    assert (piece.output, piece.parameters) == (Map(8, 4, 4), alone)


def test_squeeze_and_excite_weighs_channels() -> None:
    """Its two small products have biases, and the features keep their shape."""
    piece = SqueezeExcite(2).cost(Map(8, 5, 5))
    assert piece.output == Map(8, 5, 5)
    assert piece.parameters == 8 * 2 + 2 + 2 * 8 + 8


@given(st.floats(1, 4000), st.sampled_from([8, 16, 24]))
def test_divisible_widths_are_near_and_divisible(channels: float, divisor: int) -> None:
    """Widths are multiples, never more than a tenth below what was asked."""
    width = divisible(channels, divisor)
    assert width % divisor == 0
    assert width >= 0.9 * channels
