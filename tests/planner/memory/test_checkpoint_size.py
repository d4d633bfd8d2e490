"""Tests of the size of checkpoints."""

import pytest
from msgspec.structs import replace

from flyball_planner.memory.checkpoint_size import checkpoint_bytes
from flyball_planner.models.transformer.added_weights import added_parameters
from flyball_planner.models.transformer.counts import parameters
from flyball_planner.precision import PRECISIONS
from flyball_planner.training import Lora, Method
from tests.planner.memory.test_estimate import SHAPE, TRAINING

MIXED = replace(TRAINING, precision=PRECISIONS["bf16"])


def test_a_checkpoint_of_all_weights_has_their_states() -> None:
    """In mixed precision AdamW's checkpoint has 14 bytes per parameter: the weight, its fp32 copy, two moments."""
    assert checkpoint_bytes(SHAPE, MIXED) == 14 * parameters(SHAPE).total


@pytest.mark.parametrize("method", [Method.LORA, Method.QLORA, Method.IA3, Method.PROMPT])
def test_a_checkpoint_over_frozen_weights_has_the_additions_alone(method: Method) -> None:
    """Frozen weights are not saved again."""
    training = replace(MIXED, method=method, lora=Lora(8, ("q", "v")))
    assert checkpoint_bytes(SHAPE, training) == 14 * added_parameters(SHAPE, training) > 0
