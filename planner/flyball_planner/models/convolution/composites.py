"""Composite layers: in sequence, in parallel, and with shortcuts."""

from msgspec import Struct

from flyball_planner.models.convolution.layers import (
    RELU,
    Activation,
    Convolution,
    FeatureMap,
    Flatten,
    Layer,
    LayerCost,
    Linear,
    NormLayer,
    PoolTo,
    elementwise,
)


class Chain(Struct, frozen=True):
    """Layers in sequence."""

    layers: tuple[Layer, ...]

    def cost(self, given: FeatureMap) -> LayerCost:
        """Return the sum of the layers' costs; each layer takes the output of the previous one."""
        total = LayerCost(given)
        for layer in self.layers:
            total = joined(total, layer.cost(total.output))
        return total


class Residual(Struct, frozen=True):
    """A body whose output is added to its input, or to the output of a shortcut."""

    body: Layer
    shortcut: Layer | None = None

    def cost(self, given: FeatureMap) -> LayerCost:
        """Return the cost of both paths and of the sum, which overwrites the body's output."""
        body = self.body.cost(given)
        around = self.shortcut.cost(given) if self.shortcut else LayerCost(given)
        both = joined(around, body)
        addition = elementwise("addition", 3 * body.output.elements)
        return LayerCost(body.output, both.parameters, (*both.operators, addition), both.kept_elements)


class Branches(Struct, frozen=True):
    """Parallel layers with the same input, whose channels are concatenated."""

    branches: tuple[Layer, ...]

    def cost(self, given: FeatureMap) -> LayerCost:
        """Return the cost of all branches and of the copy that joins them."""
        pieces = [branch.cost(given) for branch in self.branches]
        first = pieces[0].output
        output = FeatureMap(sum(piece.output.channels for piece in pieces), first.height, first.width)
        return LayerCost(
            output,
            sum(piece.parameters for piece in pieces),
            (
                *(operator for piece in pieces for operator in piece.operators),
                elementwise("concatenation", 2 * output.elements),
            ),
            sum(piece.kept_elements for piece in pieces) + output.elements,
        )


class Half(Struct, frozen=True):
    """Half of the channels, processed by a body or passed on unchanged (ShuffleNet)."""

    body: Layer

    def cost(self, given: FeatureMap) -> LayerCost:
        """Return the cost of the body with fewer channels."""
        return self.body.cost(FeatureMap(given.channels // 2, given.height, given.width))


class SqueezeExcite(Struct, frozen=True):
    """Channels scaled by weights that depend on their means."""

    squeezed: int
    activation: Activation = RELU

    def cost(self, given: FeatureMap) -> LayerCost:
        """Return the cost of two small products and a pass that scales the features."""
        gate = Chain(
            (
                PoolTo(),
                Convolution(self.squeezed, 1, bias=True),
                self.activation,
                Convolution(given.channels, 1, bias=True),
            )
        ).cost(given)
        operators = (*gate.operators, elementwise("gate", 2 * given.elements))
        return LayerCost(given, gate.parameters, operators, gate.kept_elements + given.elements)


IDENTITY = Chain(())


def joined(first: LayerCost, second: LayerCost) -> LayerCost:
    """Add two costs; the output is that of the second."""
    return LayerCost(
        second.output,
        first.parameters + second.parameters,
        first.operators + second.operators,
        first.kept_elements + second.kept_elements,
    )


def convolved(
    channels: int,
    kernel: int | tuple[int, int] = 3,
    stride: int = 1,
    *,
    groups: int = 1,
    padding: int | tuple[int, int] | None = None,
    activation: Activation | None = RELU,
) -> Chain:
    """Return a convolution with batch normalisation and, by default, an activation."""
    layers: tuple[Layer, ...] = (Convolution(channels, kernel, stride, padding, groups), NormLayer())
    return Chain((*layers, activation) if activation else layers)


def classifier(classes: int) -> Chain:
    """Return the usual classifier: the mean over all positions and a dense layer."""
    return Chain((PoolTo(), Flatten(), Linear(classes)))


def divisible(channels: float, divisor: int = 8) -> int:
    """Return the nearest multiple that is at most a tenth smaller (MobileNet's rule for scaled widths)."""
    rounded = max(divisor, int(channels + divisor / 2) // divisor * divisor)
    return rounded + divisor if rounded < 0.9 * channels else rounded
