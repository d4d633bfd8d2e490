"""Tests of models that users register as a function."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from flyball_planner.api import plan
from flyball_planner.models.families import REGISTERED, model_cost, model_names, register_model, specification_keys
from flyball_planner.models.registered import FIGURES
from flyball_reports.errors import InputError

NAME = "my_custom_model"


@pytest.fixture(autouse=True)
def unregister() -> Iterator[None]:
    """Remove the registered models after each test."""
    yield
    REGISTERED.clear()


def figures(spec: Mapping[str, Any]) -> dict[str, object]:
    """Return the figures of a small model."""
    weights = spec["d"] * spec["k"]
    return {
        "params": weights,
        "train_flops": 6.0 * weights * spec["n"] * spec.get("epochs", 1),
        "infer_flops_per_sample": 2 * weights,
        "complexity_class": "O(n·d·k)",
        "algorithm": "alternating projections",
    }


def returning(**changed: object) -> None:
    """Register a model that returns other figures; None removes one."""

    @register_model(NAME)
    def changed_figures(spec: Mapping[str, Any]) -> dict[str, object]:
        return {key: value for key, value in {**figures(spec), **changed}.items() if value is not None}


def test_the_decorator_returns_the_function() -> None:
    """A registered function can still be called, and its model is listed with the first line of its docstring."""
    assert register_model(NAME)(figures) is figures
    assert NAME in model_names()
    assert REGISTERED[NAME].summary == "Return the figures of a small model."
    assert [key.name for key in specification_keys(NAME)] == ["n", "batch_size", "epochs", "precision"]


def test_a_fit_has_the_returned_figures() -> None:
    """Without a batch the model is fitted as a whole, with the FLOPs of the complete training."""
    register_model(NAME)(figures)
    made = plan(model={"name": NAME, "n": 10_000, "d": 64, "k": 16, "epochs": 10}, hardware="RTX_4090_fp16")
    assert made.model.parameters == 1024
    assert made.computation.training_flops == pytest.approx(6.0 * 1024 * 10_000 * 10)
    assert made.model.implementation == "alternating projections"
    assert made.computation.arithmetic_intensity_flops_per_byte > 0
    assert made.model.inference_flops_per_sample == 2048
    assert made.model.complexity is not None
    assert made.model.complexity.training == "O(n·d·k)"
    assert any(NAME in each for each in made.assumptions)


def test_steps_have_the_returned_figures() -> None:
    """With a batch the model is trained in steps, whose FLOPs add up to those of the training."""
    register_model(NAME)(figures)
    spec = {"name": NAME, "spec": {"n": 10_240, "d": 4096, "k": 1024, "epochs": 2, "batch_size": 1024}}
    made = plan(model=spec, hardware="RTX_4090_fp16", training={"optimizer": "sgd"})
    assert made.training.steps == 20
    assert made.training.optimizer == "sgd"
    assert made.computation.training_flops == pytest.approx(6.0 * 4096 * 1024 * 10_240 * 2)
    assert made.memory.verdict == "fits"


def test_more_work_takes_longer() -> None:
    """Ten times the operations of a fit take ten times as long."""
    times = []
    for factor in (1e12, 1e13):
        returning(train_flops=factor, params=10**6)
        made = plan(model={"name": NAME, "n": 1000, "d": 8, "k": 8}, hardware="CPU_8C_3.5Ghz_baseline")
        times.append(made.computation.step_seconds.middle)
    assert times[1] == pytest.approx(10 * times[0], rel=0.01)


def test_the_function_receives_the_keys_as_written() -> None:
    """The planner's other names for keys do not change what the function sees."""
    seen: list[dict[str, Any]] = []

    @register_model(NAME)
    def watched(spec: dict[str, Any]) -> dict[str, object]:
        seen.append(dict(spec))
        return {"params": 1, "train_flops": 1.0}

    model_cost(NAME, {"n_samples": 5, "d_model": 3, "weight_decay": 0.1})
    assert seen == [{"n_samples": 5, "d_model": 3, "weight_decay": 0.1}]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"params": None}, f"model {NAME}: its function returned no 'params'; expected the number of parameters"),
        ({"params": -1}, "'params': expected the number of parameters, an integer of at least 0, not -1"),
        ({"params": True}, "'params': expected the number of parameters"),
        ({"train_flops": "many"}, "'train_flops': expected the floating-point operations of the complete training"),
        ({"train_flops": 0}, "'train_flops': expected .* a number above 0, not 0"),
        ({"train_flops": float("inf")}, "'train_flops': expected"),
        ({"infer_flops_per_sample": [1]}, "'infer_flops_per_sample': expected the operations of one prediction"),
        ({"complexity_class": 2}, r"'complexity_class': expected a text such as O\(n·d\), not 2"),
        ({"trained_by_gradient": "yes"}, "'trained_by_gradient': expected True or False, not 'yes'"),
        ({"train_flop": 1.0}, r"unknown key 'train_flop'; did you mean 'train_flops'\?"),
    ],
)
def test_wrong_figures_are_errors(changed: dict[str, object], message: str) -> None:
    """An error names the model, the figure and what was expected."""
    returning(**changed)
    with pytest.raises(InputError, match=message):
        model_cost(NAME, {"n": 10, "d": 2, "k": 2})


