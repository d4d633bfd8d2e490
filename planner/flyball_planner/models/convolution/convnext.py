"""ConvNeXt: a convolutional network built like a transformer."""

from collections.abc import Sequence
from functools import partial

from flyball_planner.models.convolution.composites import Chain, Residual
from flyball_planner.models.convolution.layers import (
    SMOOTH,
    ChannelScale,
    Convolution,
    Flatten,
    Layer,
    Linear,
    NormLayer,
    PoolTo,
)
from flyball_planner.models.convolution.network import Network

SOURCE = "Liu et al., arXiv 2201.03545; as in torchvision"


def _block(width: int) -> Residual:
    spread = Convolution(width, 7, groups=width, bias=True)
    return Residual(Chain((spread, NormLayer(), Linear(4 * width), SMOOTH, Linear(width), ChannelScale())))


def _layers(classes: int, *, widths: Sequence[int], depths: Sequence[int]) -> tuple[Layer, ...]:
    layers: list[Layer] = [Chain((Convolution(widths[0], 4, 4, 0, bias=True), NormLayer()))]
    for stage, (width, depth) in enumerate(zip(widths, depths, strict=True)):
        if stage:
            layers.append(Chain((NormLayer(), Convolution(width, 2, 2, 0, bias=True))))
        layers += [_block(width)] * depth
    return (*layers, Chain((PoolTo(), NormLayer(), Flatten(), Linear(classes))))


def _network(name: str, first: int, *depths: int) -> Network:
    widths = tuple(first * 2**stage for stage in range(len(depths)))
    return Network(name, SOURCE, 224, partial(_layers, widths=widths, depths=depths))


NETWORKS = (
    _network("convnext_tiny", 96, 3, 3, 9, 3),
    _network("convnext_small", 96, 3, 3, 27, 3),
    _network("convnext_base", 128, 3, 3, 27, 3),
    _network("convnext_large", 192, 3, 3, 27, 3),
    _network("convnext_xlarge", 256, 3, 3, 27, 3),
)
