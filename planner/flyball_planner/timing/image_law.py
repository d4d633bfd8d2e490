"""Networks over images of which nothing is known but their name, their parameters and the size of their input.

A weight of a convolution is used at every position of its map, so the multiplications for each parameter are the mean
number of positions; it hardly varies within a kind. What is written grows with the root of the parameters: a wider
network has quadratically more weights than channels. Figures: pytorch-image-models' tables of multiplications and
activations (results/benchmark-infer-amp-nhwc-pt240-cu124-rtx4090.csv).
"""

import re

from msgspec import Struct

from flyball_planner.models.cost import Block, ModelCost, Operator, OperatorKind

PUBLISHED_SIDE = 224.0  # pixels, for which the figures hold
WRITTEN_ELEMENTS = (
    2.6e6  # activations of 224² for a root of a million parameters: 2.2 to 3.6 in seven networks of eight
)
NUMBER_BYTES = 2.0
LAW_SPREAD = 0.40  # standard deviation of a logarithm: what networks of one kind differ by in time


class Kind(Struct, frozen=True):
    """Networks that use their weights alike."""

    name: str
    pattern: str  # of their names
    positions: float  # at which a weight is used, for 224²
    layers: int
    passes: float  # element-wise reads and writes of each activation in the forward pass
    written: float  # activations as a multiple of the usual


SCATTERED = (
    r"densenet|dpn|dla|hrnet|regnet|resnest|nfnet|mixnet|tresnet|botnet|poolformer|mobilevit|resnetv2|_rs|cait|coat"
)
SMALL = r"mobilenet|mnasnet|fbnet|lcnet|hardcorenas|spnas"
MOBILE = r"efficientnet|rexnet|tinynet|semnas|edgenext"
ATTENDING = r"vit|deit|beit|mixer|mlp|volo|xcit|pit_|sequencer|twins|nest|swin"

KINDS: tuple[Kind, ...] = (
    # The first whose pattern is found in the name.
    Kind("fine patches", r"_p8_|patch8_", 800.0, 48, 6.0, 3.5),  # four times the tokens of patches of 16
    Kind(
        "coarse patches", r"patch32|s32_|resnet26d_|^levit", 60.0, 40, 6.0, 0.7
    ),  # a quarter of them, or shrinking maps
    Kind(
        "scattered", SCATTERED, 180.0, 80, 10.0, 1.6
    ),  # groups, concatenations, weights that are normalised: many maps
    Kind("small", SMALL, 60.0, 60, 6.0, 1.1),
    Kind("mobile", MOBILE, 76.0, 80, 7.0, 1.3),
    Kind("transformer", ATTENDING, 210.0, 48, 6.0, 1.2),
    Kind("convolutional", r"", 160.0, 50, 5.0, 1.0),
)


def image_network(name: str, parameters: int, side: int) -> ModelCost:
    """The usual cost of a network of this kind and size."""
    kind = next(each for each in KINDS if re.search(each.pattern, name))
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
        implementation="any: estimated by its parameters alone",
        parameters=parameters,
        samples=0,
        passes=1.0,
        blocks=(Block("layer", kind.layers, parameters // kind.layers, (product, other), written),),
        assumptions=(f"{name} is known by its parameters alone: taken as a usual {kind.name} network",),
    )
