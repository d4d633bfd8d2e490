"""Single layers of convolutional networks: what comes out of each, and what that costs for one sample.

Only products count as FLOPs, as in published counts; what merely passes over its data costs the bytes that it moves.
Bytes are of activations at two a number: weights are read once a micro-batch, and a block tells how many it has.
"""

import math
from typing import Protocol

from msgspec import Struct

from flyball_planner.models.cost import Operator, OperatorKind
from flyball_reports.errors import InputError

NUMBER_BYTES = 2.0  # as `Operator.moved_bytes` counts a network's numbers
NORM_PASSES = 3.0  # batch statistics are one pass, normalising reads and writes once more


class Map(Struct, frozen=True):
    """The shape of one sample's features."""

    channels: int
    height: int
    width: int

    @property
    def elements(self) -> int:
        """Numbers in it."""
        return self.channels * self.height * self.width


class Piece(Struct, frozen=True):
    """What a stretch of layers gives and costs."""

    output: Map
    parameters: int = 0
    operators: tuple[Operator, ...] = ()
    kept_elements: float = 0.0  # outputs that do not overwrite their input: the backward pass needs them


class Layer(Protocol):
    """Anything that takes features and gives features."""

    def cost(self, given: Map) -> Piece:
        """What comes out for this input, and what it costs."""
        ...


def elementwise(name: str, moved_elements: float) -> Operator:
    """A pass over features that multiplies no matrices."""
    return Operator(name, OperatorKind.ELEMENTWISE, 0.0, NUMBER_BYTES * moved_elements)


class Convolution(Struct, frozen=True):
    """A two-dimensional convolution; without a stated padding it keeps the size (at stride 1)."""

    channels: int
    kernel: int | tuple[int, int] = 3
    stride: int = 1
    padding: int | tuple[int, int] | None = None
    groups: int = 1
    bias: bool = False

    def cost(self, given: Map) -> Piece:
        """A product over each output position, group by group."""
        rows, columns = _pair(self.kernel)
        output = Map(self.channels, *_shrunk(given, (rows, columns), self.stride, self._padding()))
        inner = given.channels // self.groups * rows * columns
        positions = output.height * output.width
        operator = Operator(
            "convolution",
            OperatorKind.CONVOLUTION,
            flops=2.0 * positions * inner * self.channels,
            moved_bytes=NUMBER_BYTES * (given.elements + output.elements),
            rows=float(positions * self.groups),  # groups run beside each other
            inner=float(inner),
            columns=self.channels / self.groups,
        )
        parameters = inner * self.channels + (self.channels if self.bias else 0)
        return Piece(output, parameters, (operator,), output.elements)

    def _padding(self) -> tuple[int, int]:
        rows, columns = _pair(self.kernel)
        return (rows // 2, columns // 2) if self.padding is None else _pair(self.padding)


class Linear(Struct, frozen=True):
    """A dense layer over the channels of each position; flattened features have one position."""

    features: int
    bias: bool = True

    def cost(self, given: Map) -> Piece:
        """One product."""
        output = Map(self.features, given.height, given.width)
        positions = given.height * given.width
        operator = Operator(
            "linear",
            OperatorKind.MATMUL,
            flops=2.0 * positions * given.channels * self.features,
            moved_bytes=NUMBER_BYTES * (given.elements + output.elements),
            rows=float(positions),
            inner=float(given.channels),
            columns=float(self.features),
        )
        parameters = (given.channels + self.bias) * self.features
        return Piece(output, parameters, (operator,), output.elements)


class Norm(Struct, frozen=True):
    """Batch or layer normalisation: a scale and a shift for each channel."""

    def cost(self, given: Map) -> Piece:
        """Passes over the features; its output is kept beside its input."""
        operator = elementwise("norm", NORM_PASSES * given.elements)
        return Piece(given, 2 * given.channels, (operator,), given.elements)


class Activation(Struct, frozen=True):
    """A function of each element; ReLU overwrites its input, smooth ones keep it for their derivative."""

    in_place: bool = True

    def cost(self, given: Map) -> Piece:
        """One pass."""
        kept = 0.0 if self.in_place else given.elements
        return Piece(given, 0, (elementwise("activation", 2 * given.elements),), kept)


RELU = Activation()
SMOOTH = Activation(in_place=False)  # SiLU, GELU, hard swish


class Pool(Struct, frozen=True):
    """A window's maximum or mean."""

    kernel: int
    stride: int
    padding: int = 0
    ceiling: bool = False  # a window that hangs over the edge counts

    def cost(self, given: Map) -> Piece:
        """Reads all, writes less."""
        kernel, padding = (self.kernel, self.kernel), (self.padding, self.padding)
        output = Map(given.channels, *_shrunk(given, kernel, self.stride, padding, ceiling=self.ceiling))
        return Piece(output, 0, (elementwise("pool", given.elements + output.elements),), output.elements)


class PoolTo(Struct, frozen=True):
    """The mean over as many windows as are wanted; a single one by default."""

    size: int = 1

    def cost(self, given: Map) -> Piece:
        """Reads all, writes a few."""
        output = Map(given.channels, self.size, self.size)
        return Piece(output, 0, (elementwise("pool", given.elements + output.elements),), output.elements)


class Flatten(Struct, frozen=True):
    """Features in a row; nothing moves."""

    def cost(self, given: Map) -> Piece:
        """Free."""
        return Piece(Map(given.elements, 1, 1))


class Scale(Struct, frozen=True):
    """A learned factor for each channel (ConvNeXt)."""

    def cost(self, given: Map) -> Piece:
        """One pass."""
        return Piece(given, given.channels, (elementwise("scale", 2 * given.elements),), given.elements)


def _pair(value: int | tuple[int, int]) -> tuple[int, int]:
    return value if isinstance(value, tuple) else (value, value)


def _shrunk(
    given: Map, kernel: tuple[int, int], stride: int, padding: tuple[int, int], *, ceiling: bool = False
) -> tuple[int, int]:
    rounding = math.ceil if ceiling else math.floor
    sizes = (given.height, given.width)
    height, width = (
        rounding((size + 2 * pad - window) / stride) + 1
        for size, window, pad in zip(sizes, kernel, padding, strict=True)
    )
    if min(height, width) < 1:
        raise InputError(
            f"an image is too small for this network: a window of {kernel[0]}×{kernel[1]} does not fit into "
            f"features of {given.height}×{given.width}; use a larger image or fewer pooling layers"
        )
    return height, width
