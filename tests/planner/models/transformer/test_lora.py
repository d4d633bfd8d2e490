"""Tests of the parameters that LoRA adds."""

import pytest

from flyball_planner.models.transformer.lora import lora_parameters, lora_targets
from flyball_planner.models.transformer.named_shapes import named_shape
from flyball_planner.training import Lora
from flyball_reports.errors import UnknownName


@pytest.mark.parametrize(
    ("model", "lora", "expected"),
    [
        # 32 layers × 8 × ((4096 + 4096) + (4096 + 4096)): the count that PEFT prints for Llama-2-7B's q_proj and v_proj
        ("llama-2-7b", Lora(8, ("q", "v")), 4_194_304),
        ("llama-3.1-8b", Lora(8, ("q", "v")), 32 * 8 * (4096 + 4096 + 4096 + 1024)),
        ("llama-3.1-8b", Lora(16, ("all",)), 41_943_040),
        ("mixtral-8x7b", Lora(8, ("down",)), 32 * 8 * 8 * (14_336 + 4096)),
    ],
)
def test_lora_adds_rank_times_both_widths(model: str, lora: Lora, expected: int) -> None:
    """Each target adds rank × (input width + output width), in each layer and expert."""
    assert lora_parameters(named_shape(model), lora) == expected


def test_targets_have_the_names_of_several_libraries() -> None:
    """Names of PEFT and torchtune map to the same matrices, each listed once."""
    assert lora_targets(["q_proj", "output_proj", "w2", "q"]) == ("q", "o", "down")


def test_an_unknown_target_gets_a_suggestion() -> None:
    """An unknown matrix is refused, and the error suggests the nearest name."""
    with pytest.raises(UnknownName, match="gate_proj"):
        lora_targets(["gate_prj"])


def test_a_matrix_that_a_model_lacks_adds_nothing() -> None:
    """GPT-2 has no gate matrix, so the target `gate` adds nothing."""
    shape = named_shape("gpt2")
    assert lora_parameters(shape, Lora(8, ("up", "down", "gate"))) == lora_parameters(shape, Lora(8, ("up", "down")))
