"""The host's work once a step: the training loop, and the operators of the optimizer."""

from flyball_planner.catalogue.hardware import ComputeDevice, DeviceKind
from flyball_planner.timing.collectives import Column
from flyball_planner.training import Optimizer, Training

TENSORS_A_LAYER = 10.0  # weights, norms and some biases of a transformer's layer
USUAL_TENSORS = 300.0  # of a language model with thirty layers, for which the coefficient `fixed` holds
LOOP_TENSORS = 6.0
"""Time of the loop, the loss and clearing gradients, in tensors updated by AdamW: 0.1 ms. Measured like all shares
below with PyTorch 2.13 on a core of an x86 processor: perceptrons of 1 to 17 layers that are 16 units wide."""
WITHOUT_STATE, ONE_MOMENT = 0.15, 0.3  # of AdamW's time for a tensor
UNGROUPED = 1.85  # on processors, whose optimizers update one tensor after the other (foreach is off)
PROCESSOR_LAUNCHES = 0.2  # of the cost of launching a kernel: 7 µs for an operator, without a driver


def overhead(tensors: Column, training: Training, device: ComputeDevice) -> Column:
    """Return the work of a step as a multiple of a usual language model's."""
    share = _optimizer_share(training.optimizer)
    looped = UNGROUPED if device.kind is DeviceKind.CPU else 1.0
    found: Column = (LOOP_TENSORS + looped * share * tensors) / (LOOP_TENSORS + USUAL_TENSORS)
    return found


def _optimizer_share(optimizer: Optimizer) -> float:
    """Return the time for a tensor relative to AdamW's. States in formats of their own are updated by as many calls."""
    if not optimizer.state_bytes:
        return WITHOUT_STATE
    return ONE_MOMENT if optimizer.moments == 1 else 1.0


def launch_share(device: ComputeDevice) -> float:
    """Return the cost of an operator's call relative to launching a kernel on an accelerator."""
    return PROCESSOR_LAUNCHES if device.kind is DeviceKind.CPU else 1.0
