"""Tests of model families: all promised names exist, keys are described and mistakes are reported."""

import itertools
import subprocess
import sys
from collections.abc import Iterator, Mapping
from typing import Annotated, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Meta

from flyball_planner.models import families
from flyball_planner.models.cost import ModelCost
from flyball_planner.models.families import (
    all_families,
    find_family,
    model_cost,
    model_names,
    register_model,
    specification_keys,
    transformer_shape,
)
from flyball_planner.models.family import ModelFamily
from flyball_planner.models.specification import ModelSpecification, PrecisionName, UnfitKey
from flyball_planner.precision import PRECISIONS
from flyball_reports.errors import InputError, UnknownName

PROMISED: dict[str, Mapping[str, object]] = {
    "linear_regression_normal": {"n": 1000, "p": 20},
    "linear_regression_qr": {"n": 1000, "p": 20},
    "logistic_regression_newton": {"n": 1000, "p": 20},
    "logistic_regression_sgd": {"n": 1000, "p": 20, "epochs": 3},
    "svm_linear": {"n": 1000, "p": 20},
    "svm_rbf": {"n": 1000, "p": 20},
    "decision_tree": {"n": 1000, "p": 20, "depth": 5},
    "random_forest": {"n": 1000, "p": 20, "trees": 10},
    "xgboost_like": {"n": 1000, "p": 20, "trees": 10, "depth": 4},
    "kmeans": {"n": 1000, "p": 20, "k": 5},
    "pca_svd": {"n": 1000, "p": 20, "k": 5},
    "mlp": {"n": 1000, "d_in": 64, "d_out": 10, "layers": 3, "batch_size": 16, "epochs": 2, "precision": "fp32"},
    "simple_cnn": {"n": 1000, "batch_size": 16},
    "transformer_encoder": {"layers": 2, "hidden": 128},
    "transformer_decoder": {"layers": 2, "hidden": 128},
    "resnet50": {"n": 1000},
}


@pytest.fixture(autouse=True)
def _registry() -> Iterator[None]:
    """Remove the models that a test registered."""
    before = dict(families.REGISTERED)
    yield
    families.REGISTERED.clear()
    families.REGISTERED.update(before)


@pytest.mark.parametrize("name", PROMISED)
def test_every_promised_model_has_a_cost(name: str) -> None:
    """Each name gives parameters, FLOPs and an implementation."""
    cost = model_cost(name, PROMISED[name])
    assert cost.model == name
    assert cost.implementation
    assert cost.parameters > 0
    assert cost.forward_flops > 0
    assert cost.trained_by_gradient == (cost.family != "classical")
    assert cost.trained_by_gradient or cost.working_bytes > 0


@pytest.mark.parametrize("family", all_families(), ids=lambda family: family.name)
def test_every_key_has_a_meaning(family: ModelFamily) -> None:
    """Each key has a meaning and an expected value, and each default is within its limits."""
    for key in specification_keys(family.name):
        assert key.meaning
        assert key.expected
        if isinstance(key.default, int | float) and key.low is not None:
            assert key.default >= key.low


def test_names_are_unique() -> None:
    """No two families share a name."""
    assert len(set(model_names())) == len(model_names())


@given(st.integers(1, 200), st.integers(1, 50), st.lists(st.integers(1, 300), min_size=1, max_size=5))
def test_a_perceptron_has_a_weight_for_each_pair_and_a_bias(d_in: int, d_out: int, layers: list[int]) -> None:
    """Parameters and FLOPs are the sums over the dense layers."""
    widths = [d_in, *layers, d_out]
    expected = sum((a + 1) * b for a, b in itertools.pairwise(widths))
    cost = model_cost("mlp", {"d_in": d_in, "d_out": d_out, "layers": layers})
    assert cost.parameters == expected
    assert cost.forward_flops == 2 * sum(a * b for a, b in itertools.pairwise(widths))


def test_a_number_of_layers_means_layers_of_equal_width() -> None:
    """`layers: 2` with a width means the same as a list of two widths."""
    by_number = model_cost("mlp", {"d_in": 9, "d_out": 3, "layers": 2, "hidden": 7})
    by_list = model_cost("mlp", {"d_in": 9, "d_out": 3, "layers": [7, 7]})
    assert by_number == by_list


def test_gpt2_and_bert_follow_from_their_numbers() -> None:
    """The decoder has exactly the parameters of GPT-2 XL, the encoder those of BERT with its masked-word head."""
    gpt2 = model_cost("transformer_decoder", {"layers": 48, "hidden": 1600, "heads": 25})
    bert = model_cost("transformer_encoder", {"vocab": 30_522, "sequence": 512})
    assert gpt2.parameters == 1_557_611_200  # transformers 5.23, GPT2LMHeadModel
    assert bert.parameters == 109_514_298  # transformers 5.23, BertForMaskedLM


def test_only_transformers_have_a_shape() -> None:
    """A transformer family returns its shape, which layouts need; other families return None."""
    shape = transformer_shape("transformer_decoder", {"hidden": 256, "gated": True})
    assert shape is not None
    assert (shape.heads, shape.gated, shape.qkv_bias) == (4, True, False)
    assert transformer_shape("mlp", {"d_in": 1, "d_out": 1}) is None


