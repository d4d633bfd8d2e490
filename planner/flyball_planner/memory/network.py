"""The moments of all other models' trainings: networks of blocks, and classical models without gradients."""

import numpy as np

from flyball_planner.layouts.layout import Column, Layouts
from flyball_planner.memory.allocator import reserved_bytes
from flyball_planner.memory.autocast import WEIGHT_COPY_BYTES, CastWeights, weight_copies
from flyball_planner.memory.constants import Constants
from flyball_planner.memory.model_states import HeldParameters, states
from flyball_planner.memory.step_moments import StepMoment
from flyball_planner.models.cost import ModelCost
from flyball_planner.precision import WIDTHS_BYTES
from flyball_planner.training import Checkpointing, Sharding, Training

CLASSICAL_NUMBER_BYTES = 8.0  # fp64, as in scikit-learn and LAPACK


def network_moments(cost: ModelCost, training: Training, layouts: Layouts, constants: Constants) -> list[StepMoment]:
    """Return the moments of a model described by its cost; tensor and pipeline parallelism divide it evenly."""
    size = len(layouts)
    if not cost.trained_by_gradient:
        weights = np.full(size, CLASSICAL_NUMBER_BYTES * cost.parameters)
        return [StepMoment("first", "fit", {"weights": weights, "working": np.full(size, float(cost.working_bytes))})]
    share = layouts.tensor * layouts.pipeline
    parameters = np.full(size, float(cost.parameters)) / share
    nothing = np.zeros(size)
    largest = np.full(size, float(max((block.parameters for block in cost.blocks), default=cost.parameters))) / share
    held = HeldParameters(parameters, nothing, nothing, nothing, largest, nothing, largest, nothing)
    micro_batches = layouts.micro_batches(training.global_batch)
    kept = states(held, training, layouts, micro_batches)
    copied = (layouts.data > 1) & ~layouts.sharded(Sharding.ZERO1)
    always = {
        "weights": kept.weights,
        "optimizer_states": kept.optimizer,
        "communication_buffers": np.where(copied, kept.gradients, 0.0),
    }
    activations, working = _activations(cost, training, layouts, constants)
    copies, _ = weight_copies(training, layouts, CastWeights(parameters, largest_layer=largest))
    both = kept.gathered + kept.gathered_gradients
    passing = {**always, "gathered_weights": both, "working": working}
    moments: dict[str, dict[str, Column]] = {
        "backward": {**passing, "gradients": kept.first_gradients, "activations": activations, "cast_weights": copies},
        "end of backward": {**passing, "gradients": kept.gradients},
        "optimizer step": {**always, "gradients": kept.gradients, "optimizer_step": kept.transient},
    }
    return [StepMoment("first", moment, parts) for moment, parts in moments.items()]


def _activations(cost: ModelCost, training: Training, layouts: Layouts, constants: Constants) -> tuple[Column, Column]:
    """Return what is stored and what is needed to compute at the fullest moment of the backward pass."""
    each = WIDTHS_BYTES[training.precision.activations] * layouts.micro_batch / layouts.tensor / layouts.context
    fully = layouts.checkpoints(Checkpointing.FULL)
    (kept, working), (edges, again) = _fullest(cost, checkpointed=False), _fullest(cost, checkpointed=True)
    stored = np.where(fully, edges, kept) / layouts.pipeline
    return constants.activations_factor * stored * each, np.where(fully, again, working) * each


def _fullest(cost: ModelCost, *, checkpointed: bool) -> tuple[float, float]:
    """Return the numbers that all blocks up to one store, and those that its gradients need, where both are most.

    The backward pass frees the last blocks first, so that the gradients of early and large maps meet fewer stored ones.
    """
    stored, found = 0.0, (0.0, 0.0)
    for block in cost.blocks:
        edge = block.boundary_elements or block.kept_elements
        stored += block.repeats * (edge if checkpointed else block.kept_elements)
        working = block.kept_elements * (2.0 if checkpointed else 1.0)
        found = max(found, (stored, working), key=sum)
    return found


LEFT_SHARE = 0.7
"""Share of the activation blocks that do not reuse the optimizer's temporaries. Fitted on GPUMemNet's perceptrons:
0.5 deviates by -2 %, 1 by +2 %."""


def placed_cache(
    cost: ModelCost, training: Training, layouts: Layouts, allocated: Column, *, otherwise: Column
) -> Column:
    """Return what the allocator holds beyond a network's tensors, by their sizes; `otherwise` if sizes are not known.

    A classical model's arrays go back to the system when they are freed, because malloc maps each large one separately.
    """
    if not cost.trained_by_gradient:
        return np.zeros_like(otherwise)
    if not cost.blocks:
        return otherwise
    plain = (layouts.devices == 1) & layouts.checkpoints(Checkpointing.NONE)
    held = segments_bytes(cost, training, layouts)
    return np.where(plain, np.maximum(0.0, held - allocated), otherwise)


def segments_bytes(cost: ModelCost, training: Training, layouts: Layouts) -> Column:
    """Return the segments that the allocator takes for a network on one device, block by block."""
    repeats, parameters, kept = (
        np.array([[float(getattr(block, name))] for block in cost.blocks])
        for name in ("repeats", "parameters", "kept_elements")
    )
    precision = training.precision
    weights = np.broadcast_to(4.0 * parameters, (len(parameters), len(layouts)))
    activations = kept * WIDTHS_BYTES[precision.activations] * layouts.micro_batch
    copies = WIDTHS_BYTES[precision.weights] / 4 + WIDTHS_BYTES[precision.gradients] / 4 + precision.master
    copies += WEIGHT_COPY_BYTES / 4 * (precision.autocast and training.framework == "pytorch")
    copies += (training.optimizer.state_bytes + training.optimizer.transient_bytes) / 4
    counts = np.broadcast_to(repeats, weights.shape)
    return reserved_bytes(
        np.concatenate([weights, activations]), np.concatenate([copies * counts, LEFT_SHARE * counts])
    )
