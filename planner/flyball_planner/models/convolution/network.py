"""A network: named layers over an image, and the blocks that they make."""

from collections.abc import Callable, Sequence
from itertools import groupby

from msgspec import Struct

from flyball_planner.models.convolution.layers import Layer, Map, Piece
from flyball_planner.models.cost import Block


class Network(Struct, frozen=True):
    """A published architecture: what it is made of for so many classes, and the image it was made for."""

    name: str
    source: str  # paper, and the implementation whose details are followed
    image: int  # pixels a side
    layers: Callable[[int], tuple[Layer, ...]]
    beside: Callable[[int], int] | None = None  # parameters of parts that run in training only


def network_blocks(layers: Sequence[Layer], image: Map) -> tuple[Block, ...]:
    """One block a layer; equal neighbours are one block that is repeated."""
    pieces: list[Piece] = []
    given = image
    for layer in layers:
        pieces.append(layer.cost(given))
        given = pieces[-1].output
    grouped = ((piece, len(list(same))) for piece, same in groupby(pieces))
    return tuple(_block(position, piece, repeats) for position, (piece, repeats) in enumerate(grouped))


def _block(position: int, piece: Piece, repeats: int) -> Block:
    shape = piece.output
    return Block(
        name=f"{position}: {shape.channels}×{shape.height}×{shape.width}",
        repeats=repeats,
        parameters=piece.parameters,
        operators=piece.operators,
        kept_elements=piece.kept_elements,
        boundary_elements=float(shape.elements),
    )
