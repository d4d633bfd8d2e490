"""Image networks whose counts and inference speed are published: hundreds of names without their layers.

The multiplications, the activations and the speed on one card are facts of pytorch-image-models. The time that the
multiplications do not explain is taken for memory traffic. So groups, narrow layers and memory formats count as they
were measured, and the rest of the model transfers them to other devices and to training.
"""

import csv
import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from msgspec import Struct

from flyball_planner.models.cost import ModelBlock, ModelCost, Operator, OperatorKind
from flyball_planner.timing.image_law import ATTENDING, MOBILE, SMALL, kind_of_name

FILE = Path(__file__).with_name("data") / "image_networks.csv"


class Card(Struct, frozen=True):
    """A card and a version of PyTorch with which the speed of inference was measured."""

    name: str  # of the columns
    flops_per_second: float  # printed rate in 16 bits with wide sums × best products (best_rates.py)
    bytes_per_second: float  # printed bandwidth × usual share (coefficients.csv)


CARD = Card("rtx4090", 165.2e12 * 0.80, 1008e9 * 0.72)  # PyTorch 2.4
OLD_CARD = Card("rtx3090", 71.2e12 * 0.80, 936e9 * 0.72)  # PyTorch 1.13
LEAST_MOVED = 0.2
"""Share of the time that memory traffic takes at least, because norms and activations are separate kernels."""
TRAINED_PASSES: tuple[tuple[str, float, float], ...] = (
    # Pattern of the names, factor with channels last and with channels first. The first match wins.
    (r"xcit|coat|mobilevit|resmlp", 1.25, 1.3),  # convolutions or scales between the blocks of attention
    (r"edgenext|convnext|poolformer|^nf_", 0.95, 0.95),  # convolutions without batch normalisation
    (ATTENDING, 0.95, 0.95),
    (rf"{SMALL}|{MOBILE}|mixnet", 1.25, 1.45),
    (r"resnetv2|_gn|_evos|_frn", 1.45, 1.5),  # norms over groups of channels
    (r"", 1.05, 1.3),
)
"""Memory traffic of training over that of inference. With layer normalisation both read their input once, while batch
normalisation of a training reads it twice. Gradients of depthwise convolutions take longer. With channels first, the
gradients' convolutions convert their inputs and outputs for the matrix units. Rounded medians over timm's trainings."""
SLOW_GROUPS = 1.3
"""Additional memory traffic, as a multiple of the time of inference, for convolutions in wide groups with channels last
before PyTorch 2, whose training was slower than with channels first by up to forty times (pytorch/pytorch issues 34977
and 70954)."""
MEASURED_SPREAD = 0.15  # standard deviation of the logarithm of the time around this transfer
SLOW_SPREAD = 0.4  # the same for slow groups

TRAINERS = re.compile(r"^(tv|gluon|ig|swsl|ssl|tf)_")
WEIGHTS = re.compile(r"_(v1b|in22ft1k|in22k|in21ft1k|in21k|ns|ap|miil|ra|a1|bt|dino|dist)$")
"""Parts of names that identify the training, not the layers; newer tables leave them out."""
FIXED_GROUPS = re.compile(r"regnet|nfnet|resnest|repvgg_\w+g\d")
NARROW_GROUPS = re.compile(r"regnet(x_00[248]|y_00[2468]|z)|nf_regnet")  # of at most 16 channels


class MeasuredNetwork(Struct, frozen=True):
    """The published facts of one network."""

    name: str
    image: int  # pixels per side
    parameters: float
    multiplications: float  # of the forward pass of one image
    activations: float  # outputs of convolutions and products
    images_per_second: Mapping[str, float]  # by column: card, and whether channels come first


def measured_network(
    name: str, side: int, *, planar: bool = False, old: bool = False, slow_groups: bool = False
) -> ModelCost | None:
    """Return the cost of a network with published speed for an image size; nothing if the tables lack it.

    Speeds before PyTorch 2 are used for `old` trainings if they are known, and for others if nothing else is known.
    """
    cards = (OLD_CARD, CARD) if old else (CARD, OLD_CARD)
    found = ((card, _found(name, side, _column(card, planar=planar))) for card in cards)
    card, known = next(((card, known) for card, known in found if known is not None), (CARD, None))
    if known is None:
        return None
    seconds = 1 / known.images_per_second[_column(card, planar=planar)]
    moving = max(seconds - 2 * known.multiplications / card.flops_per_second, LEAST_MOVED * seconds)
    trained = trained_passes(name, planar=planar) * moving + (SLOW_GROUPS * seconds if slow_groups else 0.0)
    return _cost(known, name, side, trained * card.bytes_per_second)


def _column(card: Card, *, planar: bool) -> str:
    return f"{card.name}_planar" if planar else card.name


def has_fixed_groups(name: str) -> bool:
    """Return True for networks whose convolutions have groups of a fixed, large width."""
    plain = name.casefold()
    return FIXED_GROUPS.search(plain) is not None and not NARROW_GROUPS.search(plain)


def trained_passes(name: str, *, planar: bool) -> float:
    """Return the memory traffic of a training over that of inference."""
    plain = name.casefold()
    _, last, first = next(each for each in TRAINED_PASSES if re.search(each[0], plain))
    return first if planar else last


def _found(name: str, side: int, column: str) -> MeasuredNetwork | None:
    """Return the facts at the nearest image size of which a column is known."""
    plain = name.casefold()
    weightless = WEIGHTS.sub("", WEIGHTS.sub("", plain)).replace("_bitm", "_bit")
    for spelling in (plain, weightless, TRAINERS.sub("", weightless)):
        known = [each for each in _table().get(spelling, ()) if column in each.images_per_second]
        if known:
            return min(known, key=lambda each: abs(each.image - side))
    return None


@cache
def _table() -> Mapping[str, Sequence[MeasuredNetwork]]:
    found: dict[str, list[MeasuredNetwork]] = {}
    with FILE.open(encoding="utf-8", newline="") as lines:
        rows = csv.reader(line for line in lines if not line.startswith("#"))
        columns = next(rows)[5:]
        for name, image, parameters, multiplications, activations, *speeds in rows:
            known = {column: float(each) for column, each in zip(columns, speeds, strict=True) if each}
            counts = float(parameters), float(multiplications), float(activations)
            found.setdefault(name, []).append(MeasuredNetwork(name, int(image), *counts, known))
    return found


def _cost(known: MeasuredNetwork, name: str, side: int, moved: float) -> ModelCost:
    """Return the cost of a network that moves some bytes for an image of the published size."""
    scale = (side / known.image) ** 2
    layers = kind_of_name(name).layers
    flops = 2 * known.multiplications
    edge = (known.parameters / layers) ** 0.5
    positions = flops * scale / (2 * known.parameters)
    product = Operator(
        "products", OperatorKind.CONVOLUTION, flops=flops * scale / layers, moved_bytes=0.0,
        rows=positions, inner=edge, columns=edge,
    )  # fmt: skip
    other = Operator("others", OperatorKind.ELEMENTWISE, 0.0, moved * scale / layers)
    kept = known.activations * scale / layers
    return ModelCost(
        model=name,
        family="image network (measured)",
        implementation="pytorch-image-models",
        parameters=int(known.parameters),
        samples=0,
        passes=1.0,
        blocks=(ModelBlock("layer", layers, int(known.parameters / layers), (product, other), kept),),
        assumptions=(f"the layers of {name} are not known; its published inference speed is used",),
    )
