"""EfficientNet and EfficientNet v2: widths and depths scaled together."""

import math
from collections.abc import Sequence
from functools import partial

from flyball_planner.models.convolution.composites import Chain, Residual, classifier, convolved, divisible
from flyball_planner.models.convolution.layers import SMOOTH, Layer
from flyball_planner.models.convolution.mobile import inverted
from flyball_planner.models.convolution.network import Network

_Row = tuple[bool, int, int, int, int, int]  # fused, widening, kernel, stride, channels, depth

FIRST = (
    (False, 1, 3, 1, 16, 1), (False, 6, 3, 2, 24, 2), (False, 6, 5, 2, 40, 2), (False, 6, 3, 2, 80, 3),
    (False, 6, 5, 1, 112, 3), (False, 6, 5, 2, 192, 4), (False, 6, 3, 1, 320, 1),
)  # fmt: skip
"""Tan and Le, arXiv 1905.11946, table 1 (B0)."""

SMALL = (
    (True, 1, 3, 1, 24, 2), (True, 4, 3, 2, 48, 4), (True, 4, 3, 2, 64, 4),
    (False, 4, 3, 2, 128, 6), (False, 6, 3, 1, 160, 9), (False, 6, 3, 2, 256, 15),
)  # fmt: skip
"""Tan and Le, arXiv 2104.00298, table 4; medium and large as in torchvision."""

MEDIUM = (
    (True, 1, 3, 1, 24, 3), (True, 4, 3, 2, 48, 5), (True, 4, 3, 2, 80, 5),
    (False, 4, 3, 2, 160, 7), (False, 6, 3, 1, 176, 14), (False, 6, 3, 2, 304, 18), (False, 6, 3, 1, 512, 5),
)  # fmt: skip
LARGE = (
    (True, 1, 3, 1, 32, 4), (True, 4, 3, 2, 64, 7), (True, 4, 3, 2, 96, 7),
    (False, 4, 3, 2, 192, 10), (False, 6, 3, 1, 224, 19), (False, 6, 3, 2, 384, 25), (False, 6, 3, 1, 640, 7),
)  # fmt: skip

SCALES = {"b0": (1.0, 1.0, 224), "b1": (1.0, 1.1, 240), "b2": (1.1, 1.2, 288), "b3": (1.2, 1.4, 300),
          "b4": (1.4, 1.8, 380), "b5": (1.6, 2.2, 456), "b6": (1.8, 2.6, 528), "b7": (2.0, 3.1, 600)}  # fmt: skip
"""Width, depth and image of each size, as in torchvision."""


def _layers(classes: int, *, rows: Sequence[_Row], first: int, last: int) -> tuple[Layer, ...]:
    layers: list[Layer] = [convolved(first, 3, 2, activation=SMOOTH)]
    given = first
    for fused, widening, kernel, stride, outgoing, depth in rows:
        for position in range(depth):
            block = _fused if fused else _separable
            layers.append(block(given, widening, outgoing, kernel, 1 if position else stride))
            given = outgoing
    return (*layers, convolved(last, 1, activation=SMOOTH), classifier(classes))


def _separable(given: int, widening: int, outgoing: int, kernel: int, stride: int) -> Layer:
    expanded, squeezed = divisible(given * widening), max(1, given // 4)
    return inverted(given, expanded, outgoing, kernel, stride, squeezed=squeezed, activation=SMOOTH, gate=SMOOTH)


def _fused(given: int, widening: int, outgoing: int, kernel: int, stride: int) -> Layer:
    """Return a wide convolution instead of a product and a depthwise convolution."""
    if widening == 1:
        body = convolved(outgoing, kernel, stride, activation=SMOOTH)
    else:
        widened = convolved(divisible(given * widening), kernel, stride, activation=SMOOTH)
        body = Chain((widened, convolved(outgoing, 1, activation=None)))
    return Residual(body) if stride == 1 and given == outgoing else body


def _first_version(size: str) -> Network:
    width, depth, image = SCALES[size]
    rows = tuple((*row[:4], divisible(row[4] * width), math.ceil(row[5] * depth)) for row in FIRST)
    layers = partial(_layers, rows=rows, first=divisible(32 * width), last=4 * rows[-1][4])
    return Network(f"efficientnet_{size}", "Tan and Le, arXiv 1905.11946; as in torchvision", image, layers)


def _second_version(size: str, rows: Sequence[_Row], image: int) -> Network:
    layers = partial(_layers, rows=rows, first=rows[0][4], last=1280)
    return Network(f"efficientnet_v2_{size}", "Tan and Le, arXiv 2104.00298; as in torchvision", image, layers)


NETWORKS = (
    *(_first_version(size) for size in SCALES),
    _second_version("s", SMALL, 384),
    _second_version("m", MEDIUM, 480),
    _second_version("l", LARGE, 480),
)
