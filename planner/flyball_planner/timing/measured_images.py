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
from flyball_planner.timing.image_law import kind_of_name

FILE = Path(__file__).with_name("data") / "image_networks.csv"
CARD_FLOPS = 165.2e12 * 0.80  # RTX 4090 in 16 bits with wide sums: printed rate × best products (best_rates.py)
CARD_BYTES = 1008e9 * 0.72  # printed bandwidth × usual share (coefficients.csv)
LEAST_MOVED = 0.2
"""Share of the time that memory traffic takes at least, because norms and activations are separate kernels."""
TRAINED_PASSES = {"small": 1.5, "mobile": 1.5, "scattered": 1.35, "transformer": 1.35, "fine patches": 1.35}
USUAL_PASSES = 1.2
"""Memory traffic of training over that of inference, by kind of network: batch normalisation reads its input twice,
which is one pass more than the about six of convolution, norm and activation. The gradients of depthwise convolutions
and the casts of attention cost more."""
SLOW_GROUPS = 2.5
"""The same factor for convolutions in groups of a fixed width with channels last before PyTorch 2, whose training was
slower than with channels first by up to forty times (pytorch/pytorch issues 34977 and 70954)."""
MEASURED_SPREAD = 0.15  # standard deviation of the logarithm of the time around this transfer
SLOW_SPREAD = 0.4  # the same for slow groups

TRAINERS = re.compile(r"^(tv|gluon|ig|swsl|ssl|tf)_")
WEIGHTS = re.compile(r"_(v1b|in22ft1k|in22k|in21ft1k|in21k|ns|ap|miil|ra|a1|bt|dino|dist)$")
"""Parts of names that identify the training, not the layers; newer tables leave them out."""
FIXED_GROUPS = re.compile(r"regnet|nfnet|resnest|res2ne|repvgg_\w+g\d")


class MeasuredNetwork(Struct, frozen=True):
    """The published facts of one network."""

    name: str
    image: int  # pixels per side
    parameters: float
    multiplications: float  # of the forward pass of one image
    activations: float  # outputs of convolutions and products
    images_per_second: float  # with channels last
    planar_images_per_second: float  # with channels first


def measured_network(name: str, side: int, *, planar: bool = False, slow_groups: bool = False) -> ModelCost | None:
    """Return the cost of a network with published speed for an image size; nothing if the table lacks it."""
    known = _found(name, side)
    if known is None:
        return None
    passes = TRAINED_PASSES.get(kind_of_name(name).name, USUAL_PASSES)
    return _cost(known, name, side, passes * (SLOW_GROUPS if slow_groups else 1.0), planar=planar)


def has_fixed_groups(name: str) -> bool:
    """Return True for networks whose convolutions have groups of a fixed width."""
    return FIXED_GROUPS.search(name.casefold()) is not None


def _found(name: str, side: int) -> MeasuredNetwork | None:
    """Return the facts at the nearest image size."""
    plain = name.casefold()
    weightless = WEIGHTS.sub("", WEIGHTS.sub("", plain)).replace("_bitm", "_bit")
    spellings = (plain, weightless, TRAINERS.sub("", weightless))
    known = next((_table()[each] for each in spellings if each in _table()), ())
    return min(known, key=lambda each: abs(each.image - side), default=None)


@cache
def _table() -> Mapping[str, Sequence[MeasuredNetwork]]:
    found: dict[str, list[MeasuredNetwork]] = {}
    with FILE.open(encoding="utf-8", newline="") as lines:
        rows = csv.reader(line for line in lines if not line.startswith("#"))
        next(rows)
        for name, image, *others in rows:
            found.setdefault(name, []).append(MeasuredNetwork(name, int(image), *map(float, others)))
    return found


def _cost(known: MeasuredNetwork, name: str, side: int, passes: float, *, planar: bool) -> ModelCost:
    scale = (side / known.image) ** 2
    layers = kind_of_name(name).layers
    flops = 2 * known.multiplications
    seconds = 1 / (known.planar_images_per_second if planar else known.images_per_second)
    moving = max(seconds - flops / CARD_FLOPS, LEAST_MOVED * seconds)
    moved = passes * moving * CARD_BYTES * scale / layers
    edge = (known.parameters / layers) ** 0.5
    positions = flops * scale / (2 * known.parameters)
    product = Operator(
        "products", OperatorKind.CONVOLUTION, flops=flops * scale / layers, moved_bytes=0.0,
        rows=positions, inner=edge, columns=edge,
    )  # fmt: skip
    other = Operator("others", OperatorKind.ELEMENTWISE, 0.0, moved)
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
