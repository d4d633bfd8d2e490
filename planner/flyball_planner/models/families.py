"""All models by name: those of the planner, and those that users register."""

from collections.abc import Callable, Mapping
from functools import cache, partial
from importlib import import_module
from typing import TYPE_CHECKING, TypeVar, overload

from flyball_planner.models.cost import ModelCost
from flyball_planner.models.family import ModelFamily, ModelFunction
from flyball_planner.models.specification import ModelKey, ModelSpecification, keys_of, read_specification
from flyball_planner.models.spellings import plain
from flyball_planner.models.transformer.shape import TransformerShape
from flyball_reports.errors import InputError, UnknownName

if TYPE_CHECKING:
    from flyball_planner.models.convolution.network import Network

AnySpecification = TypeVar("AnySpecification", bound=ModelSpecification)
AnyFunction = TypeVar("AnyFunction", bound=ModelFunction)


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
"""The modules that define families in `FAMILIES`. A module is imported when one of its models is needed."""

OTHER_NAMES: Mapping[str, str] = {
    "xgboost": "xgboost_like", "lightgbm": "xgboost_like", "catboost": "xgboost_like",
    "gradient_boosting": "xgboost_like",
    "k_means": "kmeans", "pca": "pca_svd", "multi_layer_perceptron": "mlp", "multilayer_perceptron": "mlp",
    "resnet_50": "resnet50",
}  # fmt: skip
"""Names of libraries and algorithms that mean one of these models. Linear models have several solvers, so their user
chooses."""
LIBRARIES = frozenset({"lightgbm", "catboost"})
"""Those of them that name a library too, which is otherwise XGBoost."""

REGISTERED: dict[str, ModelFamily] = {}
"""Models added by `register_model`; the only mutable state of this module."""


@cache
def _own_family(name: str) -> ModelFamily | None:
    """Return a family of the planner, without the published networks."""
    if name not in MODULES:
        return None
    families: tuple[ModelFamily, ...] = import_module(f"flyball_planner.models.{MODULES[name]}").FAMILIES
    return next(family for family in families if family.name == name)


