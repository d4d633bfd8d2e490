"""A kind of model as the planner knows it by name."""

from collections.abc import Callable

from msgspec import Struct

from flyball_planner.models.cost import ModelCost
from flyball_planner.models.specification import Specification
from flyball_planner.models.transformer.shape import TransformerShape


class Family(Struct, frozen=True):
    """One kind of model: what it is told, and what it then costs."""

    name: str
    summary: str
    specification: type[Specification]
    build: Callable[..., ModelCost]  # from the specification
    shape: Callable[..., TransformerShape] | None = None  # of a transformer, whose layouts are richer
