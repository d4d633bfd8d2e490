"""Image networks: published ones by name, a simple one by a few numbers, any other by its list of layers."""

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any

from msgspec import Meta
from msgspec.structs import replace

from flyball_planner.models.complexity import CONVOLUTIONS
from flyball_planner.models.convolution.composites import Chain
from flyball_planner.models.convolution.layer_list import layers_of
from flyball_planner.models.convolution.layers import (
    RELU,
    Convolution,
    FeatureMap,
    Flatten,
    Layer,
    Linear,
    NormLayer,
    Pool,
)
from flyball_planner.models.convolution.network import network_blocks
from flyball_planner.models.cost import ModelCost
from flyball_planner.models.family import IMAGE_NETWORKS, ModelFamily
from flyball_planner.models.specification import Count, NetworkSpecification, UnfitKey

MOST_LAYERS = 2_000
Pixels = Annotated[int, Meta(ge=1, le=16_384)]
ChannelsLast = Annotated[
    bool,
    Meta(description="memory format of images in 16 bits; false as in PyTorch without memory_format=channels_last"),
]


class PublishedNetwork(NetworkSpecification, frozen=True, kw_only=True):
    """Keys of a network with known layers."""

    image: Annotated[int, Meta(ge=0, le=16_384, description="pixels per side; 0: as published")] = 0
    channels: Annotated[Count, Meta(description="colour channels")] = 3
    classes: Annotated[Count, Meta(description="number of classes")] = 1000
    channels_last: ChannelsLast = False


class SimpleCnn(NetworkSpecification, frozen=True, kw_only=True):
    """Keys of a network of convolutions and pools with dense layers."""

    image: Annotated[Pixels, Meta(description="pixels per side")] = 32
    channels: Annotated[Count, Meta(description="colour channels")] = 3
    filters: Annotated[tuple[Count, ...], Meta(description="channels of each convolution")] = (32, 64, 128)
    kernel: Annotated[Count, Meta(description="side of a convolution's window")] = 3
    pool: Annotated[Count, Meta(description="side of the pool after each convolution; 1: none")] = 2
    batch_norm: Annotated[bool, Meta(description="batch normalisation after each convolution")] = False
    dense: Annotated[tuple[Count, ...], Meta(description="widths of the dense layers before the last")] = (256,)
    classes: Annotated[Count, Meta(description="number of classes")] = 10
    channels_last: ChannelsLast = False


class Cnn(NetworkSpecification, frozen=True, kw_only=True):
    """Keys of a network that is described layer by layer."""

    layers: Annotated[
        tuple[str | dict[str, Any], ...], Meta(description="such as {conv: 64, kernel: 3}, norm, relu, {pool: 2} …")
    ]
    image: Annotated[Pixels, Meta(description="pixels per side")] = 224
    channels: Annotated[Count, Meta(description="colour channels")] = 3
    channels_last: ChannelsLast = False


def trained(cost: ModelCost, wanted: PublishedNetwork) -> ModelCost:
    """Return a network's cost with the training settings of its specification."""
    return replace(
        cost,
        samples=wanted.n,
        passes=wanted.epochs,
        batch=wanted.batch_size,
        precision=wanted.precision,
        complexity=CONVOLUTIONS,
        channels_first=not wanted.channels_last,
    )


def published(name: str, wanted: PublishedNetwork) -> ModelCost:
    """Return the cost of a published network."""
    from flyball_planner.models.convolution.published import published_cost  # noqa: PLC0415  read where one is wanted

    return trained(published_cost(name, image=wanted.image, classes=wanted.classes, channels=wanted.channels), wanted)


def simple_cnn(wanted: SimpleCnn) -> ModelCost:
    """Return the cost of convolutions with activation and pool, followed by dense layers."""
    norm = (NormLayer(),) if wanted.batch_norm else ()
    pool = (Pool(wanted.pool, wanted.pool),) if wanted.pool > 1 else ()
    convolutions = (
        Chain((Convolution(filters, wanted.kernel, bias=not wanted.batch_norm), *norm, RELU, *pool))
        for filters in wanted.filters
    )
    dense = (Chain((Linear(width), RELU)) for width in wanted.dense)
    layers: tuple[Layer, ...] = (*convolutions, Flatten(), *dense, Linear(wanted.classes))
    return _cost("simple_cnn", layers, wanted.image, wanted.channels, wanted)


def cnn(wanted: Cnn) -> ModelCost:
    """Return the cost of a list of layers."""
    if not 1 <= len(wanted.layers) <= MOST_LAYERS:
        raise UnfitKey("cnn", "layers", f"{len(wanted.layers)} layers", expected=f"1 to {MOST_LAYERS:,}")
    return _cost("cnn", layers_of(wanted.layers), wanted.image, wanted.channels, wanted)


def _cost(model: str, layers: Sequence[Layer], image: int, channels: int, wanted: SimpleCnn | Cnn) -> ModelCost:
    blocks = network_blocks(layers, FeatureMap(channels, image, image))
    return ModelCost(
        model=model,
        family=IMAGE_NETWORKS,
        implementation="PyTorch nn.Conv2d, cuDNN",
        parameters=sum(block.repeats * block.parameters for block in blocks),
        samples=wanted.n,
        passes=wanted.epochs,
        blocks=blocks,
        assumptions=(f"images of {image}×{image} pixels",),
        batch=wanted.batch_size,
        precision=wanted.precision,
        complexity=CONVOLUTIONS,
        channels_first=not wanted.channels_last,
    )


FAMILIES = (
    ModelFamily("simple_cnn", "a few convolutions, pools and dense layers", SimpleCnn, simple_cnn),
    ModelFamily("cnn", "a convolutional network by its list of layers", Cnn, cnn),
    ModelFamily("resnet50", "residual network of 50 layers", PublishedNetwork, partial(published, "resnet50")),
)
