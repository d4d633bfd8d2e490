"""Layers made of layers: one after the other, beside each other, and around each other."""

from msgspec import Struct

from flyball_planner.models.convolution.layers import (
    RELU,
    Activation,
    Convolution,
    Flatten,
    Layer,
    Linear,
    Map,
    Norm,
    Piece,
    PoolTo,
    elementwise,
)


class Chain(Struct, frozen=True):
    """One layer after the other."""

    layers: tuple[Layer, ...]

    def cost(self, given: Map) -> Piece:
        """The sum, each layer over what the one before gave."""
        total = Piece(given)
        for layer in self.layers:
            total = joined(total, layer.cost(total.output))
        return total


class Residual(Struct, frozen=True):
    """A body whose result is added to its input, or to what a shortcut makes of it."""

    body: Layer
    shortcut: Layer | None = None

    def cost(self, given: Map) -> Piece:
        """Both ways and the sum, which overwrites the body's result."""
        body = self.body.cost(given)
        around = self.shortcut.cost(given) if self.shortcut else Piece(given)
        both = joined(around, body)
        addition = elementwise("addition", 3 * body.output.elements)
        return Piece(body.output, both.parameters, (*both.operators, addition), both.kept_elements)


class Branches(Struct, frozen=True):
    """Several ways over the same input, their channels put side by side."""

    branches: tuple[Layer, ...]

    def cost(self, given: Map) -> Piece:
        """All ways and the copy that joins them."""
        pieces = [branch.cost(given) for branch in self.branches]
        first = pieces[0].output
        output = Map(sum(piece.output.channels for piece in pieces), first.height, first.width)
        return Piece(
            output,
            sum(piece.parameters for piece in pieces),
            (
                *(operator for piece in pieces for operator in piece.operators),
                elementwise("concatenation", 2 * output.elements),
            ),
            sum(piece.kept_elements for piece in pieces) + output.elements,
        )


class Half(Struct, frozen=True):
    """Half of the channels, handed to a body; with none, handed on (ShuffleNet)."""

    body: Layer

    def cost(self, given: Map) -> Piece:
        """The body over fewer channels."""
        return self.body.cost(Map(given.channels // 2, given.height, given.width))


class SqueezeExcite(Struct, frozen=True):
    """Channels weighed by what their means say."""

    squeezed: int
    activation: Activation = RELU

    def cost(self, given: Map) -> Piece:
        """Two small products, and one pass that weighs the features."""
        gate = Chain(
            (
                PoolTo(),
                Convolution(self.squeezed, 1, bias=True),
                self.activation,
                Convolution(given.channels, 1, bias=True),
            )
        ).cost(given)
        operators = (*gate.operators, elementwise("gate", 2 * given.elements))
        return Piece(given, gate.parameters, operators, gate.kept_elements + given.elements)


IDENTITY = Chain(())


def joined(first: Piece, second: Piece) -> Piece:
    """Both costs; the output is the second's."""
    return Piece(
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
    """Convolution, batch normalisation and, unless refused, an activation."""
    layers: tuple[Layer, ...] = (Convolution(channels, kernel, stride, padding, groups), Norm())
    return Chain((*layers, activation) if activation else layers)


def classifier(classes: int) -> Chain:
    """The usual end: the mean over all positions, and one dense layer."""
    return Chain((PoolTo(), Flatten(), Linear(classes)))


def divisible(channels: float, divisor: int = 8) -> int:
    """The nearest multiple, not more than a tenth below (MobileNet's rule for scaled widths)."""
    rounded = max(divisor, int(channels + divisor / 2) // divisor * divisor)
    return rounded + divisor if rounded < 0.9 * channels else rounded
