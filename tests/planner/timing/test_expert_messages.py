"""Tests of the assumption about messages between experts."""

import pytest

from flyball_planner.layouts.layout import ParallelLayout
from flyball_planner.models.families import model_cost
from flyball_planner.models.transformer.named_shapes import named_shape
from flyball_planner.optimizers import find_optimizer
from flyball_planner.timing.expert_messages import EXPOSED, HIDDEN, expert_assumption
from flyball_planner.training import Training

CHUNKS = ParallelLayout(64, pipeline=4, interleave=2, expert=8)
STAGES = ParallelLayout(64, pipeline=4, expert=8)
BOTH_WAYS = ParallelLayout(64, pipeline=4, bidirectional=True, expert=8)


@pytest.mark.parametrize(
    ("framework", "layout", "assumed"),
    [
        ("megatron", CHUNKS, HIDDEN),
        ("megatron", BOTH_WAYS, HIDDEN),
        ("megatron", STAGES, EXPOSED),
        ("pytorch", CHUNKS, EXPOSED),
        ("megatron", ParallelLayout(64, pipeline=4, interleave=2), ""),
    ],
)
def test_the_assumption_follows_from_framework_and_layout(framework: str, layout: ParallelLayout, assumed: str) -> None:
    """Megatron hides messages in pipelines with chunks or both directions; undistributed experts have none."""
    training = Training(4096, 1024, find_optimizer("adamw"), framework=framework)
    assert expert_assumption(named_shape("mixtral-8x7b"), training, layout) == assumed


def test_models_without_experts_need_no_assumption() -> None:
    """A dense transformer and an image network send nothing to experts."""
    training = Training(4096, 1024, find_optimizer("adamw"), framework="megatron")
    assert expert_assumption(named_shape("llama-2-7b"), training, CHUNKS) == ""
    assert expert_assumption(model_cost("resnet50", {}), training, CHUNKS) == ""
