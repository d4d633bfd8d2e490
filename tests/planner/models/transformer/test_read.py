"""Shapes read from Hugging Face configurations."""

import json
from pathlib import Path

import pytest

from flyball_planner.models.transformer.counts import parameters
from flyball_planner.models.transformer.huggingface.families import FAMILIES
from flyball_planner.models.transformer.huggingface.read import shape_from_huggingface
from flyball_planner.models.transformer.shape import Head
from flyball_reports.errors import InputError

Counted = tuple[str, dict[str, object], int]
COUNTED: list[Counted] = json.loads((Path(__file__).parent / "counted.json").read_text())
"""Classes that transformers 5.18 instantiated on the meta device from these configurations, and what it counted."""


@pytest.mark.parametrize(("name", "config", "count"), COUNTED, ids=[f"{row[0]}-{at}" for at, row in enumerate(COUNTED)])
def test_parameters_are_those_of_the_instantiated_class(name: str, config: dict[str, object], count: int) -> None:
    """From a configuration follows exactly as many parameters as transformers allocates."""
    assert parameters(shape_from_huggingface({**config, "architectures": [name]})).total == count


def test_each_family_is_counted() -> None:
    """No family stands in the list without a class that was counted."""
    counted = {config["model_type"] for _, config, _ in COUNTED}
    assert [family.model_types for family in FAMILIES if not counted & set(family.model_types)] == []


def test_an_unknown_model_type_names_the_nearest() -> None:
    """A misspelt model type is told with what was probably meant."""
    with pytest.raises(InputError, match="did you mean 'qwen3'"):
        shape_from_huggingface({"model_type": "qwen_3"})


def test_a_class_tells_its_family() -> None:
    """A configuration without a model type is read by the name of its class."""
    shape = shape_from_huggingface({"architectures": ["Qwen3MoeForCausalLM"]})
    assert shape.experts is not None


def test_a_configuration_that_says_nothing_is_refused() -> None:
    """Neither type nor class: the message says which key to add."""
    with pytest.raises(InputError, match="model_type"):
        shape_from_huggingface({"hidden_size": 64})


def test_a_wrong_value_is_told_by_its_key() -> None:
    """A text where a number belongs is told with its key."""
    with pytest.raises(InputError, match="hidden_size of this llama configuration is 'wide'"):
        shape_from_huggingface({"model_type": "llama", "hidden_size": "wide"})


def test_null_is_no_default() -> None:
    """A key that is null switches off what the family has by default."""
    assert shape_from_huggingface({"model_type": "mistral"}).sliding_window == 4096
    assert shape_from_huggingface({"model_type": "mistral", "sliding_window": None}).sliding_window == 0


def test_what_stands_on_top_follows_the_class() -> None:
    """A classifier has labels instead of a vocabulary to predict."""
    config = {
        "model_type": "bert",
        "architectures": ["BertForSequenceClassification"],
        "num_labels": 3,
    }
    shape = shape_from_huggingface(config)
    assert (shape.head, shape.labels, shape.pooler) == (Head.LABELS, 3, True)
