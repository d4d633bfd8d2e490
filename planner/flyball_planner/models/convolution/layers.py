"""Single layers of convolutional networks: their output, and their cost for one sample.

As in published counts, only products count as FLOPs; other layers cost the bytes that they move. Bytes are those of
activations at two per number, since weights are read only once per micro-batch and counted per block.
"""

import math
from typing import Protocol

from msgspec import Struct

from flyball_planner.models.cost import Operator, OperatorKind
from flyball_reports.errors import InputError

NUMBER_BYTES = 2.0  # per number in `Operator.moved_bytes` of networks
NORM_PASSES = 3.0  # one pass for batch statistics, one read and one write to normalise


class FeatureMap(Struct, frozen=True):
    """The shape of one sample's features."""

    channels: int
    height: int
    width: int

    @property
    def elements(self) -> int:
        """Return the number of elements."""
        return self.channels * self.height * self.width


class LayerCost(Struct, frozen=True):
    """The output and the cost of some layers."""

    output: FeatureMap
    parameters: int = 0
    operators: tuple[Operator, ...] = ()
    kept_elements: float = 0.0  # outputs that the backward pass needs, because they do not overwrite their input


class Layer(Protocol):
    """A layer that maps features to features."""

    def cost(self, given: FeatureMap) -> LayerCost:
        """Return the output and the cost for this input."""
        ...


def elementwise(name: str, moved_elements: float) -> Operator:
    """Return a pass over features without matrix products."""
    return Operator(name, OperatorKind.ELEMENTWISE, 0.0, NUMBER_BYTES * moved_elements)


class Convolution(Struct, frozen=True):
    """A two-dimensional convolution. The default padding keeps the size at stride 1."""

    channels: int
    kernel: int | tuple[int, int] = 3
    stride: int = 1
    padding: int | tuple[int, int] | None = None
    groups: int = 1
    bias: bool = False

    def cost(self, given: FeatureMap) -> LayerCost:
        """Return a product over the output positions of each group."""
        rows, columns = _pair(self.kernel)
        output = FeatureMap(self.channels, *_shrunk(given, (rows, columns), self.stride, self._padding()))
        inner = given.channels // self.groups * rows * columns
        positions = output.height * output.width
        operator = Operator(
            "convolution",
            OperatorKind.CONVOLUTION,
            flops=2.0 * positions * inner * self.channels,
            moved_bytes=NUMBER_BYTES * (given.elements + output.elements),
            rows=float(positions * self.groups),  # groups run in parallel
            inner=float(inner),
            columns=self.channels / self.groups,
        )
        parameters = inner * self.channels + (self.channels if self.bias else 0)
        return LayerCost(output, parameters, (operator,), output.elements)

    def _padding(self) -> tuple[int, int]:
        rows, columns = _pair(self.kernel)
        return (rows // 2, columns // 2) if self.padding is None else _pair(self.padding)


class Linear(Struct, frozen=True):
    """A dense layer over the channels of each position; flattened features have a single position."""

    features: int
    bias: bool = True

    def cost(self, given: FeatureMap) -> LayerCost:
        """Return one product."""
        output = FeatureMap(self.features, given.height, given.width)
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
        return LayerCost(output, parameters, (operator,), output.elements)


class NormLayer(Struct, frozen=True):
    """Batch or layer normalisation, with a scale and a shift for each channel."""

    def cost(self, given: FeatureMap) -> LayerCost:
        """Return passes over the features; input and output are both stored."""
        operator = elementwise("norm", NORM_PASSES * given.elements)
        return LayerCost(given, 2 * given.channels, (operator,), given.elements)


class Activation(Struct, frozen=True):
    """An elementwise function. ReLU overwrites its input; smooth ones store it for their derivative."""

    in_place: bool = True

    def cost(self, given: FeatureMap) -> LayerCost:
        """Return one pass."""
        kept = 0.0 if self.in_place else given.elements
        return LayerCost(given, 0, (elementwise("activation", 2 * given.elements),), kept)


RELU = Activation()
SMOOTH = Activation(in_place=False)  # SiLU, GELU, hard swish


class Pool(Struct, frozen=True):
    """Maximum or mean of a window."""

    kernel: int
    stride: int
    padding: int = 0
    ceiling: bool = False  # include windows that extend beyond the edge

    def cost(self, given: FeatureMap) -> LayerCost:
        """Return a read of all features and a write of fewer."""
        kernel, padding = (self.kernel, self.kernel), (self.padding, self.padding)
        output = FeatureMap(given.channels, *_shrunk(given, kernel, self.stride, padding, ceiling=self.ceiling))
        return LayerCost(output, 0, (elementwise("pool", given.elements + output.elements),), output.elements)


class PoolTo(Struct, frozen=True):
    """The mean over a given number of windows, by default one."""

    size: int = 1

    def cost(self, given: FeatureMap) -> LayerCost:
        """Return a read of all features and a write of a few."""
        output = FeatureMap(given.channels, self.size, self.size)
        return LayerCost(output, 0, (elementwise("pool", given.elements + output.elements),), output.elements)


class Flatten(Struct, frozen=True):
    """Reshapes features to a vector without moving data."""

    def cost(self, given: FeatureMap) -> LayerCost:
        """Return a cost of zero."""
        return LayerCost(FeatureMap(given.elements, 1, 1))


class ChannelScale(Struct, frozen=True):
    """A learned factor for each channel (ConvNeXt)."""

    def cost(self, given: FeatureMap) -> LayerCost:
        """Return one pass."""
        return LayerCost(given, given.channels, (elementwise("scale", 2 * given.elements),), given.elements)


def _pair(value: int | tuple[int, int]) -> tuple[int, int]:
    return value if isinstance(value, tuple) else (value, value)


def _shrunk(
    given: FeatureMap, kernel: tuple[int, int], stride: int, padding: tuple[int, int], *, ceiling: bool = False
) -> tuple[int, int]:
    rounding = math.ceil if ceiling else math.floor
    sizes = (given.height, given.width)
    height, width = (
        rounding((size + 2 * pad - window) / stride) + 1
        for size, window, pad in zip(sizes, kernel, padding, strict=True)
    )
    if min(height, width) < 1:
        raise InputError(
            f"the image is too small for this network: a window of {kernel[0]}×{kernel[1]} does not fit into features "
            f"of {given.height}×{given.width}; use a larger image or fewer pooling layers"
        )
    return height, width
