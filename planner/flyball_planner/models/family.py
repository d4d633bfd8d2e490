"""A family of models with a name."""

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from flyball_planner.models.cost import ModelCost
from flyball_planner.models.specification import ModelSpecification
from flyball_planner.models.transformer.shape import TransformerShape

IMAGE_NETWORKS = "convolutional network"
"""What `ModelCost.family` is for image networks; here because a plan of another model does not import theirs."""

ModelFunction = Callable[[dict[str, Any]], Mapping[str, object]]
"""A user's function from the keys of a specification to a few figures."""


class ModelFamily(Struct, frozen=True):
    """A family of models: its keys, and the function that returns its cost."""

    name: str
    summary: str
    specification: type[ModelSpecification]
    build: Callable[..., ModelCost]  # called with the specification
    shape: Callable[..., TransformerShape] | None = None  # for transformers, which have more layouts
    function: ModelFunction | None = None  # of a user; then `build` takes any keys, without a specification
