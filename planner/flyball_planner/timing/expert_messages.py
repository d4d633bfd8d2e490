"""The assumption about messages between experts, which decides the step of a large mixture of experts."""

from flyball_planner.layouts.layout import ParallelLayout
from flyball_planner.models.cost import ModelCost
from flyball_planner.models.transformer.shape import TransformerShape
from flyball_planner.timing.frameworks import EXPERT_OVERLAPPING
from flyball_planner.training import Training

HIDDEN = (
    "tokens for experts on other devices are exchanged while another chunk of the pipeline computes, as in "
    "Megatron-Core with overlap_moe_expert_parallel_comm and in DeepSeek-V3's training (DualPipe)"
)
EXPOSED = (
    "computing waits while tokens are exchanged with experts on other devices; Megatron-Core (framework: megatron, "
    "overlap_moe_expert_parallel_comm) hides it in a pipeline with several chunks per stage (layout.interleave), and "
    "DualPipe in one of both directions (layout.bidirectional)"
)


def hides_experts(training: Training, layout: ParallelLayout) -> bool:
    """Return True if a step computes while it exchanges tokens between experts."""
    return (layout.interleave > 1 or layout.bidirectional) and training.framework in EXPERT_OVERLAPPING


def expert_assumption(subject: TransformerShape | ModelCost, training: Training, layout: ParallelLayout) -> str:
    """Return what is assumed about messages between experts; empty if no expert is on another device."""
    if not isinstance(subject, TransformerShape) or subject.experts is None or layout.expert == 1:
        return ""
    return HIDDEN if hides_experts(training, layout) else EXPOSED
