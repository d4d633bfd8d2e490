"""Tests of well-known models found by name."""

import json
from pathlib import Path

import pytest

from flyball_planner.models.transformer.counts import parameters
from flyball_planner.models.transformer.named_shapes import find_named, named_shape, shape_names
from flyball_reports.errors import UnknownName

COUNTED: dict[str, int] = json.loads((Path(__file__).parent / "counted_named.json").read_text())
"""Parameters counted by transformers 5.18 after instantiating each configuration on the meta device."""


@pytest.mark.parametrize("name", COUNTED)
def test_a_known_model_has_the_parameters_of_its_class(name: str) -> None:
    """A name gives exactly the number of parameters that transformers allocates."""
    assert parameters(named_shape(name)).total == COUNTED[name]


@pytest.mark.parametrize(
    ("spelling", "name"),
    [
        ("Llama 3.1 8B", "llama-3.1-8b"),
        ("LLAMA3.1_405B", "llama-3.1-405b"),
        ("meta-llama/Llama-2-7b-chat-hf", "llama-2-7b"),
        ("Mistral-7B-Instruct-v0.2", "mistral-7b-v0.2"),
        ("microsoft/Phi-3-mini-4k-instruct", "phi-3-mini"),
        ("Qwen3_30B_a3B", "qwen3-30b-a3b"),
        ("bert_large_squad", "bert-large"),
        ("meta-llama/Meta-Llama-3-8B", "llama-3-8b"),
        ("Qwen/Qwen3-8B-Base", "qwen3-8b"),
        ("Ministral-8B-Instruct-2410", "ministral-8b"),
        ("ViT-L/16", "vit-large-patch16-224"),
        ("T5-XXL", "flan-t5-xxl"),
    ],
)
def test_spelling_does_not_matter(spelling: str, name: str) -> None:
    """Case, punctuation, the owner and suffixes such as "chat" do not matter."""
    assert find_named(spelling) is find_named(name)


@pytest.mark.parametrize(
    ("dated", "name"),
    [
        ("mistralai/Mistral-Small-Instruct-2409", "mistral-small-22b"),
        ("mistralai/Mistral-Small-24B-Instruct-2501", "mistral-small-24b"),
        ("mistralai/Mistral-Large-Instruct-2411", "mistral-large-123b"),
        ("Qwen/Qwen3-30B-A3B-Instruct-2507", "qwen3-30b-a3b"),
        ("swiss-ai/Apertus-70B-Instruct-2509", "apertus-70b"),
    ],
)
def test_a_date_in_a_name_finds_the_model_of_its_size(dated: str, name: str) -> None:
    """The date of a release does not matter beside a size, and decides which model is meant without one."""
    assert find_named(dated) is find_named(name)


def test_an_unknown_release_is_not_taken_for_another_one() -> None:
    """A dated name without a size that is not known finds nothing: newer releases have other sizes."""
    with pytest.raises(UnknownName):
        find_named("mistral-large-2512")


def test_names_do_not_collide() -> None:
    """Each name finds its own model."""
    assert all(find_named(name).names[0] == name for name in shape_names())


def test_an_unknown_name_gets_a_suggestion() -> None:
    """The error for a misspelt name suggests the nearest name."""
    with pytest.raises(UnknownName, match=r"llama-3\.1-8b"):
        named_shape("lama-3.1-8b")
