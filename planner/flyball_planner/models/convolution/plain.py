"""Networks without shortcuts: AlexNet, VGG, SqueezeNet."""

from collections.abc import Sequence
from functools import partial

from flyball_planner.models.convolution.composites import Branches, Chain
from flyball_planner.models.convolution.layers import (
    RELU,
    Convolution,
    Flatten,
    Layer,
    Linear,
    NormLayer,
    Pool,
    PoolTo,
)
from flyball_planner.models.convolution.network import Network

POOL = "pool"


def _convolution(channels: int, kernel: int, stride: int = 1, padding: int | None = None) -> Chain:
    return Chain((Convolution(channels, kernel, stride, padding, bias=True), RELU))


def _dense(classes: int, positions: int) -> Chain:
    """Return the two wide layers of AlexNet and VGG, which hold most of their parameters."""
    wide = (Linear(4096), RELU)
    return Chain((PoolTo(positions), Flatten(), *wide, *wide, Linear(classes)))


def _alexnet(classes: int) -> tuple[Layer, ...]:
    return (
        _convolution(64, 11, 4, 2), Pool(3, 2),
        _convolution(192, 5), Pool(3, 2),
        _convolution(384, 3), _convolution(256, 3), _convolution(256, 3), Pool(3, 2),
        _dense(classes, 6),
    )  # fmt: skip


def _vgg(classes: int, *, stages: Sequence[int], normalised: bool) -> tuple[Layer, ...]:
    layers: list[Layer] = []
    for channels, depth in zip((64, 128, 256, 512, 512), stages, strict=True):
        norm = (NormLayer(),) if normalised else ()
        layers += [Chain((Convolution(channels, bias=True), *norm, RELU))] * depth
        layers.append(Pool(2, 2))
    return (*layers, _dense(classes, 7))


def _fire(squeezed: int, expanded: int) -> Chain:
    return Chain((_convolution(squeezed, 1), Branches((_convolution(expanded, 1), _convolution(expanded, 3)))))


def _squeezenet(classes: int, *, first: Layer, fires: Sequence[tuple[int, int] | str]) -> tuple[Layer, ...]:
    pool = Pool(3, 2, ceiling=True)
    middle = (pool if isinstance(fire, str) else _fire(*fire) for fire in fires)
    return (first, pool, *middle, _convolution(classes, 1), PoolTo(), Flatten())


_FIRES = ((16, 64), (16, 64), (32, 128), (32, 128), (48, 192), (48, 192), (64, 256), (64, 256))
_VGG = {"vgg11": (1, 1, 2, 2, 2), "vgg13": (2, 2, 2, 2, 2), "vgg16": (2, 2, 3, 3, 3), "vgg19": (2, 2, 4, 4, 4)}
_VGG_SOURCE = "Simonyan and Zisserman, arXiv 1409.1556; as in torchvision"
_SQUEEZE_SOURCE = "Iandola et al., arXiv 1602.07360; as in torchvision"

NETWORKS = (
    Network("alexnet", "Krizhevsky, arXiv 1404.5997; as in torchvision", 224, _alexnet),
    *(Network(name, _VGG_SOURCE, 224, partial(_vgg, stages=stages, normalised=False)) for name, stages in _VGG.items()),
    *(
        Network(f"{name}_bn", _VGG_SOURCE, 224, partial(_vgg, stages=stages, normalised=True))
        for name, stages in _VGG.items()
    ),
    Network("squeezenet1_0", _SQUEEZE_SOURCE, 224, partial(
        _squeezenet, first=_convolution(96, 7, 2, 0), fires=(*_FIRES[:3], POOL, *_FIRES[3:7], POOL, *_FIRES[7:]))),
    Network("squeezenet1_1", _SQUEEZE_SOURCE, 224, partial(
        _squeezenet, first=_convolution(64, 3, 2, 0), fires=(*_FIRES[:2], POOL, *_FIRES[2:4], POOL, *_FIRES[4:]))),
)  # fmt: skip
