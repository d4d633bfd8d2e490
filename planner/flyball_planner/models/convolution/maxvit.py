"""MaxViT: alternating convolution, attention within windows, and attention across a grid."""

from collections.abc import Sequence
from functools import partial

from flyball_planner.models.convolution.composites import Chain, Residual, SqueezeExcite, convolved
from flyball_planner.models.convolution.layers import (
    SMOOTH,
    Convolution,
    Flatten,
    Layer,
    Linear,
    NormLayer,
    Pool,
    PoolTo,
)
from flyball_planner.models.convolution.network import Network
from flyball_planner.models.convolution.swin import WindowAttention

SOURCE = "Tu et al., arXiv 2204.01697; as in torchvision"
WINDOW = 7
HEAD_WIDTH = 32
WIDENING = 4  # in convolution blocks and feed-forward layers


def _convolution(given: int, width: int, stride: int) -> Residual:
    pool = (Pool(3, 2, 1),) if stride == 2 else ()
    shortcut = Chain((*pool, Convolution(width, 1, bias=True))) if stride == 2 or given != width else None
    widened = WIDENING * width
    body = Chain(
        (
            NormLayer(),
            convolved(widened, 1, activation=SMOOTH),
            convolved(widened, 3, stride, groups=widened, activation=SMOOTH),
            SqueezeExcite(width // 4, SMOOTH),
            Convolution(width, 1, bias=True),
        )
    )
    return Residual(body, shortcut)


def _attention(width: int) -> Chain:
    """Return attention within windows or across the grid, which is the same work over other positions."""
    attention = Chain(
        (
            NormLayer(),
            Linear(3 * width),
            WindowAttention(WINDOW, width // HEAD_WIDTH, second_version=False),
            Linear(width),
        )
    )
    feed_forward = Chain((NormLayer(), Linear(WIDENING * width), SMOOTH, Linear(width)))
    return Chain((Residual(attention), Residual(feed_forward)))


def _layers(classes: int, *, stem: int, widths: Sequence[int], depths: Sequence[int]) -> tuple[Layer, ...]:
    layers: list[Layer] = [Chain((convolved(stem, 3, 2, activation=SMOOTH), Convolution(stem, bias=True)))]
    given = stem
    for width, depth in zip(widths, depths, strict=True):
        for position in range(depth):
            convolution = _convolution(given, width, 1 if position else 2)
            layers.append(Chain((convolution, _attention(width), _attention(width))))
            given = width
    top = (PoolTo(), Flatten(), NormLayer(), Linear(given), SMOOTH, Linear(classes, bias=False))
    return (*layers, Chain(top))


NETWORKS = (
    Network("maxvit_t", SOURCE, 224, partial(_layers, stem=64, widths=(64, 128, 256, 512), depths=(2, 2, 5, 2))),
)
