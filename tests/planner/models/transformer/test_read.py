"""Tests of reading shapes from Hugging Face configurations."""

import json
from pathlib import Path

import pytest

from flyball_planner.models.transformer.counts import parameters
from flyball_planner.models.transformer.huggingface.families import FAMILIES
from flyball_planner.models.transformer.huggingface.reader import shape_from_huggingface
from flyball_planner.models.transformer.named_shapes import named_shape
from flyball_planner.models.transformer.shape import Head
from flyball_reports.errors import InputError

Counted = tuple[str, dict[str, object], int]
COUNTED: list[Counted] = json.loads((Path(__file__).parent / "counted.json").read_text())
"""Class, configuration and the parameters counted by transformers 5.18 or 5.24 after instantiation on the meta device.
InternLM2 has no class there: the count is that of Llama's with its settings, whose products are the same."""


@pytest.mark.parametrize(("name", "config", "count"), COUNTED, ids=[f"{row[0]}-{at}" for at, row in enumerate(COUNTED)])
def test_parameters_match_the_instantiated_class(name: str, config: dict[str, object], count: int) -> None:
    """A configuration gives exactly the number of parameters that transformers allocates."""
    assert parameters(shape_from_huggingface({**config, "architectures": [name]})).total == count


def test_each_family_is_counted() -> None:
    """Every family has at least one class that was counted."""
    counted = {config["model_type"] for _, config, _ in COUNTED}
    assert [family.model_types for family in FAMILIES if not counted & set(family.model_types)] == []


def test_an_unknown_model_type_names_the_nearest() -> None:
    """The error for a misspelt model type suggests the nearest one."""
    with pytest.raises(InputError, match="did you mean 'qwen3'"):
        shape_from_huggingface({"model_type": "qwen_3"})


def test_the_family_follows_from_the_class() -> None:
    """The family of a configuration without a model type is found by the name of its class."""
    shape = shape_from_huggingface({"architectures": ["Qwen3MoeForCausalLM"]})
    assert shape.experts is not None


def test_a_configuration_without_type_and_class_is_refused() -> None:
    """Without type and class the error names the key to add."""
    with pytest.raises(InputError, match="model_type"):
        shape_from_huggingface({"hidden_size": 64})


def test_a_wrong_value_is_reported_with_its_key() -> None:
    """A text instead of a number is reported with its key."""
    with pytest.raises(InputError, match="hidden_size of this llama configuration is 'wide'"):
        shape_from_huggingface({"model_type": "llama", "hidden_size": "wide"})


def test_null_overrides_the_default() -> None:
    """A null value turns off a default of the family."""
    assert shape_from_huggingface({"model_type": "mistral"}).sliding_window == 4096
    assert shape_from_huggingface({"model_type": "mistral", "sliding_window": None}).sliding_window == 0


def test_the_head_follows_from_the_class() -> None:
    """A classifier has a head for labels instead of a vocabulary."""
    config = {
        "model_type": "bert",
        "architectures": ["BertForSequenceClassification"],
        "num_labels": 3,
    }
    shape = shape_from_huggingface(config)
    assert (shape.head, shape.labels, shape.pooler) == (Head.LABELS, 3, True)


@pytest.mark.parametrize(
    ("name", "groups", "chosen"),
    [("deepseek-v3", 8, 4), ("deepseek-v2", 8, 3), ("kimi-k2", 1, 1), ("mixtral-8x7b", 1, 1)],
)
def test_routers_that_choose_groups_of_experts_are_read(name: str, groups: int, chosen: int) -> None:
    """DeepSeek's tokens go to few groups of experts (n_group, topk_group); Kimi's and Mixtral's go to any."""
    experts = named_shape(name).experts
    assert experts is not None
    assert (experts.groups, experts.chosen_groups) == (groups, chosen)


def test_a_model_with_images_names_the_part_that_can_be_planned() -> None:
    """The error for an unknown wrapper of a known language model names what to pass instead."""
    with pytest.raises(InputError, match=r"pass the keys of its text_config \(llama\)"):
        shape_from_huggingface({"model_type": "llava", "text_config": {"model_type": "llama"}})


def test_a_wrapper_whose_part_has_no_usable_type_is_unknown() -> None:
    """A `model_type` inside `text_config` that is not text leads to the usual error, not to a crash."""
    with pytest.raises(InputError, match="llava"):
        shape_from_huggingface({"model_type": "llava", "text_config": {"model_type": ["llama"]}})