@cache
def published_families() -> Mapping[str, ModelFamily]:
    """Return every published convolutional network as a family."""
    from flyball_planner.models import image_networks  # noqa: PLC0415  read where one is wanted
    from flyball_planner.models.convolution.published import NETWORKS  # noqa: PLC0415

    return {
        network.name: ModelFamily(
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


def all_families() -> tuple[ModelFamily, ...]:
    """Return the planner's families, the published networks, and the registered models."""
    return (*filter(None, map(_own_family, MODULES)), *published_families().values(), *REGISTERED.values())


def model_names() -> tuple[str, ...]:
    """Return all names in the order of the lists."""
    return tuple(family.name for family in all_families())


def find_family(name: str) -> ModelFamily:
    """Return the family of a name in any usual spelling."""
    found = known_family(name)
    if found is None:
        raise UnknownName("model", name, model_names(), instead="`flyball models` lists all")
    return found


def known_family(name: str) -> ModelFamily | None:
    """Return the same, or nothing for an unknown name: only the message of an error imports all families."""
    written = plain(name)
    own = _own_family(name) or _own_family(OTHER_NAMES.get(written, written))
    return REGISTERED.get(name) or own or _published_family(name)


def _published_family(name: str) -> ModelFamily | None:
    from flyball_planner.models.convolution.published import find_network  # noqa: PLC0415  read where one is wanted

    try:
        network = find_network(name).name
    except UnknownName:
        return None
    return _own_family(network) or published_families()[network]


def model_cost(name: str, specification: Mapping[str, object]) -> ModelCost:
    """Return the cost of a specified model; a wrong key raises `UnfitKey`.

    >>> model_cost("random_forest", {"n": 100_000, "p": 20, "trees": 50}).implementation
    'scikit-learn RandomForest (CART, exact splits, one tree per core)'
    """
    family = find_family(name)
    if family.function is not None:
        return family.build(specification)
    return family.build(read_specification(family.specification, family.name, specification))


def transformer_shape(name: str, specification: Mapping[str, object]) -> TransformerShape | None:
    """Return the shape of a specified transformer; nothing for other families."""
    family = find_family(name)
    if family.shape is None:
        return None
    return family.shape(read_specification(family.specification, family.name, specification))


def specification_keys(name: str) -> tuple[ModelKey, ...]:
    """Return all keys of a model's specification with bounds, defaults and meaning.

    >>> [key.name for key in specification_keys("kmeans") if not key.required]
    ['k', 'iterations', 'restarts', 'precision']
    """
    return keys_of(find_family(name).specification)


@overload
def register_model(name: str, *, summary: str = "") -> Callable[[AnyFunction], AnyFunction]: ...


@overload
def register_model(
    name: str,
    specification: type[AnySpecification],
    build: Callable[[AnySpecification], ModelCost],
    *,
    summary: str = "",
) -> ModelFamily: ...


def register_model(
    name: str,
    specification: type[AnySpecification] | None = None,
    build: Callable[[AnySpecification], ModelCost] | None = None,
    *,
    summary: str = "",
) -> ModelFamily | Callable[[AnyFunction], AnyFunction]:
    """Add your own model, which is then found by its name like the others.

    Registering a name again replaces your own model. The names of the planner's models are taken.

    Above a function, it takes the keys of the specification and returns a few figures. `train_flops` are those of the
    complete training. `flyball_planner.models.registered.FIGURES` lists all figures.

    >>> @register_model("my_custom_model")
    ... def my_custom_model(spec):
    ...     weights = spec["d"] * spec["k"]
    ...     return {
    ...         "params": weights,
    ...         "train_flops": 6 * weights * spec["n"] * spec["epochs"],
    ...         "infer_flops_per_sample": 2 * weights,
    ...         "complexity_class": "O(epochs·n·d·k)",
    ...         "algorithm": "alternating projections",
    ...     }
    >>> model_cost("my_custom_model", {"n": 1000, "epochs": 10, "d": 64, "k": 16}).training_flops
    6144.0

    With operators and blocks, memory and time are as exact as those of the planner's own models:

    >>> from flyball_planner.models.cost import ModelBlock, ModelCost, Operator, OperatorKind
    >>> class Bottleneck(ModelSpecification, frozen=True, kw_only=True):
    ...     width: int
    >>> def cost(wanted: Bottleneck) -> ModelCost:
    ...     wide, narrow = wanted.width, wanted.width // 4
    ...     product = Operator("down", OperatorKind.MATMUL, 2.0 * wide * narrow, 2.0 * (wide + narrow), 1, wide, narrow)
    ...     block = ModelBlock("bottleneck", 1, wide * narrow, (product,), kept_elements=wide, boundary_elements=narrow)
    ...     return ModelCost("bottleneck", "my own", "my code", wide * narrow, 0, 1.0, (block,))
    >>> family = register_model("bottleneck", Bottleneck, cost, summary="one narrow product")
    >>> model_cost("bottleneck", {"width": 1024}).parameters
    262144
    """
    if not isinstance(name, str) or not name.strip():
        raise InputError(f"register_model: expected a name in quotes, as in @register_model('my_model'), not {name!r}")
    if _is_planners(name):
        raise InputError(f"the planner already has a model named {name!r}; choose another name")
    if specification is None or build is None:
        return partial(_register_function, name, summary)
    family = ModelFamily(name, summary or (specification.__doc__ or "").strip(), specification, build)
    REGISTERED[name] = family
    return family


def _is_planners(name: str) -> bool:
    """Return True if the planner has a model of this name, in any spelling that a specification may use."""
    from flyball_planner.models.any_configuration import is_known  # noqa: PLC0415  few models are registered
    from flyball_planner.models.convolution.published import find_network  # noqa: PLC0415

    written = plain(name)
    if OTHER_NAMES.get(written, written) in MODULES or is_known(name):
        return True
    try:
        find_network(name)
    except UnknownName:
        return False
    return True


def _register_function(name: str, summary: str, function: AnyFunction) -> AnyFunction:
    """Register a function that returns figures."""
    from flyball_planner.models.registered import OwnKeys, registered_cost  # noqa: PLC0415  few models are registered

    described = summary or (function.__doc__ or "").strip().partition("\n")[0] or "registered model"
    REGISTERED[name] = ModelFamily(
        name, described, OwnKeys, partial(registered_cost, name, function), function=function
    )
    return function
