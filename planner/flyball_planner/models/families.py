"""Every model by name: those that come with the planner, and those that a user registers."""

from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct

from flyball_planner.errors import PlanError, UnknownName
from flyball_planner.models import (
    boosting,
    image_networks,
    kmeans,
    linear_regression,
    logistic_regression,
    mlp,
    pca,
    support_vectors,
    transformers,
    trees,
)
from flyball_planner.models.cost import ModelCost
from flyball_planner.models.specification import Key, Specification, keys_of, read_specification
from flyball_planner.models.transformer.shape import TransformerShape

if TYPE_CHECKING:
    from flyball_planner.models.convolution.network import Network

AnySpecification = TypeVar("AnySpecification", bound=Specification)


class Family(Struct, frozen=True):
    """One kind of model: what it is told, and what it then costs."""

    name: str
    summary: str
    specification: type[Specification]
    build: Callable[..., ModelCost]  # from the specification
    shape: Callable[..., TransformerShape] | None = None  # of a transformer, whose layouts are richer


def _published_cost(name: str, wanted: image_networks.PublishedNetwork) -> ModelCost:
    from flyball_planner.models.convolution.published import published_cost  # noqa: PLC0415  read where one is wanted

    cost = published_cost(name, image=wanted.image, classes=wanted.classes, channels=wanted.channels)
    return image_networks.trained(cost, wanted)


FAMILIES: tuple[Family, ...] = (
    Family("linear_regression_normal", "linear regression by normal equations",
           linear_regression.LinearRegression, linear_regression.normal_equations),
    Family("linear_regression_qr", "linear regression by a QR factorisation",
           linear_regression.LinearRegression, linear_regression.qr),
    Family("logistic_regression_newton", "logistic regression by Newton steps",
           logistic_regression.LogisticNewton, logistic_regression.newton),
    Family("logistic_regression_sgd", "logistic regression by stochastic gradient descent",
           logistic_regression.LogisticSgd, logistic_regression.stochastic),
    Family("svm_linear", "linear support vector machine", support_vectors.LinearSvm, support_vectors.linear),
    Family("svm_rbf", "support vector machine with a radial kernel", support_vectors.RadialSvm, support_vectors.radial),
    Family("decision_tree", "decision tree with exact splits", trees.DecisionTree, trees.tree),
    Family("random_forest", "random forest with exact splits", trees.RandomForest, trees.forest),
    Family("xgboost_like", "gradient-boosted trees", boosting.Boosting, boosting.boosting),
    Family("kmeans", "k-means clustering", kmeans.KMeans, kmeans.lloyd),
    Family("pca_svd", "principal components", pca.Pca, pca.pca),
    Family("mlp", "multi-layer perceptron", mlp.Mlp, mlp.mlp),
    Family("simple_cnn", "a few convolutions, pools and dense layers",
           image_networks.SimpleCnn, image_networks.simple_cnn),
    Family("transformer_encoder", "transformer as BERT is",
           transformers.Transformer, transformers.encoder, transformers.encoder_shape),
    Family("transformer_decoder", "transformer as GPT-2 or Llama is",
           transformers.Transformer, transformers.decoder, transformers.decoder_shape),
    Family("cnn", "a convolutional network by its list of layers", image_networks.Cnn, image_networks.cnn),
    Family("resnet50", "residual network of 50 layers", image_networks.PublishedNetwork,
           partial(_published_cost, "resnet50")),
)  # fmt: skip
"""Those that come with the planner, apart from the other published networks."""

REGISTERED: dict[str, Family] = {}
"""What `register_model` added: the one thing of this module that changes, and only by it."""


@cache
def published_families() -> Mapping[str, Family]:
    """Every published convolutional network, as a family of its own."""
    from flyball_planner.models.convolution.published import NETWORKS  # noqa: PLC0415  read where one is wanted

    keys = image_networks.PublishedNetwork
    return {
        network.name: Family(
            network.name,
            _summary(network),
            keys,
            partial(_published_cost, network.name),
        )
        for network in NETWORKS
        if network.name not in _BY_NAME
    }


def _summary(network: "Network") -> str:
    return f"published network ({network.source.split(',')[0]})"


def all_families() -> tuple[Family, ...]:
    """Those of the list, the published networks, and those that were registered."""
    return (*FAMILIES, *published_families().values(), *REGISTERED.values())


def model_names() -> tuple[str, ...]:
    """All names, in the order of the lists."""
    return tuple(family.name for family in all_families())


def find_family(name: str) -> Family:
    """The family of this name; published networks are found however their name is spelled."""
    return REGISTERED.get(name) or _BY_NAME.get(name) or _published_family(name)


def _published_family(name: str) -> Family:
    from flyball_planner.models.convolution.published import find_network  # noqa: PLC0415  read where one is wanted

    try:
        network = find_network(name).name
    except UnknownName:
        raise UnknownName("model", name, model_names(), instead="`flyball models --list` shows all") from None
    return _BY_NAME.get(network) or published_families()[network]


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
    if not name or name in _BY_NAME or name in published_families():
        raise PlanError(f"a model named {name!r} comes with the planner; give yours another name")
    family = Family(name, summary or (specification.__doc__ or "").strip(), specification, build)
    REGISTERED[name] = family
    return family


_BY_NAME = {family.name: family for family in FAMILIES}
