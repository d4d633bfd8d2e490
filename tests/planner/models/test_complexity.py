"""Tests of how the work of a model grows, against the operations that the planner counts."""

import pytest
from msgspec.structs import replace

from flyball_planner.models.cost import ModelCost
from flyball_planner.models.families import MODULES, model_cost
from flyball_planner.models.transformer.growth import transformer_complexity
from flyball_planner.models.transformer.named_shapes import named_shape

SMALLEST: dict[str, dict[str, object]] = {
    "linear_regression_normal": {"n": 1e6, "p": 1000},
    "linear_regression_qr": {"n": 1e6, "p": 1000},
    "logistic_regression_newton": {"n": 1e6, "p": 4000},
    "logistic_regression_sgd": {"n": 1e6, "p": 10_000},
    "svm_linear": {"n": 1e6, "p": 10_000},
    "svm_rbf": {"n": 200_000, "p": 4000},
    "decision_tree": {"n": 1e6, "p": 100},
    "random_forest": {"n": 1e6, "p": 100},
    "xgboost_like": {"n": 1e6, "p": 1000},
    "kmeans": {"n": 1e6, "p": 100, "k": 50},
    "pca_svd": {"n": 1e6, "p": 10_000, "k": 100},
    "mlp": {"n": 1000, "d_in": 10, "d_out": 10, "layers": 20, "hidden": 2048},
    "simple_cnn": {"n": 1000, "image": 64, "dense": [8]},
    "cnn": {"n": 1000, "image": 64, "layers": [{"conv": 64}, {"conv": 64}, "flatten", {"linear": 10}]},
    "resnet50": {"n": 1000},
    "transformer_encoder": {"n": 1000},
    "transformer_decoder": {"n": 1000},
}


def cost(name: str, **changed: object) -> ModelCost:
    """Return the cost of a model with some changed keys."""
    return model_cost(name, {**SMALLEST[name], **changed})


def work(found: ModelCost) -> float:
    """Return the operations of the complete training."""
    return found.training_flops * found.samples * found.passes


@pytest.mark.parametrize("name", MODULES)
def test_every_model_states_its_growth(name: str) -> None:
    """Each of the planner's models has a class for training and prediction, and a sentence that explains it."""
    growth = cost(name).complexity
    assert growth is not None
    assert growth.training.startswith("O(")
    assert growth.inference.startswith("O(")
    assert growth.because.endswith(".")


@pytest.mark.parametrize(
    ("name", "key", "power"),
    [
        ("linear_regression_normal", "n", 1),
        ("linear_regression_normal", "p", 2),
        ("linear_regression_qr", "n", 1),
        ("linear_regression_qr", "p", 2),
        ("logistic_regression_newton", "n", 1),
        ("logistic_regression_newton", "p", 2),
        ("logistic_regression_sgd", "n", 1),
        ("logistic_regression_sgd", "p", 1),
        ("svm_linear", "n", 1),
        ("svm_linear", "p", 1),
        ("svm_rbf", "n", 2),
        ("svm_rbf", "p", 1),
        ("decision_tree", "p", 1),
        ("xgboost_like", "n", 1),
        ("xgboost_like", "p", 1),
        ("kmeans", "n", 1),
        ("kmeans", "k", 1),
        ("kmeans", "p", 1),
        ("pca_svd", "n", 1),
        ("pca_svd", "p", 1),
        ("pca_svd", "k", 1),
        ("mlp", "hidden", 2),
        ("mlp", "n", 1),
        ("simple_cnn", "image", 2),
    ],
)
def test_the_growth_is_that_of_the_counted_operations(name: str, key: str, power: int) -> None:
    """Doubling a variable multiplies the counted operations by two to the power that the class states."""
    before = SMALLEST[name][key]
    assert isinstance(before, int | float)
    ratio = work(cost(name, **{key: 2 * before})) / work(cost(name))
    assert ratio == pytest.approx(2**power, rel=0.12)


@pytest.mark.parametrize("name", ["random_forest", "xgboost_like"])
def test_forests_grow_with_their_trees(name: str) -> None:
    """Twice as many trees take twice the work in training and in prediction."""
    few, many = cost(name, trees=50), cost(name, trees=100)
    assert work(many) / work(few) == pytest.approx(2, rel=0.05)
    assert many.inference_flops / few.inference_flops == pytest.approx(2)


def test_a_prediction_needs_less_than_the_training_of_a_sample() -> None:
    """A classical prediction is a product with the weights, or the way down a tree; a network's is its forward pass."""
    assert cost("linear_regression_normal", d_out=3).inference_flops == 2 * 1000 * 3
    assert cost("kmeans").inference_flops == 2 * 100 * 50
    assert cost("decision_tree", depth=7).inference_flops == 7
    mlp = cost("mlp")
    assert mlp.inference_flops == mlp.forward_flops


def test_a_window_and_experts_are_part_of_a_transformers_growth() -> None:
    """A sliding window removes the square of the sequence, and experts are named in the sentence."""
    plain = named_shape("gpt2")
    assert "s²·d" in transformer_complexity(plain).training
    windowed = transformer_complexity(replace(plain, sliding_window=128))
    assert "s²" not in windowed.training
    assert "s·w·d" in windowed.inference
    assert "Of 8 experts, 2 compute" in transformer_complexity(named_shape("mixtral-8x7b")).because
