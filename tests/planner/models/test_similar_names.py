"""Tests of suggestions for unknown models."""

import pytest

from flyball_planner.models.any_configuration import known_names
from flyball_planner.models.families import model_names
from flyball_planner.models.similar_names import model_question

KNOWN = (*model_names(), *known_names())


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("Gemma 3", ("gemma-3-4b", "gemma-3-27b")),
        ("granite-4.0-h-tiny", ("granite-3-8b",)),
        ("google/gemma-9", ("gemma-2-9b",)),
        ("logistic regression", ("logistic_regression_newton", "logistic_regression_sgd")),
        ("ridge", ("linear_regression_normal", "linear_regression_qr")),
    ],
)
def test_models_of_the_same_family_are_suggested(name: str, found: tuple[str, ...]) -> None:
    """An unknown size or version gets the names of its family, also for algorithms that a family covers."""
    question = model_question(name, KNOWN)
    assert question.startswith("did you mean one of ")
    assert all(each in question for each in found)


@pytest.mark.parametrize(("name", "meant"), [("gpt2-xll", "gpt2-xl"), ("mpl", "mlp"), ("resnet5", "resnet50")])
def test_a_wrong_letter_suggests_one_model(name: str, meant: str) -> None:
    """A name with one letter wrong or exchanged is not answered by its whole family."""
    assert model_question(name, KNOWN) == f"did you mean {meant!r}?"


@pytest.mark.parametrize("name", ["whisper-large-v3", "RWKV", "SDXL", "U-Net", "knn"])
def test_another_kind_of_model_gets_a_way_and_no_name(name: str) -> None:
    """A model whose family is unknown is not mistaken for one with similar letters."""
    assert "trace_module" in model_question(name, KNOWN)
