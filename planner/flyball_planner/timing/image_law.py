"""A law for image networks of which only the name, the parameters and the input size are known.

A weight of a convolution is used at every position of its feature map, so the multiplications per parameter equal the
mean number of positions, which hardly varies within a kind. Written activations grow with the root of the parameters:
a network that is twice as wide has four times the weights. Figures: pytorch-image-models' tables of multiplications
and activations (results/benchmark-infer-amp-nhwc-pt240-cu124-rtx4090.csv).
"""

import re

from msgspec import Struct

from flyball_planner.models.cost import ModelBlock, ModelCost, Operator, OperatorKind

PUBLISHED_SIDE = 224.0  # pixels; the figures are for this input size
WRITTEN_ELEMENTS = 2.6e6  # activations at 224² per root of a million parameters: 2.2 to 3.6 in seven of eight networks
NUMBER_BYTES = 2.0
LAW_SPREAD = 0.40  # standard deviation of the logarithm of the time within a kind


class NetworkKind(Struct, frozen=True):
    """Networks that use their weights in a similar way."""

    name: str
    pattern: str  # regular expression for their names
    positions: float  # positions at which a weight is used, at 224²
    layers: int
    passes: float  # element-wise reads and writes of each activation in the forward pass
    written: float  # activations as a multiple of the usual amount


SCATTERED = (
    r"densenet|dpn|dla|hrnet|regnet|resnest|nfnet|mixnet|tresnet|botnet|poolformer|mobilevit|resnetv2|_rs|cait|coat"
)
SMALL = r"mobilenet|mnasnet|fbnet|lcnet|hardcorenas|spnas"
MOBILE = r"efficientnet|rexnet|tinynet|semnas|edgenext"
ATTENDING = r"vit|deit|beit|mixer|mlp|volo|xcit|pit_|sequencer|twins|nest|swin"

KINDS: tuple[NetworkKind, ...] = (
    # The first kind whose pattern occurs in the name wins.
    NetworkKind("fine patches", r"_p8_|patch8_", 800.0, 48, 6.0, 3.5),  # four times the tokens of 16-pixel patches
    NetworkKind(
        "coarse patches", r"patch32|s32_|resnet26d_|^levit", 60.0, 40, 6.0, 0.7
    ),  # a quarter of the tokens, or shrinking maps
    NetworkKind(
        "scattered", SCATTERED, 180.0, 80, 10.0, 1.6
    ),  # groups, concatenations or normalised weights: many maps
    NetworkKind("small", SMALL, 60.0, 60, 6.0, 1.1),
    NetworkKind("mobile", MOBILE, 76.0, 80, 7.0, 1.3),
    NetworkKind("transformer", ATTENDING, 210.0, 48, 6.0, 1.2),
    NetworkKind("convolutional", r"", 160.0, 50, 5.0, 1.0),
)


def kind_of_name(name: str) -> NetworkKind:
    """Return the kind of networks that a name belongs to."""
    return next(each for each in KINDS if re.search(each.pattern, name))


def image_network(name: str, parameters: int, side: int) -> ModelCost:
    """Return the typical cost of a network of this kind and size."""
    kind = kind_of_name(name)
    scale = (side / PUBLISHED_SIDE) ** 2
    edge = (parameters / kind.layers) ** 0.5
    positions = kind.positions * scale
    written = WRITTEN_ELEMENTS * kind.written * (parameters / 1e6) ** 0.5 * scale / kind.layers
    product = Operator(
        kind.name,
        OperatorKind.CONVOLUTION,
        flops=2 * positions * edge * edge,
        moved_bytes=2 * NUMBER_BYTES * written,
        rows=positions,
        inner=edge,
        columns=edge,
    )
    other = Operator("others", OperatorKind.ELEMENTWISE, 0.0, NUMBER_BYTES * kind.passes * written)
    return ModelCost(
        model=name,
        family=f"image network ({kind.name})",
        implementation="any; estimated from its number of parameters",
        parameters=parameters,
        samples=0,
        passes=1.0,
        blocks=(ModelBlock("layer", kind.layers, parameters // kind.layers, (product, other), written),),
        assumptions=(f"only the number of parameters of {name} is known; a typical {kind.name} network is assumed",),
    )
