"""Networks: layers over an image, and the blocks that they form."""

from collections.abc import Callable, Sequence
from itertools import groupby

from msgspec import Struct

from flyball_planner.models.convolution.layers import FeatureMap, Layer, LayerCost
from flyball_planner.models.cost import ModelBlock


class Network(Struct, frozen=True):
    """A published architecture: its layers for a number of classes, and its usual image size."""

    name: str
    source: str  # the paper, and the implementation that is followed
    image: int  # pixels per side
    layers: Callable[[int], tuple[Layer, ...]]
    auxiliary: Callable[[int], int] | None = None  # parameters of parts that only run in training


def network_blocks(layers: Sequence[Layer], image: FeatureMap) -> tuple[ModelBlock, ...]:
    """Return one block per layer; equal consecutive layers are one repeated block."""
    pieces: list[LayerCost] = []
    given = image
    for layer in layers:
        pieces.append(layer.cost(given))
        given = pieces[-1].output
    grouped = ((piece, len(list(same))) for piece, same in groupby(pieces))
    return tuple(_block(position, piece, repeats) for position, (piece, repeats) in enumerate(grouped))


def _block(position: int, piece: LayerCost, repeats: int) -> ModelBlock:
    shape = piece.output
    return ModelBlock(
        name=f"{position}: {_extent(shape)}",
        repeats=repeats,
        parameters=piece.parameters,
        operators=piece.operators,
        kept_elements=piece.kept_elements,
        boundary_elements=float(shape.elements),
    )


def _extent(shape: FeatureMap) -> str:
    """Return the size of a layer's output; that of a layer without positions is its width."""
    if shape.height == shape.width == 1:
        return f"width {shape.channels:,}"
    return f"{shape.channels}×{shape.height}×{shape.width}"
