"""Densely connected networks: each layer takes the output of all previous layers."""

from collections.abc import Sequence
from functools import partial

from flyball_planner.models.convolution.composites import IDENTITY, Branches, Chain, classifier, convolved
from flyball_planner.models.convolution.layers import RELU, Convolution, Layer, NormLayer, Pool
from flyball_planner.models.convolution.network import Network

SOURCE = "Huang et al., arXiv 1608.06993; as in torchvision"
WIDENING = 4  # by the product before each 3×3


def _dense_layer(growth: int) -> Branches:
    grown = Chain((NormLayer(), RELU, convolved(WIDENING * growth, 1), Convolution(growth)))
    return Branches((IDENTITY, grown))


def _layers(classes: int, *, growth: int, first: int, depths: Sequence[int]) -> tuple[Layer, ...]:
    layers: list[Layer] = [convolved(first, 7, 2), Pool(3, 2, 1)]
    channels = first
    for stage, depth in enumerate(depths):
        layers += [_dense_layer(growth)] * depth
        channels += growth * depth
        if stage < len(depths) - 1:
            channels //= 2
            layers.append(Chain((NormLayer(), RELU, Convolution(channels, 1), Pool(2, 2))))
    return (*layers, Chain((NormLayer(), RELU)), classifier(classes))


def _network(name: str, growth: int, first: int, *depths: int) -> Network:
    return Network(name, SOURCE, 224, partial(_layers, growth=growth, first=first, depths=depths))


NETWORKS = (
    _network("densenet121", 32, 64, 6, 12, 24, 16),
    _network("densenet161", 48, 96, 6, 12, 36, 24),
    _network("densenet169", 32, 64, 6, 12, 32, 32),
    _network("densenet201", 32, 64, 6, 12, 48, 32),
)
