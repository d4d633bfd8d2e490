"""The size of a checkpoint."""

from flyball_planner.models.cost import ModelCost
from flyball_planner.models.transformer.counts import parameters
from flyball_planner.models.transformer.shape import TransformerShape
from flyball_planner.precision import WIDTHS_BYTES
from flyball_planner.training import Training

MASTER_BYTES = 4.0  # per parameter, in fp32


def checkpoint_bytes(subject: TransformerShape | ModelCost, training: Training) -> float:
    """Return the bytes of the weights, their master copies and the optimizer's states."""
    count = parameters(subject).total if not isinstance(subject, ModelCost) else subject.parameters
    precision = training.precision
    master = MASTER_BYTES if precision.master else 0.0
    return count * (WIDTHS_BYTES[precision.weights] + master + training.optimizer.state_bytes)
