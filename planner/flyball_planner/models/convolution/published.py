"""Published convolutional networks by name in any spelling."""

import re
from collections.abc import Mapping
from functools import cache

from flyball_planner.models.convolution import (
    convnext,
    densenet,
    efficientnet,
    inception,
    maxvit,
    mobile,
    plain,
    regnet,
    resnet,
    swin,
)
from flyball_planner.models.convolution.layers import FeatureMap
from flyball_planner.models.convolution.network import Network, network_blocks
from flyball_planner.models.cost import ModelCost
from flyball_reports.errors import UnknownName

NETWORKS: tuple[Network, ...] = (
    *resnet.NETWORKS,
    *plain.NETWORKS,
    *densenet.NETWORKS,
    *inception.NETWORKS,
    *mobile.NETWORKS,
    *efficientnet.NETWORKS,
    *regnet.NETWORKS,
    *convnext.NETWORKS,
    *swin.NETWORKS,
    *maxvit.NETWORKS,
)

OTHER_SPELLINGS = {
    "resnet50v1.5": "resnet50",
    "mobilenetv2.100": "mobilenetv2",
    "mobilenetv3large100": "mobilenetv3large",
    "mobilenetv3small100": "mobilenetv3small",
    "swintinypatch4window7.224": "swint",
    "swinsmallpatch4window7.224": "swins",
    "swinbasepatch4window7.224": "swinb",
    "squeezenet": "squeezenet1.0",
    "mobilenet": "mobilenetv2",
    "inception": "inceptionv3",
}
"""timm's names and short names of networks that are also in torchvision, in the form of `_spelling`."""


TIMM_SPELLINGS = {
    "mnasnet050": "mnasnet0.5",
    "mnasnet075": "mnasnet0.75",
    "mnasnet100": "mnasnet1.0",
    "swinv2tinywindow8.256": "swinv2t",
    "swinv2smallwindow8.256": "swinv2s",
    "swinv2basewindow8.256": "swinv2b",
}
"""Networks that timm implements differently: the same layers and weights with other operators."""

TRAINED_OTHERWISE = re.compile(
    r"^(tv|tf|gluon)_|_v1b$|(_\d{3})?_(in22ft1k|in21ft1k|in21k|ns|ap|miil|ra|a1|bt)$", re.IGNORECASE
)
"""Parts of timm's names that identify the training, not the layers."""


@cache
def _by_spelling() -> dict[str, Network]:
    return {_spelling(network.name): network for network in NETWORKS}


def find_network(name: str) -> Network:
    """Return the network of a name: `ResNet-50`, `torchvision/ResNet50` and `timm/resnet50` are the same."""
    found = _spelled(name, OTHER_SPELLINGS) or _variant(name)
    if found is None:
        raise UnknownName("convolutional network", name, (network.name for network in NETWORKS))
    return found


def is_variant(name: str) -> bool:
    """Return True if a name means another implementation of a network, of the same size but slightly slower."""
    return _spelled(name, OTHER_SPELLINGS) is None and _variant(name) is not None


def _variant(name: str) -> Network | None:
    return _spelled(TRAINED_OTHERWISE.sub("", name), {**OTHER_SPELLINGS, **TIMM_SPELLINGS})


def _spelled(name: str, others: Mapping[str, str]) -> Network | None:
    spelling = _spelling(name)
    return _by_spelling().get(others.get(spelling, spelling))


def published_cost(name: str, *, image: int = 0, classes: int = 1000, channels: int = 3) -> ModelCost:
    """Return the cost of a published network for an image size, by default its own."""
    network = find_network(name)
    side = image or network.image
    blocks = network_blocks(network.layers(classes), FeatureMap(channels, side, side))
    auxiliary = network.auxiliary(classes) if network.auxiliary else 0
    return ModelCost(
        model=network.name,
        family="convolutional network",
        implementation=network.source,
        parameters=sum(block.repeats * block.parameters for block in blocks) + auxiliary,
        samples=0,
        passes=1.0,
        blocks=blocks,
        assumptions=(f"images of {side}×{side} pixels", "batch normalisation and dropout in training mode"),
    )


def _spelling(name: str) -> str:
    bare = name.rsplit("/", 1)[-1].casefold()
    divided = re.sub(r"(?<=\d)[^a-z0-9]+(?=\d)", ".", bare)  # 1_6gf is not 16gf
    return re.sub(r"[^a-z0-9.]", "", divided)
