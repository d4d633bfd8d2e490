"""Networks for mobile devices: MobileNet v2 and v3, MNASNet, ShuffleNet v2."""

from collections.abc import Sequence
from functools import partial

from flyball_planner.models.convolution.composites import (
    IDENTITY,
    Branches,
    Chain,
    Half,
    Residual,
    SqueezeExcite,
    classifier,
    convolved,
    divisible,
)
from flyball_planner.models.convolution.layers import (
    RELU,
    SMOOTH,
    Activation,
    Flatten,
    Layer,
    Linear,
    Pool,
    PoolTo,
)
from flyball_planner.models.convolution.network import Network


def inverted(
    given: int,
    expanded: int,
    outgoing: int,
    kernel: int,
    stride: int,
    *,
    squeezed: int = 0,
    activation: Activation = RELU,
    gate: Activation = RELU,
) -> Layer:
    """Return an inverted residual: widened, convolved depthwise, optionally squeezed, narrowed, with a shortcut if
    possible."""
    layers: list[Layer] = [] if expanded == given else [convolved(expanded, 1, activation=activation)]
    layers.append(convolved(expanded, kernel, stride, groups=expanded, activation=activation))
    if squeezed:
        layers.append(SqueezeExcite(squeezed, gate))
    layers.append(convolved(outgoing, 1, activation=None))
    body = Chain(tuple(layers))
    return Residual(body) if stride == 1 and given == outgoing else body


def _mobilenet_v2(classes: int) -> tuple[Layer, ...]:
    """Return MobileNet v2. Rows: widening, channels, depth, stride (Sandler et al., arXiv 1801.04381, table 2)."""
    rows = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1))
    layers: list[Layer] = [convolved(32, 3, 2)]
    given = 32
    for widening, outgoing, depth, stride in rows:
        for position in range(depth):
            layers.append(inverted(given, given * widening, outgoing, 3, 1 if position else stride))
            given = outgoing
    return (*layers, convolved(1280, 1), classifier(classes))


_Row = tuple[int, int, int, bool, bool, int]  # kernel, widened, channels, squeezed, hard swish, stride

_V3_LARGE: tuple[_Row, ...] = (
    (3, 16, 16, False, False, 1), (3, 64, 24, False, False, 2), (3, 72, 24, False, False, 1),
    (5, 72, 40, True, False, 2), (5, 120, 40, True, False, 1), (5, 120, 40, True, False, 1),
    (3, 240, 80, False, True, 2), (3, 200, 80, False, True, 1), (3, 184, 80, False, True, 1),
    (3, 184, 80, False, True, 1), (3, 480, 112, True, True, 1), (3, 672, 112, True, True, 1),
    (5, 672, 160, True, True, 2), (5, 960, 160, True, True, 1), (5, 960, 160, True, True, 1),
)  # fmt: skip
_V3_SMALL: tuple[_Row, ...] = (
    (3, 16, 16, True, False, 2), (3, 72, 24, False, False, 2), (3, 88, 24, False, False, 1),
    (5, 96, 40, True, True, 2), (5, 240, 40, True, True, 1), (5, 240, 40, True, True, 1),
    (5, 120, 48, True, True, 1), (5, 144, 48, True, True, 1), (5, 288, 96, True, True, 2),
    (5, 576, 96, True, True, 1), (5, 576, 96, True, True, 1),
)  # fmt: skip


