"""Every model by name: those that come with the planner, and those that a user registers."""

from collections.abc import Callable, Mapping
from functools import cache, partial
from importlib import import_module
from typing import TYPE_CHECKING, TypeVar

from flyball_planner.models.cost import ModelCost
from flyball_planner.models.family import Family
from flyball_planner.models.specification import Key, Specification, keys_of, read_specification
from flyball_planner.models.transformer.shape import TransformerShape
from flyball_reports.errors import InputError, UnknownName

if TYPE_CHECKING:
    from flyball_planner.models.convolution.network import Network

AnySpecification = TypeVar("AnySpecification", bound=Specification)


MODULES: Mapping[str, str] = {
    "linear_regression_normal": "linear_regression",
    "linear_regression_qr": "linear_regression",
    "logistic_regression_newton": "logistic_regression",
    "logistic_regression_sgd": "logistic_regression",
    "svm_linear": "support_vectors",
    "svm_rbf": "support_vectors",
    "decision_tree": "trees",
    "random_forest": "trees",
    "xgboost_like": "boosting",
    "kmeans": "kmeans",
    "pca_svd": "pca",
    "mlp": "mlp",
    "simple_cnn": "image_networks",
    "transformer_encoder": "transformers",
    "transformer_decoder": "transformers",
    "cnn": "image_networks",
    "resnet50": "image_networks",
}
"""Which module has a family among its `FAMILIES`: it is imported where one of its models is wanted."""

REGISTERED: dict[str, Family] = {}
"""What `register_model` added: the one thing of this module that changes, and only by it."""


@cache
def _own_family(name: str) -> Family | None:
    """One that comes with the planner, apart from the other published networks."""
    if name not in MODULES:
        return None
    families: tuple[Family, ...] = import_module(f"flyball_planner.models.{MODULES[name]}").FAMILIES
    return next(family for family in families if family.name == name)


@cache
def published_families() -> Mapping[str, Family]:
    """Every published convolutional network, as a family of its own."""
    from flyball_planner.models import image_networks  # noqa: PLC0415  read where one is wanted
    from flyball_planner.models.convolution.published import NETWORKS  # noqa: PLC0415

    return {
        network.name: Family(
            network.name,
            _summary(network),
            image_networks.PublishedNetwork,
            partial(image_networks.published, network.name),
        )
        for network in NETWORKS
        if network.name not in MODULES
    }


def _summary(network: "Network") -> str:
    return f"published network ({network.source.split(',')[0]})"


def all_families() -> tuple[Family, ...]:
    """Those of the list, the published networks, and those that were registered."""
    return (*filter(None, map(_own_family, MODULES)), *published_families().values(), *REGISTERED.values())


def model_names() -> tuple[str, ...]:
    """All names, in the order of the lists."""
    return tuple(family.name for family in all_families())


def find_family(name: str) -> Family:
    """The family of this name; published networks are found however their name is spelled."""
    return REGISTERED.get(name) or _own_family(name) or _published_family(name)


def _published_family(name: str) -> Family:
    from flyball_planner.models.convolution.published import find_network  # noqa: PLC0415  read where one is wanted

    try:
        network = find_network(name).name
    except UnknownName:
        raise UnknownName("model", name, model_names(), instead="`flyball models --list` shows all") from None
    return _own_family(network) or published_families()[network]


def model_cost(name: str, specification: Mapping[str, object]) -> ModelCost:
    """What a model costs that is specified so; a wrong key is told as `UnfitKey`.

    >>> model_cost("random_forest", {"n": 100_000, "p": 20, "trees": 50}).implementation
    'scikit-learn RandomForest (CART, exact splits, a tree a core)'
    """
    family = find_family(name)
    return family.build(read_specification(family.specification, family.name, specification))


def transformer_shape(name: str, specification: Mapping[str, object]) -> TransformerShape | None:
    """The shape of a transformer that is specified so; nothing for other families."""
    family = find_family(name)
    if family.shape is None:
        return None
    return family.shape(read_specification(family.specification, family.name, specification))


def specification_keys(name: str) -> tuple[Key, ...]:
    """All keys of a model's specification, with bounds, defaults and meaning.

    >>> [key.name for key in specification_keys("kmeans") if not key.required]
    ['k', 'iterations', 'restarts', 'precision']
    """
    return keys_of(find_family(name).specification)


def register_model(
    name: str,
    specification: type[AnySpecification],
    build: Callable[[AnySpecification], ModelCost],
    *,
    summary: str = "",
) -> Family:
    """Add a model of one's own; it is found by its name like the others.

    >>> from flyball_planner.models.cost import Block, ModelCost, Operator, OperatorKind
    >>> class Bottleneck(Specification, frozen=True, kw_only=True):
    ...     width: int
    >>> def cost(wanted: Bottleneck) -> ModelCost:
    ...     wide, narrow = wanted.width, wanted.width // 4
    ...     product = Operator("down", OperatorKind.MATMUL, 2.0 * wide * narrow, 2.0 * (wide + narrow), 1, wide, narrow)
    ...     block = Block("bottleneck", 1, wide * narrow, (product,), kept_elements=wide, boundary_elements=narrow)
    ...     return ModelCost("bottleneck", "my own", "my code", wide * narrow, 0, 1.0, (block,))
    >>> family = register_model("bottleneck", Bottleneck, cost, summary="one narrow product")
    >>> model_cost("bottleneck", {"width": 1024}).parameters
    262144
    """
    if not name or name in MODULES or name in published_families():
        raise InputError(f"a model named {name!r} comes with the planner; give yours another name")
    family = Family(name, summary or (specification.__doc__ or "").strip(), specification, build)
    REGISTERED[name] = family
    return family
