"""Single changes of a training that would free memory."""

from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from flyball_planner.catalogue.hardware import ComputeDevice
from flyball_planner.layouts.layout import Layouts, ParallelLayout
from flyball_planner.layouts.rules import allowed
from flyball_planner.memory.constants import CONSTANTS, Constants
from flyball_planner.memory.estimate import MemoryEstimate, Subject, estimate_memory
from flyball_planner.memory.verdict import Fit, fits
from flyball_planner.optimizers import find_optimizer
from flyball_planner.precision import PRECISIONS, NumberFormat
from flyball_planner.training import Attention, Checkpointing, Offload, Sharding, Training

LEAST_SAVING = 0.01  # share of the peak; smaller savings are not reported


class MemoryChange(Struct, frozen=True):
    """A change, what it frees, and whether the training fits with it."""

    what: str  # as advice: "store only the input of each layer (full checkpointing)"
    training: Training
    layout: ParallelLayout
    saved_bytes: float
    fit: Fit


def single_changes(
    subject: Subject,
    training: Training,
    layout: ParallelLayout,
    device: ComputeDevice,
    constants: Constants = CONSTANTS,
) -> list[MemoryChange]:
    """Return every single change that saves enough, the one with the largest saving first."""
    moved = list(_layout_changes(layout))
    several = estimate_memory(subject, training, Layouts.of(layout, *(each for _, each in moved)), device, constants)
    before, found = float(several.driver.middle[0]), []
    for row, (what, each) in enumerate(moved, 1):
        found.append(_change(what, training, each, before, several, row))
    for what, changed in _training_changes(training, device):
        after = estimate_memory(subject, changed, Layouts.of(layout), device, constants)
        found.append(_change(what, changed, layout, before, after, 0))
    saving = (each for each in found if each.saved_bytes >= LEAST_SAVING * before)
    return sorted(saving, key=lambda change: -change.saved_bytes)


def possible_changes(
    subject: Subject,
    training: Training,
    layout: ParallelLayout,
    device: ComputeDevice,
    constants: Constants = CONSTANTS,
) -> list[MemoryChange]:
    """Return the single changes that break no rule; a layout that no search proposes is judged as a chosen one."""
    chosen = not allowed(subject, training, Layouts.of(layout)).all()
    found = single_changes(subject, training, layout, device, constants)
    return [each for each in found if allowed(subject, each.training, Layouts.of(each.layout), chosen=chosen).all()]


def _change(
    what: str, training: Training, layout: ParallelLayout, before_bytes: float, after: MemoryEstimate, row: int
) -> MemoryChange:
    return MemoryChange(what, training, layout, before_bytes - float(after.driver.middle[row]), fits(after)[row])


def _layout_changes(layout: ParallelLayout) -> Iterator[tuple[str, ParallelLayout]]:
    if layout.micro_batch > 1:
        half = layout.micro_batch // 2
        smaller = next(each for each in range(half, 0, -1) if layout.micro_batch % each == 0)  # still divides the batch
        yield f"use micro-batches of {smaller} and accumulate gradients", replace(layout, micro_batch=smaller)
    if layout.checkpointing is Checkpointing.NONE:
        yield (
            "recompute part of each layer (selective checkpointing)",
            replace(layout, checkpointing=Checkpointing.SELECTIVE),
        )
    if layout.checkpointing is not Checkpointing.FULL:
        yield (
            "store only the input of each layer (full checkpointing)",
            replace(layout, checkpointing=Checkpointing.FULL),
        )
    if layout.data > 1 and layout.sharding is not Sharding.ZERO3:
        yield (
            "shard weights, gradients and optimizer states (ZeRO-3, FSDP)",
            replace(layout, sharding=Sharding.ZERO3),
        )
    if layout.tensor > 1 and not layout.sequence_parallel:
        yield (
            "split norms and dropout over the tensor-parallel ranks (sequence parallelism)",
            replace(layout, sequence_parallel=True),
        )
    if layout.data % 2 == 0 and layout.tensor < layout.devices_a_node:
        yield (
            "split each layer over twice as many devices (tensor parallelism)",
            replace(layout, tensor=2 * layout.tensor),
        )
    if layout.offload is Offload.NONE:
        yield "store the optimizer's states in the host's memory", replace(layout, offload=Offload.OPTIMIZER)


def scoreless_attention(device: ComputeDevice) -> str:
    """Return the attention of a device that never stores scores."""
    return "flash attention" if device.flash_kernels else "torch's memory-efficient attention (xFormers)"


def _training_changes(training: Training, device: ComputeDevice) -> Iterator[tuple[str, Training]]:
    if training.attention is Attention.MATERIALISED:
        yield f"use {scoreless_attention(device)}", replace(training, attention=Attention.FLASH)
    if not training.fused_loss:
        yield (
            "compute the loss in chunks, so that not all logits are stored at once",
            replace(training, fused_loss=True),
        )
    if training.optimizer.state_bytes > 2.5:
        yield "use an 8-bit optimizer", replace(training, optimizer=find_optimizer("adamw-8bit"))
    if training.precision.activations is NumberFormat.FP32:
        yield "train in bf16 with autocast", replace(training, precision=PRECISIONS["bf16-autocast"])
