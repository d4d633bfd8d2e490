"""Swin transformers: attention within windows of features that shrink as in a convolutional network."""

from collections.abc import Sequence
from functools import partial

from msgspec import Struct

from flyball_planner.models.convolution.composites import Chain, Residual, classifier
from flyball_planner.models.convolution.layers import (
    NUMBER_BYTES,
    SMOOTH,
    Convolution,
    FeatureMap,
    Layer,
    LayerCost,
    Linear,
    NormLayer,
)
from flyball_planner.models.convolution.network import Network
from flyball_planner.models.cost import Operator, OperatorKind

SOURCE = "Liu et al., arXiv 2103.14030 and 2111.09883; as in torchvision"
BIAS_WIDTH = 512  # hidden width of version 2's position network


class WindowAttention(Struct, frozen=True):
    """Scores and their product with the values within windows; the products around them are separate layers."""

    window: int
    heads: int
    second_version: bool

    def cost(self, given: FeatureMap) -> LayerCost:
        """Return the cost; `given` holds queries, keys and values side by side."""
        channels, positions = given.channels // 3, self.window**2
        windows = -(-given.height // self.window) * -(-given.width // self.window)  # with padding at the edge
        scores = windows * self.heads * positions**2
        output = FeatureMap(channels, given.height, given.width)
        operator = Operator(
            "window attention",
            OperatorKind.ATTENTION,
            flops=4.0 * windows * positions**2 * channels,
            moved_bytes=NUMBER_BYTES * (given.elements + 4 * scores + output.elements),
            rows=float(windows * positions * self.heads),
            inner=channels / self.heads,
            columns=float(positions),
        )
        positions_network = self._positions()
        return LayerCost(
            output,
            positions_network.parameters,
            (*positions_network.operators, operator),
            2.0 * scores + output.elements,  # scores after softmax, and with bias before it
        )

    def _positions(self) -> LayerCost:
        """Return a learned table of relative positions, or in version 2 a small network that computes it."""
        offsets = (2 * self.window - 1) ** 2
        if not self.second_version:
            return LayerCost(FeatureMap(self.heads, 1, 1), offsets * self.heads)
        network = Chain((Linear(BIAS_WIDTH), Linear(self.heads, bias=False))).cost(FeatureMap(2, offsets, 1))
        return LayerCost(network.output, network.parameters + self.heads, network.operators)  # plus one scale per head


class Merge(Struct, frozen=True):
    """Merges four neighbouring positions into one with four times the channels."""

    def cost(self, given: FeatureMap) -> LayerCost:
        """Return one copy."""
        output = FeatureMap(4 * given.channels, -(-given.height // 2), -(-given.width // 2))
        moved = Operator("merge", OperatorKind.ELEMENTWISE, 0.0, NUMBER_BYTES * 2 * output.elements)
        return LayerCost(output, 0, (moved,), output.elements)


def _block(width: int, window: int, heads: int, *, second: bool) -> Chain:
    attention = (Linear(3 * width), WindowAttention(window, heads, second), Linear(width))
    feed_forward = (Linear(4 * width), SMOOTH, Linear(width))
    if second:
        return Chain((Residual(Chain((*attention, NormLayer()))), Residual(Chain((*feed_forward, NormLayer())))))
    return Chain((Residual(Chain((NormLayer(), *attention))), Residual(Chain((NormLayer(), *feed_forward)))))


def _merging(width: int, *, second: bool) -> Chain:
    reduction = Linear(width, bias=False)
    return Chain((Merge(), reduction, NormLayer()) if second else (Merge(), NormLayer(), reduction))


def _layers(classes: int, *, first: int, depths: Sequence[int], window: int, second: bool) -> tuple[Layer, ...]:
    layers: list[Layer] = [Chain((Convolution(first, 4, 4, 0, bias=True), NormLayer()))]
    for stage, depth in enumerate(depths):
        width = first * 2**stage
        if stage:
            layers.append(_merging(width, second=second))
        layers += [_block(width, window, width // 32, second=second)] * depth
    return (*layers, NormLayer(), classifier(classes))


def _network(name: str, first: int, *depths: int, second: bool = False) -> Network:
    window, image = (8, 256) if second else (7, 224)
    return Network(name, SOURCE, image, partial(_layers, first=first, depths=depths, window=window, second=second))


NETWORKS = (
    _network("swin_t", 96, 2, 2, 6, 2),
    _network("swin_s", 96, 2, 2, 18, 2),
    _network("swin_b", 128, 2, 2, 18, 2),
    _network("swin_v2_t", 96, 2, 2, 6, 2, second=True),
    _network("swin_v2_s", 96, 2, 2, 18, 2, second=True),
    _network("swin_v2_b", 128, 2, 2, 18, 2, second=True),
)
