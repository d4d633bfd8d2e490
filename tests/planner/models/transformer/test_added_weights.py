"""Tests of the parameters that other methods than LoRA add; the numbers are those that PEFT 0.21 counts."""

import pytest

from flyball_planner.models.transformer.added_weights import added_parameters
from flyball_planner.models.transformer.named_shapes import named_shape
from flyball_planner.optimizers import find_optimizer
from flyball_planner.training import Lora, Method, Training

TRAINING = Training(1024, 8, find_optimizer("adamw"))


def added(model: str, method: Method, **settings: object) -> int:
    """Return the added parameters of a well-known model."""
    training = Training(1024, 8, find_optimizer("adamw"), method=method, **settings)  # type: ignore[arg-type]
    return added_parameters(named_shape(model), training)


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        (Method.FULL, 0),
        # 32 layers × (8 × 4 × 4096 + 2 × 4096 lengths)
        (Method.DORA, 4_194_304 + 32 * 2 * 4096),
        # keys, values and the inner width: 32 × (4096 + 4096 + 11008)
        (Method.IA3, 614_400),
        # 20 tokens × 32 layers × keys and values of 4096
        (Method.PREFIX, 5_242_880),
        (Method.PROMPT, 81_920),
        # 32 layers × 2 × (4096 × 64 + 64 + 64 × 4096 + 4096)
        (Method.BOTTLENECK, 33_820_672),
    ],
)
def test_each_method_adds_its_own_parameters_to_llama_2_7b(method: Method, expected: int) -> None:
    """The added parameters of Llama 2 7B follow from its widths."""
    assert added("llama-2-7b", method, lora=Lora(8, ("q", "v"))) == expected


def test_grouped_keys_shrink_prefixes_and_factors() -> None:
    """With a quarter of the key-value heads, prefixes have a quarter of the parameters."""
    assert added("llama-3.1-8b", Method.PREFIX) * 4 == added("llama-2-7b", Method.PREFIX)
    assert added("llama-3.1-8b", Method.IA3) == 32 * (2 * 1024 + 14_336)


def test_an_encoder_decoder_has_virtual_tokens_at_both_stacks() -> None:
    """Prompt tuning of T5 adds tokens before the encoder's and before the decoder's sequence."""
    assert added("t5-small", Method.PROMPT, virtual_tokens=10) == 2 * 10 * 512