def test_training_keys_are_part_of_the_cost() -> None:
    """Samples, epochs, batch and precision of a specification are passed on to the cost."""
    cost = model_cost("resnet50", {"n": 10, "batch_size": 4, "epochs": 2, "precision": "fp16"})
    assert (cost.samples, cost.batch, cost.passes, cost.precision) == (10, 4, 2, "fp16")


@pytest.mark.parametrize("value", [1e6, "1e6", "1_000_000", 1_000_000])
def test_integers_have_several_notations(value: object) -> None:
    """YAML reads `1e6` as text; the planner reads it as a million."""
    assert model_cost("kmeans", {"n": value, "p": 2}).samples == 1_000_000


@pytest.mark.parametrize(
    ("name", "specification", "key", "meant", "message"),
    [
        ("mlp", {"d_in": 1, "d_out": 1, "batchsize": 2}, "batchsize", "batch_size", "did you mean 'batch_size'"),
        ("mlp", {"d_out": 1}, "d_in", None, "is missing .*expected an integer of at least 1"),
        ("mlp", {"d_in": 0, "d_out": 1}, "d_in", None, "expected an integer of at least 1, not 0"),
        ("mlp", {"d_in": 1.5, "d_out": 1}, "d_in", None, "expected an integer of at least 1, not 1.5"),
        ("mlp", {"d_in": True, "d_out": 1}, "d_in", None, "expected an integer of at least 1, not True"),
        ("mlp", {"d_in": 1, "d_out": 1, "precision": "bf61"}, "precision", "bf16", "did you mean 'bf16'"),
        ("mlp", {"d_in": 1, "d_out": 1, "epochs": 0}, "epochs", None, "a number above 0"),
        ("mlp", {"d_in": 1, "d_out": 1, "layers": [0]}, "layers", None, "a list of widths, each at least 1"),
        ("mlp", {"d_in": 1, "d_out": 1, "batch_norm": 3}, "batch_norm", None, "expected true or false"),
        ("pca_svd", {"n": 5, "p": 5, "k": 6}, "k", None, "there are no 6 components"),
        ("xgboost_like", {"n": 5, "p": 5, "library": "h2o", "device": "gpu"}, "library", None, "does not support gpu"),
        ("transformer_decoder", {"hidden": 100, "heads": 3}, "heads", None, "3 does not divide a width of 100"),
        (
            "transformer_decoder",
            {"d_model": 64, "hidden": 32},
            "hidden",
            None,
            "contradicts d_model, another name for it",
        ),
    ],
)
def test_a_mistake_is_reported_with_its_key(
    name: str, specification: Mapping[str, object], key: str, meant: str | None, message: str
) -> None:
    """The error names the model, the key, the expected value and the nearest known name."""
    with pytest.raises(UnfitKey, match=message) as caught:
        model_cost(name, specification)
    assert (caught.value.model, caught.value.key, caught.value.nearest) == (name, key, meant)


def test_an_unknown_model_gets_a_suggestion() -> None:
    """The error for a misspelt name suggests the nearest name."""
    with pytest.raises(UnknownName, match="did you mean 'transformer_decoder'"):
        find_family("transformer_decodr")


def test_the_choices_of_precision_are_complete() -> None:
    """The key accepts exactly the precisions that the planner knows."""
    assert set(get_args(PrecisionName)) == set(PRECISIONS)


class _UserModel(ModelSpecification, frozen=True, kw_only=True):
    """Keys of a user's model."""

    width: Annotated[int, Meta(ge=1, description="width of the only layer")]


def _user_model_cost(specification: _UserModel) -> ModelCost:
    return ModelCost("own", "own", "mine", specification.width, 0, 1.0, ())


def test_a_registered_model_works_like_the_others() -> None:
    """A model that a user registers has keys, errors and a cost like the built-in ones."""
    register_model("own", _UserModel, _user_model_cost)
    assert model_cost("own", {"width": 3}).parameters == 3
    assert [key.name for key in specification_keys("own")] == ["width"]
    assert find_family("own").summary == "Keys of a user's model."
    assert "own" in model_names()
    with pytest.raises(UnfitKey, match="did you mean 'width'"):
        model_cost("own", {"widht": 3})


def test_a_name_that_is_taken_is_refused() -> None:
    """A user's model cannot replace a built-in one."""
    for taken in ("mlp", "vgg16"):
        with pytest.raises(InputError, match="another name"):
            register_model(taken, _UserModel, _user_model_cost)


@pytest.mark.parametrize(
    ("model", "others"),
    [
        ("{name: transformer_decoder, layers: 2, hidden: 64, heads: 2}", ("regnet", "swin", "published")),
        ("llama-2-7b", ()),
    ],
)
def test_only_the_module_of_the_requested_model_is_imported(model: str, others: tuple[str, ...]) -> None:
    """A plan of a transformer does not import the modules of trees or image networks."""
    code = (
        "import sys; from flyball_planner.specification.reader import read_specification;"
        "from flyball_planner.plan.make import make_plan;"
        f"make_plan(read_specification('model: {model}\\nhardware: 8xA100\\ntraining: {{steps: 1}}\\n'));"
        f"others = {('image_networks', 'trees', 'boosting', 'mlp', *others)};"
        "print([name for name in sys.modules if name.endswith(others)])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
