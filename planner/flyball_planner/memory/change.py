"""Which single change of a training would free most memory."""

from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from flyball_planner.catalogue.hardware import Device
from flyball_planner.layouts.columns import Layout, Layouts
from flyball_planner.memory.constants import CONSTANTS, Constants
from flyball_planner.memory.estimate import MemoryEstimate, Subject, estimate_memory
from flyball_planner.memory.verdict import Fit, fits
from flyball_planner.optimizers import find_optimizer
from flyball_planner.precision import PRECISIONS, Format
from flyball_planner.training import Attention, Checkpointing, Offload, Sharding, Training

LEAST_SAVING = 0.01  # of the peak; less is no advice


class Change(Struct, frozen=True):
    """One change, what it frees, and whether the training fits with it."""

    what: str  # as advice: "keep only what enters each layer (full checkpointing)"
    training: Training
    layout: Layout
    saved_bytes: float
    fit: Fit


def single_changes(
    subject: Subject, training: Training, layout: Layout, device: Device, constants: Constants = CONSTANTS
) -> list[Change]:
    """Every single change that saves anything worth it, the one that saves most first."""
    moved = list(_layout_changes(layout))
    several = estimate_memory(subject, training, Layouts.of(layout, *(each for _, each in moved)), device, constants)
    before, found = float(several.driver.middle[0]), []
    for row, (what, each) in enumerate(moved, 1):
        found.append(_change(what, training, each, before, several, row))
    for what, changed in _training_changes(training):
        after = estimate_memory(subject, changed, Layouts.of(layout), device, constants)
        found.append(_change(what, changed, layout, before, after, 0))
    saving = (each for each in found if each.saved_bytes >= LEAST_SAVING * before)
    return sorted(saving, key=lambda change: -change.saved_bytes)


def _change(
    what: str, training: Training, layout: Layout, before_bytes: float, after: MemoryEstimate, row: int
) -> Change:
    return Change(what, training, layout, before_bytes - float(after.driver.middle[row]), fits(after)[row])


def best_single_change(
    subject: Subject, training: Training, layout: Layout, device: Device, constants: Constants = CONSTANTS
) -> Change | None:
    """The change that frees most; nothing where none frees anything worth it."""
    return next(iter(single_changes(subject, training, layout, device, constants)), None)


def _layout_changes(layout: Layout) -> Iterator[tuple[str, Layout]]:
    if layout.micro_batch > 1:
        half = layout.micro_batch // 2
        yield f"take micro-batches of {half} and accumulate", replace(layout, micro_batch=half)
    if layout.checkpointing is Checkpointing.NONE:
        yield (
            "compute part of each layer again (selective checkpointing)",
            replace(layout, checkpointing=Checkpointing.SELECTIVE),
        )
    if layout.checkpointing is not Checkpointing.FULL:
        yield "keep only what enters each layer (full checkpointing)", replace(layout, checkpointing=Checkpointing.FULL)
    if layout.data > 1 and layout.sharding is not Sharding.ZERO3:
        yield (
            "divide weights, gradients and states among the ranks (ZeRO-3, FSDP)",
            replace(layout, sharding=Sharding.ZERO3),
        )
    if layout.tensor > 1 and not layout.sequence_parallel:
        yield (
            "spread norms and dropout over the tensor-parallel ranks (sequence parallelism)",
            replace(layout, sequence_parallel=True),
        )
    if layout.data % 2 == 0 and layout.tensor < layout.devices_a_node:
        yield (
            "split each layer over twice as many devices (tensor parallelism)",
            replace(layout, tensor=2 * layout.tensor),
        )
    if layout.offload is Offload.NONE:
        yield "keep the optimizer's states in the host's memory", replace(layout, offload=Offload.OPTIMIZER)


def _training_changes(training: Training) -> Iterator[tuple[str, Training]]:
    if training.attention is Attention.MATERIALISED:
        yield "use flash attention", replace(training, attention=Attention.FLASH)
    if not training.fused_loss:
        yield "take the loss in chunks, so that logits never stand whole", replace(training, fused_loss=True)
    if training.optimizer.state_bytes > 2.5:
        yield "use an 8-bit optimizer", replace(training, optimizer=find_optimizer("adamw-8bit"))
    if training.precision.activations is Format.FP32:
        yield "train in bf16 with automatic casts", replace(training, precision=PRECISIONS["bf16-autocast"])
