"""RegNet: widths that follow a line, rounded to a few stages."""

import math
from functools import partial
from itertools import groupby

from flyball_planner.models.convolution.composites import (
    Chain,
    Residual,
    SqueezeExcite,
    classifier,
    convolved,
    divisible,
)
from flyball_planner.models.convolution.layers import RELU, Layer
from flyball_planner.models.convolution.network import Network

SOURCE = "Radosavovic et al., arXiv 2003.13678; as in torchvision"
STEM = 32
SQUEEZE = 0.25  # of a block's input width, in the Y networks

_Line = tuple[int, int, float, float, int]  # depth, first width, slope, step, width of a group

X_LINES: dict[str, _Line] = {
    "regnet_x_400mf": (22, 24, 24.48, 2.54, 16),
    "regnet_x_800mf": (16, 56, 35.73, 2.28, 16),
    "regnet_x_1_6gf": (18, 80, 34.01, 2.25, 24),
    "regnet_x_3_2gf": (25, 88, 26.31, 2.25, 48),
    "regnet_x_8gf": (23, 80, 49.56, 2.88, 120),
    "regnet_x_16gf": (22, 216, 55.59, 2.1, 128),
    "regnet_x_32gf": (23, 320, 69.86, 2.0, 168),
}
Y_LINES: dict[str, _Line] = {
    "regnet_y_400mf": (16, 48, 27.89, 2.09, 8),
    "regnet_y_800mf": (14, 56, 38.84, 2.4, 16),
    "regnet_y_1_6gf": (27, 48, 20.71, 2.65, 24),
    "regnet_y_3_2gf": (21, 80, 42.63, 2.66, 24),
    "regnet_y_8gf": (17, 192, 76.82, 2.19, 56),
    "regnet_y_16gf": (18, 200, 106.23, 2.48, 112),
    "regnet_y_32gf": (20, 232, 115.89, 2.53, 232),
    "regnet_y_128gf": (27, 456, 160.83, 2.52, 264),
}


def _stages(line: _Line) -> list[tuple[int, int, int]]:
    """Return width, depth and group width of each stage (section 3.3 of the paper)."""
    depth, first, slope, step, group = line
    powers = (round(math.log((first + slope * position) / first) / math.log(step)) for position in range(depth))
    widths = (round(first * step**power / 8) * 8 for power in powers)
    stages = []
    for width, same in groupby(widths):
        narrowed = min(group, width)
        stages.append((divisible(width, narrowed), len(list(same)), narrowed))
    return stages


def _block(given: int, outgoing: int, stride: int, group: int, *, squeezed: bool) -> Layer:
    gate = (SqueezeExcite(round(SQUEEZE * given)),) if squeezed else ()
    body = Chain(
        (
            convolved(outgoing, 1),
            convolved(outgoing, 3, stride, groups=outgoing // group),
            *gate,
            convolved(outgoing, 1, activation=None),
        )
    )
    changed = given != outgoing or stride != 1
    return Chain((Residual(body, convolved(outgoing, 1, stride, activation=None) if changed else None), RELU))


def _layers(classes: int, *, line: _Line, squeezed: bool) -> tuple[Layer, ...]:
    layers: list[Layer] = [convolved(STEM, 3, 2)]
    given = STEM
    for width, depth, group in _stages(line):
        for position in range(depth):
            layers.append(_block(given, width, 1 if position else 2, group, squeezed=squeezed))
            given = width
    return (*layers, classifier(classes))


NETWORKS = tuple(
    Network(name, SOURCE, 224, partial(_layers, line=line, squeezed=squeezed))
    for lines, squeezed in ((X_LINES, False), (Y_LINES, True))
    for name, line in lines.items()
)
