"""Residual networks: ResNet, ResNeXt and wide ResNet."""

from collections.abc import Sequence
from functools import partial

from flyball_planner.models.convolution.composites import Chain, Residual, classifier, convolved
from flyball_planner.models.convolution.layers import RELU, Layer, Pool
from flyball_planner.models.convolution.network import Network

SOURCE = "He et al., arXiv 1512.03385 (v1.5: the stride is in the 3×3); Xie et al., 1611.05431; as in torchvision"
WIDTHS = (64, 128, 256, 512)


def residual_layers(
    classes: int, *, depths: Sequence[int], bottleneck: bool, groups: int = 1, width: int = 64
) -> tuple[Layer, ...]:
    """Return the stem, four stages of residual blocks and the classifier; `width` is a group's width in the first
    stage."""
    layers: list[Layer] = [convolved(64, 7, 2), Pool(3, 2, 1)]
    channels = 64
    for stage, (depth, base) in enumerate(zip(depths, WIDTHS, strict=True)):
        outgoing = base * (4 if bottleneck else 1)
        for position in range(depth):
            stride = 2 if stage and not position else 1
            inner = base * width // 64 * groups
            body = _bottleneck(inner, outgoing, stride, groups) if bottleneck else _basic(outgoing, stride)
            changed = stride != 1 or channels != outgoing
            shortcut = convolved(outgoing, 1, stride, activation=None) if changed else None
            layers.append(Chain((Residual(body, shortcut), RELU)))
            channels = outgoing
    return (*layers, classifier(classes))


def _basic(channels: int, stride: int) -> Chain:
    return Chain((convolved(channels, 3, stride), convolved(channels, activation=None)))


def _bottleneck(inner: int, outgoing: int, stride: int, groups: int) -> Chain:
    return Chain(
        (
            convolved(inner, 1),
            convolved(inner, 3, stride, groups=groups),
            convolved(outgoing, 1, activation=None),
        )
    )


def _network(name: str, *depths: int, bottleneck: bool = True, groups: int = 1, width: int = 64) -> Network:
    layers = partial(residual_layers, depths=depths, bottleneck=bottleneck, groups=groups, width=width)
    return Network(name, SOURCE, 224, layers)


NETWORKS = (
    _network("resnet18", 2, 2, 2, 2, bottleneck=False),
    _network("resnet34", 3, 4, 6, 3, bottleneck=False),
    _network("resnet50", 3, 4, 6, 3),
    _network("resnet101", 3, 4, 23, 3),
    _network("resnet152", 3, 8, 36, 3),
    _network("resnext50_32x4d", 3, 4, 6, 3, groups=32, width=4),
    _network("resnext101_32x8d", 3, 4, 23, 3, groups=32, width=8),
    _network("resnext101_64x4d", 3, 4, 23, 3, groups=64, width=4),
    _network("wide_resnet50_2", 3, 4, 6, 3, width=128),
    _network("wide_resnet101_2", 3, 4, 23, 3, width=128),
)
