"""Multi-layer perceptrons."""

import itertools
from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar, Literal

from msgspec import Meta

from flyball_planner.models.complexity import PERCEPTRON
from flyball_planner.models.convolution.composites import Chain
from flyball_planner.models.convolution.layers import RELU, SMOOTH, FeatureMap, Layer, Linear, NormLayer
from flyball_planner.models.convolution.network import network_blocks
from flyball_planner.models.cost import ModelCost
from flyball_planner.models.family import ModelFamily
from flyball_planner.models.specification import Count, NetworkSpecification, UnfitKey

IN_PLACE = ("relu",)  # all others store their input
MOST_LAYERS = 10_000


class Mlp(NetworkSpecification, frozen=True, kw_only=True):
    """Keys of a perceptron."""

    spellings: ClassVar[Mapping[str, str]] = {"hidden_layers": "layers", "d_hidden": "hidden"}

    d_in: Annotated[Count, Meta(description="features per sample")]
    d_out: Annotated[Count, Meta(description="outputs")]
    layers: Annotated[int | tuple[int, ...], Meta(description="number of hidden layers, or the width of each")] = 2
    hidden: Annotated[Count, Meta(description="width of hidden layers if `layers` is a number")] = 1024
    activation: Annotated[
        Literal["relu", "gelu", "silu", "tanh", "sigmoid", "softplus", "elu", "leaky_relu"],
        Meta(description="function after each hidden layer"),
    ] = "relu"
    batch_norm: Annotated[bool, Meta(description="batch normalisation after each hidden product")] = False


def mlp(wanted: Mlp) -> ModelCost:
    """Return the cost of a stack of dense layers."""
    widths = _hidden_widths(wanted)
    activation = RELU if wanted.activation in IN_PLACE else SMOOTH
    norm = (NormLayer(),) if wanted.batch_norm else ()
    layers: list[Layer] = [Chain((Linear(width), *norm, activation)) for width in widths]
    layers.append(Linear(wanted.d_out))
    blocks = network_blocks(layers, FeatureMap(wanted.d_in, 1, 1))
    return ModelCost(
        model="mlp",
        family="multi-layer perceptron",
        implementation="PyTorch nn.Linear",
        parameters=sum(block.repeats * block.parameters for block in blocks),
        samples=wanted.n,
        passes=wanted.epochs,
        blocks=blocks,
        assumptions=(" → ".join(str(width) for width in _shortened([wanted.d_in, *widths, wanted.d_out])),),
        batch=wanted.batch_size,
        precision=wanted.precision,
        complexity=PERCEPTRON,
    )


def _hidden_widths(wanted: Mlp) -> Sequence[int]:
    widths = [wanted.hidden] * wanted.layers if isinstance(wanted.layers, int) else wanted.layers
    if len(widths) > MOST_LAYERS or any(width < 1 for width in widths):
        expected = f"a number from 0 to {MOST_LAYERS:,}, or a list of widths, each at least 1"
        raise UnfitKey("mlp", "layers", f"expected {expected}, not {wanted.layers!r}")
    return widths


def _shortened(widths: Sequence[int]) -> Sequence[object]:
    """Abbreviate equal consecutive widths as `1024 (× 5)`."""
    runs = [(width, len(list(same))) for width, same in itertools.groupby(widths)]
    return [f"{width} (× {count})" if count > 1 else width for width, count in runs]


FAMILIES = (ModelFamily("mlp", "multi-layer perceptron", Mlp, mlp),)
