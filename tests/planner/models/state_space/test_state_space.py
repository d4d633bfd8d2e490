"""Tests of state-space models: parameters, FLOPs and activations."""

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from flyball_planner.models.any_configuration import named_subject, subject_from_huggingface
from flyball_planner.models.cost import ModelCost, OperatorKind
from flyball_planner.models.state_space.named import MODEL_TYPES
from flyball_planner.models.transformer.shape import TransformerShape
from flyball_planner.specification.reader import read_specification
from flyball_reports.errors import InputError
from flyball_reports.specification.problems import SpecificationError

Counted = tuple[str, dict[str, object], int]
COUNTED: list[Counted] = json.loads((Path(__file__).parent / "counted.json").read_text())
"""Class, configuration and the parameters counted by transformers 5.24 after instantiation on the meta device."""

MAMBA = {"model_type": "mamba", "hidden_size": 2560, "num_hidden_layers": 64}
MAMBA2 = {"model_type": "mamba2", "hidden_size": 2560, "num_hidden_layers": 64, "num_heads": 80}


def cost(config: dict[str, object], sequence: int = 2048) -> ModelCost:
    """Return the cost of a state-space configuration."""
    found = subject_from_huggingface(config, sequence)
    assert isinstance(found, ModelCost)
    return found


@pytest.mark.parametrize(("name", "config", "count"), COUNTED, ids=[f"{row[0]}-{at}" for at, row in enumerate(COUNTED)])
def test_parameters_match_the_instantiated_class(name: str, config: dict[str, object], count: int) -> None:
    """A configuration gives exactly the number of parameters that transformers allocates."""
    assert cost({**config, "architectures": [name]}).parameters == count


@pytest.mark.parametrize(
    ("name", "count"), [("ai21labs/AI21-Jamba-1.5-Large", 398_555_145_696), ("AI21 Jamba 1.5 Mini", 51_570_323_328)]
)
def test_named_models_have_the_parameters_of_their_class(name: str, count: int) -> None:
    """Names with their owner and with spaces give what transformers allocates: 398B and 52B on AI21's model card."""
    found = named_subject(name, 4096)
    assert isinstance(found, ModelCost)
    assert found.parameters == count


def test_every_family_is_counted() -> None:
    """Each type that can be read has a class that was counted."""
    assert {config["model_type"] for _, config, _ in COUNTED} == MODEL_TYPES


@pytest.mark.parametrize("config", [MAMBA, MAMBA2])
def test_forward_flops_are_about_twice_the_parameters(config: dict[str, object]) -> None:
    """A token costs about 2 FLOPs per parameter, and a longer sequence costs no more per token."""
    short, long = (cost(config, length).forward_flops / length for length in (1024, 8192))
    assert short == pytest.approx(long)
    assert 2.0 < short / cost(config).parameters < 2.5


def test_activations_grow_with_the_sequence_alone() -> None:
    """A layer of Mamba keeps its inputs, the scan's output and the selection, but no states per position."""
    block = cost(MAMBA).blocks[1]
    per_token = block.kept_elements / 2048
    inner = 2 * 2560
    assert 3 * inner < per_token < 3 * inner + 4 * 2560
    assert block.boundary_elements < block.kept_elements / 3


def test_a_hybrid_has_attention_and_experts() -> None:
    """Jamba has four attention layers of 32, and experts in every second layer."""
    blocks = {block.name: block.repeats for block in cost({"model_type": "jamba"}).blocks}
    assert blocks["attention layer"] == 4
    assert blocks["state-space layer with experts"] == 16
    kinds = {operator.kind for block in cost({"model_type": "jamba"}).blocks for operator in block.operators}
    assert OperatorKind.ATTENTION in kinds


def test_transformers_remain_shapes() -> None:
    """A configuration without state-space layers is a transformer's shape."""
    assert isinstance(subject_from_huggingface({"model_type": "llama"}), TransformerShape)


def test_a_specification_may_train_mamba() -> None:
    """A plan's specification takes the configuration, and its sequence decides the work of a sample."""
    text = (
        "model: {huggingface: {model_type: mamba2, hidden_size: 1024, num_hidden_layers: 4, num_heads: 32}}\n"
        "hardware: A100_80GB_fp16\ntraining: {sequence: 4096, batch_size: 8, steps: 10}\n"
    )
    subject = read_specification(text).subject
    assert isinstance(subject, ModelCost)
    assert "4096 tokens" in subject.assumptions[0]


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("mamba-130m", 129_135_360),
        ("state-spaces/mamba-2.8b-hf", 2_768_345_600),
        ("mamba2-2.7b", 2_702_599_680),
        ("falcon-mamba-7b", 7_272_665_088),
        ("codestral-mamba-7b", 7_285_403_648),
    ],
)
def test_published_models_are_known_by_name(name: str, count: int) -> None:
    """Well-known state-space models have the parameters that their authors published."""
    found = named_subject(name, 1024)
    assert isinstance(found, ModelCost)
    assert found.parameters == count


def test_a_name_is_enough_for_a_plan() -> None:
    """A specification takes the name of a state-space model, and a misspelt one gets the nearest."""
    assert isinstance(read_specification("model: mamba-2.8b\nhardware: A100_80GB_fp16\n").subject, ModelCost)
    with pytest.raises(SpecificationError, match="did you mean"):
        read_specification("model: mamba-2.8\nhardware: A100_80GB_fp16\n")


@pytest.mark.parametrize(("name", "attends"), [("mamba-130m", False), ("mamba2-1.3b", False), ("jamba-v0.1", True)])
def test_growth_is_square_only_with_attention(name: str, attends: bool) -> None:
    """The stated class has s² where the model attends, and the counted work of others doubles with the sequence."""
    once, twice = (named_subject(name, sequence) for sequence in (4096, 8192))
    assert isinstance(once, ModelCost)
    assert isinstance(twice, ModelCost)
    assert once.complexity is not None
    assert ("s²" in once.complexity.training) == attends
    ratio = twice.forward_flops / once.forward_flops
    assert ratio > 2.001 if attends else ratio == pytest.approx(2)


def test_one_token_takes_the_work_of_one_token() -> None:
    """The blocks for generation are those of a sequence of one token."""
    found = named_subject("mamba-130m", 2048)
    assert isinstance(found, ModelCost)
    assert found.generation is not None
    token = replace(found, blocks=found.generation.token)
    assert token.forward_flops == pytest.approx(found.forward_flops / 2048, rel=0.01)


@pytest.mark.parametrize("model_type", ["jamba", "bamba"])
def test_a_wrong_setting_has_the_name_that_the_configuration_uses(model_type: str) -> None:
    """A hybrid calls the expansion mamba_expand, and so does the error."""
    with pytest.raises(InputError, match=f"mamba_expand of this {model_type} configuration is 'wide'"):
        subject_from_huggingface({"model_type": model_type, "mamba_expand": "wide"})