def test_steps_need_the_number_of_samples() -> None:
    """The FLOPs of the training can only be divided among steps if the samples are known."""
    register_model(NAME)(lambda _: {"params": 4, "train_flops": 1e9})
    with pytest.raises(InputError, match="lacks n, the number of samples"):
        model_cost(NAME, {"batch_size": 8})


def test_a_failing_function_is_an_error_with_its_place() -> None:
    """A missing key is named, and any other failure has the file and line of the function."""

    @register_model(NAME)
    def failing(spec: Mapping[str, Any]) -> dict[str, object]:
        return {"params": 1, "train_flops": spec["n"] / spec["d"]}

    with pytest.raises(InputError, match="reads the key 'd', which the specification lacks"):
        model_cost(NAME, {"n": 1})
    with pytest.raises(InputError, match=r"failed at .*test_registered\.py:\d+: ZeroDivisionError"):
        model_cost(NAME, {"n": 1, "d": 0})


@pytest.mark.parametrize("returned", [None, 3, [("params", 1)]])
def test_only_a_dictionary_is_accepted(returned: object) -> None:
    """A function that returns something else is an error that names the required figures."""
    register_model(NAME)(lambda _: returned)  # type: ignore[type-var]  # the fault under test
    with pytest.raises(InputError, match="expected a dictionary with params, train_flops"):
        model_cost(NAME, {})


@pytest.mark.parametrize(
    "name", ["mlp", "resnet50", "ResNet-50", "gpt2", "meta-llama/Llama-3.1-8B", "mamba-130m", "", "  "]
)
def test_a_name_is_new(name: str) -> None:
    """A model of the planner cannot be replaced, in whichever spelling, and a name is not empty."""
    with pytest.raises(InputError, match=r"already has a model|expected a name"):
        register_model(name)(figures)


def test_the_same_name_again_replaces_an_own_model() -> None:
    """A notebook cell that registers a model can be run twice, and the last function counts."""
    register_model(NAME)(figures)
    returning(params=10**6)
    assert model_cost(NAME, {"n": 10, "d": 2, "k": 2}).parameters == 10**6


def test_a_name_is_needed() -> None:
    """The decorator without a name is an error that shows how it is written."""
    with pytest.raises(InputError, match=r"@register_model\('my_model'\)"):
        register_model(figures)  # type: ignore[call-overload]  # the fault under test


def test_every_figure_is_documented() -> None:
    """Each figure describes what it expects."""
    assert all(figure.expected for figure in FIGURES.values())
    assert {"params", "train_flops", "infer_flops_per_sample", "complexity_class", "algorithm"} <= FIGURES.keys()
