"""The size of a checkpoint."""

from flyball_planner.models.cost import ModelCost
from flyball_planner.models.transformer.added_weights import added_parameters
from flyball_planner.models.transformer.counts import parameters
from flyball_planner.models.transformer.shape import TransformerShape
from flyball_planner.precision import WIDTHS_BYTES
from flyball_planner.training import Method, Training

MASTER_BYTES = 4.0  # per parameter, in fp32


def checkpoint_bytes(subject: TransformerShape | ModelCost, training: Training) -> float:
    """Return the bytes of the trained weights, their master copies and the optimizer's states.

    Frozen weights do not change, so they are not saved again: PEFT saves the additions alone.
    """
    precision = training.precision
    master = MASTER_BYTES if precision.master else 0.0
    each = WIDTHS_BYTES[precision.weights] + master + training.optimizer.state_bytes
    return trained_parameters(subject, training) * each


def trained_parameters(subject: TransformerShape | ModelCost, training: Training) -> int:
    """Return all parameters, or the added ones if the others are frozen."""
    if isinstance(subject, ModelCost):
        return subject.parameters
    return parameters(subject).total if training.method is Method.FULL else added_parameters(subject, training)