def _mobilenet_v3(classes: int, *, rows: Sequence[_Row], last: int) -> tuple[Layer, ...]:
    """Return MobileNet v3. Rows are tables 1 and 2 of Howard et al., arXiv 1905.02244."""
    layers: list[Layer] = [convolved(16, 3, 2, activation=SMOOTH)]
    given = 16
    for kernel, widened, outgoing, squeezed, swish, stride in rows:
        width = divisible(widened // 4) if squeezed else 0
        activation = SMOOTH if swish else RELU
        layers.append(inverted(given, widened, outgoing, kernel, stride, squeezed=width, activation=activation))
        given = outgoing
    top = Chain((PoolTo(), Flatten(), Linear(last), SMOOTH, Linear(classes)))
    return (*layers, convolved(6 * given, 1, activation=SMOOTH), top)


_MNAS_ROWS = (
    (24, 3, 2, 3, 3), (40, 5, 2, 3, 3), (80, 5, 2, 6, 3), (96, 3, 1, 6, 2), (192, 5, 2, 6, 4), (320, 3, 1, 6, 1),
)  # fmt: skip
"""Channels, kernel, stride, widening, depth (Tan et al., arXiv 1807.11626, B1)."""


def _mnasnet(classes: int, *, width: float) -> tuple[Layer, ...]:
    """Return the B1 network with scaled widths."""
    first, given = divisible(32 * width), divisible(16 * width)
    layers: list[Layer] = [
        convolved(first, 3, 2),
        Chain((convolved(first, groups=first), convolved(given, 1, activation=None))),
    ]
    for channels, kernel, stride, widening, depth in _MNAS_ROWS:
        outgoing = divisible(channels * width)
        for position in range(depth):
            layers.append(inverted(given, given * widening, outgoing, kernel, 1 if position else stride))
            given = outgoing
    return (*layers, convolved(1280, 1), classifier(classes))


def _shuffle_unit(given: int, outgoing: int, stride: int) -> Branches:
    half = outgoing // 2
    worked = Chain(
        (
            convolved(half, 1),
            convolved(half, 3, stride, groups=half, activation=None),
            convolved(half, 1),
        )
    )
    if stride == 1:
        return Branches((Half(IDENTITY), Half(worked)))
    beside = Chain((convolved(given, 3, stride, groups=given, activation=None), convolved(half, 1)))
    return Branches((beside, worked))


def _shufflenet(classes: int, *, widths: Sequence[int]) -> tuple[Layer, ...]:
    """Return stages of 4, 8 and 4 units (Ma et al., arXiv 1807.11164, table 5)."""
    layers: list[Layer] = [Chain((convolved(widths[0], 3, 2), Pool(3, 2, 1)))]
    given = widths[0]
    for depth, outgoing in zip((4, 8, 4), widths[1:4], strict=True):
        for position in range(depth):
            layers.append(_shuffle_unit(given, outgoing, 1 if position else 2))
            given = outgoing
    return (*layers, convolved(widths[4], 1), classifier(classes))


_SHUFFLE_WIDTHS = {
    "shufflenet_v2_x0_5": (24, 48, 96, 192, 1024),
    "shufflenet_v2_x1_0": (24, 116, 232, 464, 1024),
    "shufflenet_v2_x1_5": (24, 176, 352, 704, 1024),
    "shufflenet_v2_x2_0": (24, 244, 488, 976, 2048),
}
_MNAS_WIDTHS = {"mnasnet0_5": 0.5, "mnasnet0_75": 0.75, "mnasnet1_0": 1.0, "mnasnet1_3": 1.3}

NETWORKS = (
    Network("mobilenet_v2", "Sandler et al., arXiv 1801.04381; as in torchvision", 224, _mobilenet_v2),
    Network("mobilenet_v3_large", "Howard et al., arXiv 1905.02244; as in torchvision", 224,
            partial(_mobilenet_v3, rows=_V3_LARGE, last=1280)),
    Network("mobilenet_v3_small", "Howard et al., arXiv 1905.02244; as in torchvision", 224,
            partial(_mobilenet_v3, rows=_V3_SMALL, last=1024)),
    *(Network(name, "Tan et al., arXiv 1807.11626; as in torchvision", 224, partial(_mnasnet, width=width))
      for name, width in _MNAS_WIDTHS.items()),
    *(Network(name, "Ma et al., arXiv 1807.11164; as in torchvision", 224, partial(_shufflenet, widths=widths))
      for name, widths in _SHUFFLE_WIDTHS.items()),
)  # fmt: skip
